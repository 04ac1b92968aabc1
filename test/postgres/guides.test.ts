// The programs of guides that need a server, and most of them a database, as they are printed there, against the built
// package.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CliBench } from '../support/cli-processes.ts';
import { TestDatabase } from '../support/postgres.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

let db: TestDatabase;
let bench: CliBench;

beforeAll(async () => {
  db = await TestDatabase.create();
  bench = new CliBench();
  await bench.serve();
});
afterAll(async () => {
  await bench.close();
  await db.drop();
});

it.each([
  ['outbox', 2],
  ['fence-your-table', 1],
  ['traces', 1],
])('the programs of docs/guides/%s.md run, and print what their comments say', (page, count) => {
  const guide = readFileSync(new URL(`../../docs/guides/${page}.md`, import.meta.url), 'utf8');
  const programs = [...guide.matchAll(/```js\n(import [\s\S]*?)```/g)].map(([, program]) => program!);
  expect(programs).toHaveLength(count);
  for (const program of programs) {
    const said = [...program.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
    const env = { ...process.env, DATABASE_URL: db.url, LEASEHOLD_URL: bench.url };
    const options = { cwd: ROOT, env, encoding: 'utf8', timeout: 60_000 } as const;
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], options);
    expect(output).toBe(`${said.join('\n')}\n`);
  }
});

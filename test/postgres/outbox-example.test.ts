// examples/outbox.mjs on a real Postgres, as a process of its own.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestDatabase } from '../support/postgres.ts';

const EXAMPLE = fileURLToPath(new URL('../../examples/outbox.mjs', import.meta.url));

let database: TestDatabase;
let scratch: string;

beforeAll(async () => {
  database = await TestDatabase.create();
  scratch = mkdtempSync(join(tmpdir(), 'leasehold-outbox-example-'));
});

afterAll(async () => {
  rmSync(scratch, { recursive: true });
  await database.drop();
});

it('sends one e-mail for an order that commits, none for one that is rolled back, and can be run again', async () => {
  const env = { ...process.env, DATABASE_URL: database.url };
  for (let run = 0; run < 2; run += 1) {
    const { stdout } = await promisify(execFile)(process.execPath, [EXAMPLE, join(scratch, 'data')], { env });
    expect(stdout.trimEnd().split('\n').slice(2)).toEqual([
      'The relay turns the committed row into a task, and a worker runs it: sent to anna.',
      'E-mails sent: anna. Orders of mallory: 0.',
    ]);
  }
});

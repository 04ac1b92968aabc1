// The code blocks of the guides that need a database, run as they are printed there.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PageBench } from '../support/page-bench.ts';
import { type Block, blocksOf, pagesRunBy } from '../support/page-blocks.ts';
import { TestDatabase } from '../support/postgres.ts';

const TOKEN = 'a-token-of-this-test-alone';

let db: TestDatabase;
let bench: PageBench;

beforeEach(async () => {
  db = await TestDatabase.create();
  const url = () => bench.url || 'http://127.0.0.1:1';
  const standIns = {
    'postgres://me@127.0.0.1:5432/mine': () => db.url,
    'postgres://leasehold@db.example.org/leasehold': () => db.url,
    'https://leasehold-1.example.org:7420': url,
    'https://leasehold-2.example.org:7420': url,
    '0.0.0.0:7420': () => '127.0.0.1:0',
    // As the databases of the tests are run.
    'leasehold serve': () => 'leasehold serve --allow-fsync-off',
    'LEASEHOLD_TOKEN=…': () => `LEASEHOLD_TOKEN=${TOKEN}`,
    ':token': () => "(SELECT token FROM dot_iu_runtime_lease WHERE lease_name = 'nightly')",
    'TO app': () => 'TO CURRENT_USER',
  };
  bench = new PageBench(standIns, { DATABASE_URL: db.url });
  bench.program('make-report', 'exit 0');
  writeFileSync(
    join(bench.dir, 'tokens.json'),
    JSON.stringify([{ token: TOKEN, name: 'us', scopes: ['*'] }]),
  );
});
afterEach(async () => {
  await bench.close();
  await db.drop();
});

/** Two rows that the relay has left to an operator. */
async function park({ text }: Block): Promise<void> {
  if (!text.includes('--drop')) return;
  await db.pool.query(`INSERT INTO leasehold_outbox (task_id, queue, payload, state, reason)
    SELECT id, 'confirmation', '{}', 'IN_DOUBT', 'the server may have forgotten it' FROM unnest(ARRAY['o7dG…', 'o9kP…']) id`);
}

it.each(pagesRunBy(import.meta.url))(
  'the code blocks of %s run, and print what their comments say',
  async (page) => {
    expect(blocksOf(page).length).toBeGreaterThan(0);
    await bench.run(page, { before: park, sql: (text) => db.pool.query(text) });
  },
);

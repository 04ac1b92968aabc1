/**
 * pg-boss: jobs sent, fetched and completed one by one, 64 concurrently; and in the largest batches its API handles
 * well.
 */
import process from 'node:process';
import { PgBoss } from 'pg-boss';
import { answer, data, inFlight, tasks, url } from './peer-world.mjs';

const WIDTH = 64;
const INSERTED = 500;
const FETCHED = 100;
const FETCHERS = 16;

const boss = new PgBoss({ connectionString: url, max: WIDTH, schedule: false, supervise: false });
boss.on('error', (fault) => {
  throw fault;
});
await boss.start();
await boss.createQueue('single');
await boss.createQueue('batched');

const alone = Math.ceil(tasks / 20);
const aloneMs = await inFlight(alone, WIDTH, async () => {
  await boss.send('single', data);
  const [job] = await fetched('single', 1);
  await boss.complete('single', job.id);
});
answer('one by one', alone, aloneMs);

const batches = Math.ceil(tasks / INSERTED);
const jobs = Array.from({ length: INSERTED }, () => ({ data }));
const insertMs = await inFlight(batches, 4, () => boss.insert('batched', jobs));
const workMs = await inFlight((batches * INSERTED) / FETCHED, FETCHERS, async () => {
  const some = await fetched('batched', FETCHED);
  await boss.complete(
    'batched',
    some.map(({ id }) => id),
  );
});
answer(`in by ${INSERTED}, out by ${FETCHED}`, batches * INSERTED, insertMs + workMs);
process.exit(0);

/** Skips rows that others are about to take, and may return nothing although jobs are left. */
async function fetched(queue, batchSize) {
  for (;;) {
    const some = await boss.fetch(queue, { batchSize });
    if (some.length > 0) return some;
  }
}

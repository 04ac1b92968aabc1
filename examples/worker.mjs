// Tasks for programs: a definition, a worker, receipts that wait for results, and an orderly end.
//
//   node examples/worker.mjs [DIR]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineTask, NoRetry, open } from 'leasehold';

const dir = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'leasehold-worker-'));
const lh = await open(dir);

// What producers and workers agree on. Its name is the queue, its input the payload. The input is checked by any Standard
// Schema: one from Zod, Valibot or ArkType, or a small one of your own like this.
const square = defineTask('square', {
  input: { '~standard': { version: 1, vendor: 'example', validate: wholeNumber } },
  retry: { maxFailures: 3, backoff: '20ms' },
});

// The worker leases tasks, renews their leases, and completes them with what the function returns.
const worker = lh.work(square, { concurrency: 2, grace: '5s' }, async ({ input, attempt, signal }) => {
  if (input === 13) throw new NoRetry('not that number');
  if (input === 7 && attempt < 3) throw new Error('tried too early');
  // `signal` aborts when the lease is lost or the worker has to stop: give it to whatever takes its time.
  await sleep(10, undefined, { signal });
  return { square: input * input, attempt };
});

// A receipt is durable when it is given, and good after a restart too: lh.receipt(square, taskId).
for (const number of [3, 7, 13]) {
  const receipt = await lh.enqueue(square, number);
  const result = await receipt.result({ wait: '10s' });
  if (result.state === 'COMPLETED') console.log(`${number} squared   ${JSON.stringify(result.output)}`);
  else console.log(`${number} squared   ${result.state}: ${result.reason}`);
}

// What does not fit makes no task.
await lh.enqueue(square, 'many').catch(({ code, effect, message }) => {
  console.log(`refused      ${code}, effect ${effect}: ${message}`);
});

// No new tasks; running handlers may finish; what is left is handed back. SIGTERM and SIGINT do the same.
await worker.drain();
const { leased, completed, failed } = worker.counts;
console.log(`the worker   leased ${leased}, completed ${completed}, failed ${failed}`);
await lh.close();
// A directory of our own making goes again; one that was named stays.
if (process.argv[2] === undefined) rmSync(dir, { recursive: true });

function wholeNumber(value) {
  return Number.isSafeInteger(value) ? { value } : { issues: [{ message: 'is not an integer' }] };
}

// A job that must run once at a time, and two runners for it. One holds the lease and works; the other waits in line and
// takes over when the first is done, or dies.
//
//   node examples/single-runner.mjs [DIR]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { open } from 'leasehold';

const dir = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'leasehold-single-runner-'));
const lh = await open(dir);
let running = 0;

await Promise.all([runner('runner-1'), runner('runner-2')]);
const { items } = await lh.leases.history('nightly-report');
const story = items.map(({ type, leaseSeq }) => `${type} ${leaseSeq}`);
console.log(`in the log: ${story.slice(-5).join(', ')}`);
await lh.close();
// A directory of our own making goes again; one that was named stays.
if (process.argv[2] === undefined) rmSync(dir, { recursive: true });

/** Waits for its turn; the lease is renewed while the job runs, and given back when it is done. */
async function runner(holder) {
  await lh.withLease('nightly-report', { holder, ttl: '1s', wait: '1m' }, async ({ leaseSeq, signal }) => {
    console.log(`${holder} has the lease, number ${leaseSeq}`);
    await job(holder, signal);
    console.log(`${holder} is done and gives the lease back`);
  });
}

/** Stops as soon as the lease is lost; the work itself is a nap. */
async function job(holder, signal) {
  running += 1;
  console.log(`${holder} works; runners at work: ${running}`);
  await sleep(500, undefined, { signal });
  running -= 1;
}

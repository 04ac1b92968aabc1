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

const TTL_MS = 1_000;
const dir = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'leasehold-single-runner-'));
const lh = await open(dir);
let running = 0;

await Promise.all([runner('runner-1'), runner('runner-2')]);
const { entries } = await lh.call('lease.history', { name: 'nightly-report' });
const story = entries.map(({ type, lease_seq }) => `${type} ${lease_seq}`);
console.log(`in the log: ${story.slice(-5).join(', ')}`);
await lh.close();
// A directory of our own making goes again; one that was named stays.
if (process.argv[2] === undefined) rmSync(dir, { recursive: true });

async function runner(holder) {
  const lease = await lh.call('lease.acquire', {
    name: 'nightly-report',
    holder,
    ttl_ms: TTL_MS,
    wait_ms: 60_000,
  });
  if (!lease.ok) throw new Error(`${holder} did not get its turn: ${lease.detail}`);
  console.log(`${holder} has the lease, number ${lease.lease_seq}`);

  // Renewed at a third of its length: two renewals may fail before time revokes it.
  const lost = new AbortController();
  const renewal = setInterval(async () => {
    const reply = await lh.call('lease.renew', {
      name: lease.name,
      holder,
      token: lease.token,
      ttl_ms: TTL_MS,
    });
    if (!reply.ok) lost.abort(new Error(reply.detail));
  }, TTL_MS / 3);
  try {
    await job(holder, lost.signal);
  } finally {
    clearInterval(renewal);
    console.log(`${holder} is done and gives the lease back`);
    await lh.call('lease.release', { name: lease.name, holder, token: lease.token });
  }
}

/** Stops as soon as the lease is lost; the work itself is a nap. */
async function job(holder, signal) {
  running += 1;
  console.log(`${holder} works; runners at work: ${running}`);
  await sleep(500, undefined, { signal });
  running -= 1;
}

// Holding a lease around a function. `withLease` waits in line, renews the lease while the function runs, aborts
// `lease.signal` when it is lost, and gives it back in any case. The handle of `connect` does the same over HTTP.
//
//   node examples/with-lease.mjs [DIR]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { open } from 'leasehold';

const dir = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'leasehold-with-lease-'));
const name = 'front-page';
const lh = await open(dir);

// Every call is a holder of its own, so the two exclude each other although they share a handle. Anna works for longer
// than a lease lasts, because hers is renewed.
await Promise.all([
  publish('anna', (signal) => sleep(2_000, undefined, { signal })),
  publish('boris', (signal) => sleep(10, undefined, { signal })),
]);

// tryAcquire gives null when another holder has it; acquire throws LEASE_HELD, with the holder in its details.
const lease = await lh.acquire(name);
if ((await lh.tryAcquire(name)) === null) say('carla is refused', 'LEASE_HELD');
await lease.release();

// An administrator ends the lease of dora while she works. She learns of it with the next renewal.
try {
  await publish('dora', async (signal) => {
    await lh.leases.break(name, { reason: 'the page is needed for something else' });
    await sleep(60_000, undefined, { signal });
  });
} catch (error) {
  say('dora has lost it', `${error.code}, ${error.details.loss}`);
}

const { value } = await lh.objects.get(name);
say('the object is', value.text());
await lh.close();
// A directory of our own making goes again; one that was named stays.
if (process.argv[2] === undefined) rmSync(dir, { recursive: true });

async function publish(who, work) {
  await lh.withLease(name, { ttl: '1500ms', wait: '10s' }, async (lease) => {
    say(`${who} holds it`, `with number ${lease.leaseSeq}`);
    await work(lease.signal);
    // The work may have kept this process from noticing anything; the clocks know.
    lease.assertHeld();
    await lease.write({ by: who });
    say(`${who} has written`, `as the holder of ${lease.leaseSeq}`);
  });
}

function say(what, more) {
  console.log(what.padEnd(18), more);
}

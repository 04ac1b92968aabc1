// Two writers of one object. The first stalls, loses its lease and does not know it; its late write is refused, because
// the lease it shows has a lower number than the newest one granted.
//
//   node examples/fenced-write.mjs [DIR]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { open } from 'leasehold';

const dir = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'leasehold-fenced-write-'));
const object = 'settings';
const lh = await open(dir);

const first = await acquire('first', 1_000);
show('first writes', await write(first, { colour: 'red' }));
show('without a lease', await lh.call('object.write', { object_id: object, value: { colour: 'none' } }));

// The first writer is busy with something else for longer than its lease lasts.
const stalled = sleep(1_200);
const second = await acquire('second', 30_000);
show('second writes', await write(second, { colour: 'blue' }));

await stalled;
show('first, late', await write(first, { colour: 'red again' }));
const { receipts } = await lh.call('receipt.list', { object_id: object });
for (const { code, presented_lease_seq, current_fence } of receipts) {
  console.log(`receipt           ${code}: presented ${presented_lease_seq}, the fence is ${current_fence}`);
}

const { value, version } = await lh.call('object.get', { object_id: object });
console.log(`the object is     ${value.text()}, version ${version}`);
await lh.call('lease.release', { name: object, holder: second.holder, token: second.token });
await lh.close();
// A directory of our own making goes again; one that was named stays.
if (process.argv[2] === undefined) rmSync(dir, { recursive: true });

/** The lease of an object is the named lease of the same name. */
async function acquire(holder, ttl_ms) {
  const lease = await lh.call('lease.acquire', { name: object, holder, ttl_ms, wait_ms: 10_000 });
  console.log(`${holder} holds it`.padEnd(17), `with number ${lease.lease_seq}`);
  return lease;
}

function write({ lease_seq, holder }, value) {
  return lh.call('object.write', { object_id: object, value, lease: { lease_seq, holder_id: holder } });
}

/** A refusal is a value with a code, never an exception. */
function show(who, reply) {
  console.log(
    `${who.padEnd(17)} ${reply.ok ? `accepted, version ${reply.version}` : `${reply.code}: ${reply.detail}`}`,
  );
}

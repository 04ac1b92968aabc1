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
const name = 'settings';
const lh = await open(dir);

// A lease of `lh.acquire` is renewed until it is released. The first writer stands for a machine that stalls, so it uses the
// bare operations and renews nothing. The lease of an object is the named lease of the same name.
const first = await lh.call('lease.acquire', { name, holder: 'first', ttl_ms: 1_000, wait_ms: 10_000 });
const stalled = sleep(1_200);
say('first holds it', `with number ${first.lease_seq}`);
sayReply('first writes', await write({ colour: 'red' }, first));
sayReply('without a lease', await write({ colour: 'none' }));

// The second writer waits until the lease of the first has run out.
const second = await lh.acquire(name, { holder: 'second', wait: '10s' });
say('second holds it', `with number ${second.leaseSeq}`);
say('second writes', `accepted, version ${(await second.write({ colour: 'blue' })).version}`);

await stalled;
sayReply('first, late', await write({ colour: 'red again' }, first));
for await (const { code, presentedLeaseSeq, currentFence } of lh.objects.refusals({ objectId: name })) {
  say('refused write', `${code}: presented ${presentedLeaseSeq}, the fence is ${currentFence}`);
}

const { value, version } = await lh.objects.get(name);
say('the object is', `${value.text()}, version ${version}`);
await second.release();
await lh.close();
// A directory of our own making goes again; one that was named stays.
if (process.argv[2] === undefined) rmSync(dir, { recursive: true });

function write(value, lease) {
  return lh.call('object.write', {
    object_id: name,
    value,
    ...(lease && { lease: { lease_seq: lease.lease_seq, holder_id: lease.holder } }),
  });
}

/** A refusal of a bare operation is a value with a code, never an exception. */
function sayReply(who, reply) {
  say(who, reply.ok ? `accepted, version ${reply.version}` : `${reply.code}: ${reply.detail}`);
}

function say(what, more) {
  console.log(what.padEnd(17), more);
}

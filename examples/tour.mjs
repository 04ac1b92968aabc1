// The main ideas in nine lines of output, on a data directory that stays. The directory is the first argument, or
// ./leasehold-tour. Run it as often as you like: the log only grows.
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { LeaseholdError, open } from 'leasehold';

const dir = process.argv[2] ?? './leasehold-tour';

const lh = await open(dir).catch((fault) => {
  const inUse = `The data directory ${dir} is in use by ${fault.details?.holder}; stop that process first.`;
  console.error(LeaseholdError.is(fault, 'LOG_HELD') ? inUse : fault.message);
  process.exit(1);
});

// A task: made once, leased to one worker, completed once.
const task = await lh.call('task.create', { payload: { greet: 'world' }, queue: 'tour' });
say(`task ${task.task_id} is created, and is durable at seq ${task.seq}`);

// An earlier run that was killed half-way may have left a task behind: it is older, so it comes first.
const { leases } = await lh.call('task.lease', { worker_id: 'worker-1', queues: ['tour'], ttl_ms: 30_000 });
const work = leases[0];
say(`worker-1 has a lease on it, number ${work.lease_seq}, and reads ${work.payload.text()}`);

const { outcome } = await lh.call('task.complete', { ...only(work), result: { greeting: 'Hello, world!' } });
const { state, result } = await lh.call('task.get', { task_id: work.task_id });
say(`worker-1 completes it: ${outcome}, the task is ${state} with ${result.text()}`);

// A named lease: one holder at a time, until it ends or time ends it.
const name = `tour:${task.seq}`;
const anna = await lh.call('lease.acquire', { name, holder: 'anna', ttl_ms: 1_500 });
say(`anna holds ${name} for ${anna.remaining_ms} ms, number ${anna.lease_seq}`);

const refused = await lh.call('lease.acquire', { name, holder: 'boris', ttl_ms: 5_000 });
say(`boris is refused: ${refused.code}, ${refused.holder} has it for another ${refused.remaining_ms} ms`);

// Anna stalls for longer than her lease lasts. Boris stands in line, and is served when time has revoked it.
const stall = sleep(1_700);
const boris = await lh.call('lease.acquire', { name, holder: 'boris', ttl_ms: 5_000, wait_ms: 10_000 });
say(`boris waited until anna's lease ran out, and holds it now, number ${boris.lease_seq}`);
const written = await lh.call('object.write', { object_id: name, value: 'by boris', lease: only(boris) });
say(`boris writes the object of that name: version ${written.version}`);

await stall;
const late = await lh.call('object.write', { object_id: name, value: 'by anna', lease: only(anna) });
const {
  receipts: [receipt],
} = await lh.call('receipt.list', { object_id: name, limit: 1 });
say(
  `anna wakes up and writes: ${late.code}, hers is ${receipt.presented_lease_seq} and the fence is ${receipt.current_fence}`,
);

const { value } = await lh.call('object.get', { object_id: name });
const { seq } = await lh.status();
await lh.call('lease.release', { name, holder: 'boris', token: boris.token });
say(`the object still says ${value.text()}, and the log is at seq ${seq}`);
await lh.close();

console.log(`
The data is in ${dir}. Three commands to try next:
  npx leasehold wal stat ${dir}
  npx leasehold wal cat ${dir}
  node examples/fenced-write.mjs`);

/** What proves a lease: for a task its id and the lease's, for an object the fencing number. */
function only({ task_id, lease_id, lease_seq }) {
  return task_id === undefined ? { lease_seq } : { task_id, lease_id };
}

function say(sentence) {
  console.log(`* ${sentence}`);
}

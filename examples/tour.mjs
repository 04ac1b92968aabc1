// The main ideas in nine lines of output, on a data directory that stays. The directory is the first argument, or
// ./leasehold-tour. Run it as often as you like: the log only grows.
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineTask, LeaseholdError, open } from 'leasehold';

const dir = process.argv[2] ?? './leasehold-tour';

const lh = await open(dir).catch((fault) => {
  const inUse = `The data directory ${dir} is in use by ${fault.details?.holder}; stop that process first.`;
  console.error(LeaseholdError.is(fault, 'LOG_HELD') ? inUse : fault.message);
  process.exit(1);
});

// A task: made once, leased to one worker, completed once.
const greet = defineTask('tour');
const receipt = await lh.enqueue(greet, { greet: 'world' });
say(`task ${receipt.taskId} is created, and is durable at seq ${receipt.seq}`);

const verdict = await new Promise((resolve) => {
  // An earlier run that was killed half-way may have left a task behind, which this worker does too.
  lh.work(greet, { workerId: 'worker-1', onVerdict: tell }, ({ input, leaseSeq, taskId }) => {
    if (taskId === receipt.taskId)
      say(`worker-1 has a lease on it, number ${leaseSeq}, and reads ${JSON.stringify(input)}`);
    return { greeting: `Hello, ${input.greet}!` };
  });
  function tell(verdict) {
    if (verdict.taskId === receipt.taskId) resolve(verdict);
  }
});
const { state, result } = await lh.tasks.get(receipt.taskId);
say(`worker-1 completes it: ${verdict.outcome}, the task is ${state} with ${result.text()}`);

// A named lease: one holder at a time, until it ends or time ends it. A lease of `lh.acquire` is renewed; anna stands for a
// machine that stalls, so she uses the bare operation and renews nothing.
const name = `tour:${receipt.seq}`;
const anna = await lh.call('lease.acquire', { name, holder: 'anna', ttl_ms: 1_500 });
const stall = sleep(1_700);
say(`anna holds ${name} for ${anna.remaining_ms} ms, number ${anna.lease_seq}`);

const refused = await lh.acquire(name, { holder: 'boris' }).catch((error) => error);
const { holder, remainingMs } = refused.details;
say(`boris is refused: ${refused.code}, ${holder} has it for another ${remainingMs} ms`);

// Boris stands in line, and is served when time has revoked anna's lease.
const boris = await lh.acquire(name, { holder: 'boris', wait: '10s' });
say(`boris waited until anna's lease ran out, and holds it now, number ${boris.leaseSeq}`);
const written = await boris.write('by boris');
say(`boris writes the object of that name: version ${written.version}`);

await stall;
const late = await lh.call('object.write', {
  object_id: name,
  value: 'by anna',
  lease: { lease_seq: anna.lease_seq },
});
const {
  items: [{ presentedLeaseSeq, currentFence }],
} = await lh.objects.refusals({ objectId: name, limit: 1 });
say(`anna wakes up and writes: ${late.code}, hers is ${presentedLeaseSeq} and the fence is ${currentFence}`);

const { value } = await lh.objects.get(name);
const { seq } = await lh.status();
await boris.release();
say(`the object still says ${value.text()}, and the log is at seq ${seq}`);
await lh.close();

console.log(`
The data is in ${dir}. Three commands to try next:
  npx leasehold wal stat ${dir}
  npx leasehold wal cat ${dir}
  node examples/fenced-write.mjs`);

function say(sentence) {
  console.log(`* ${sentence}`);
}

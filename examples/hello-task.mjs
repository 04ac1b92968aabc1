// A durable task from its creation to its end, and what a worker that answers too late is told.
//
//   node examples/hello-task.mjs [DIR]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineTask, open } from 'leasehold';

const dir = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'leasehold-hello-task-'));
const greeting = defineTask('greetings');
const lh = await open(dir);

const receipt = await lh.enqueue(greeting, { name: 'Ada' });
console.log(`created    ${receipt.taskId} at seq ${receipt.seq}`);

// A worker of `lh.work` renews its leases. The slow one stands for a machine that stalls, so it uses the bare operations: it
// leases the task for 200 ms, renews nothing, and completes it too late.
const { leases } = await lh.call('task.lease', {
  worker_id: 'slow-worker',
  queues: ['greetings'],
  ttl_ms: 200,
  wait_ms: 10_000,
});
const [{ task_id, lease_id, attempt }] = leases;
const tooLong = sleep(400);
console.log(`leased     ${task_id} by slow-worker, attempt ${attempt}`);

// When that lease has run out, the task is given to the quick worker.
const quick = lh.work(
  greeting,
  { workerId: 'quick-worker', onVerdict: tell },
  ({ input, taskId, attempt }) => {
    console.log(`leased     ${taskId} by quick-worker, attempt ${attempt}`);
    return `Hello, ${input.name}, from the quick-worker!`;
  },
);
const result = await receipt.output();
await quick.drain();

// Being late is not a failure of the task: the slow worker has lost its lease, and the verdict says so.
await tooLong;
const late = await lh.call('task.complete', { task_id, lease_id, result: 'Hello from the slow-worker!' });
console.log(`completed  by slow-worker: ${late.outcome}`);

const { state } = await lh.tasks.get(task_id);
console.log(`the task   is ${state}, and its result is "${result}"`);

const { items } = await lh.tasks.history(task_id);
console.log(`its story  ${items.map(({ type }) => type).join(', ')}`);
await lh.close();
// A directory of our own making goes again; one that was named stays.
if (process.argv[2] === undefined) rmSync(dir, { recursive: true });

function tell({ outcome }) {
  console.log(`completed  by quick-worker: ${outcome}`);
}

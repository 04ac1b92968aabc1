// A durable task from its creation to its end, and what a worker that answers too late is told.
//
//   node examples/hello-task.mjs [DIR]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { open } from 'leasehold';

const dir = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'leasehold-hello-task-'));
const queue = 'greetings';
const lh = await open(dir);

const created = await lh.call('task.create', { payload: { name: 'Ada' }, queue });
console.log(`created    ${created.task_id} at seq ${created.seq}`);

// The first worker gets a short lease and takes too long. When its lease has run out, the second one is given the task.
const slow = await nextTask('slow-worker', 200);
const tooLong = sleep(400);
console.log(`leased     ${slow.task_id} by slow-worker, attempt ${slow.attempt}`);

const quick = await nextTask('quick-worker', 30_000);
console.log(`leased     ${quick.task_id} by quick-worker, attempt ${quick.attempt}`);
console.log(`completed  by quick-worker: ${await complete(quick, 'quick-worker')}`);

// That is not a failure of the task: the slow worker has lost its lease, and the verdict says so.
await tooLong;
console.log(`completed  by slow-worker: ${await complete(slow, 'slow-worker')}`);

const task = await lh.call('task.get', { task_id: quick.task_id });
console.log(`the task   is ${task.state}, and its result is ${task.result.text()}`);

const { entries } = await lh.call('task.history', { task_id: quick.task_id });
console.log(`its story  ${entries.map(({ type }) => type).join(', ')}`);
await lh.close();
// A directory of our own making goes again; one that was named stays.
if (process.argv[2] === undefined) rmSync(dir, { recursive: true });

/** Waits for a task; `payload` is the JSON that went in, parsed only on demand. */
async function nextTask(worker_id, ttl_ms) {
  const reply = await lh.call('task.lease', { worker_id, queues: [queue], ttl_ms, wait_ms: 10_000 });
  return reply.leases[0];
}

async function complete({ task_id, lease_id, payload }, worker) {
  const result = `Hello, ${payload.parse().name}, from the ${worker}!`;
  return (await lh.call('task.complete', { task_id, lease_id, result })).outcome;
}

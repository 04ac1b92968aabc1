/**
 * Tasks by hand: made with and without ids, keys, delays and priorities, leased one or several at a time, and ended by
 * every verdict there is, in time and too late, once and twice. What has ended is run again, now and then.
 */
import type { TaskLeaseRecord } from '../../../src/operations/records.ts';
import type { ClientProgram } from '../world/client-program.ts';
import { NAMES, QUEUE, ttlMs } from './shared-names.ts';

export async function tasks(program: ClientProgram): Promise<void> {
  await program.rounds(async () => {
    const which = program.random.below(20);
    if (which < 9) await create(program);
    else if (which < 18) await work(program);
    else await requeue(program);
    await program.sleep(5, 400);
  });
}

async function create(program: ClientProgram): Promise<void> {
  const { leasehold, random, client } = program;
  program.doing('making a task');
  const isKnown = random.chance(0.3);
  await leasehold.call('task.create', {
    queue: random.chance(0.8) ? QUEUE : 'errands',
    payload: { by: client, text: 'x'.repeat(random.below(200)) },
    ...(isKnown ? { task_id: `task-${random.below(30)}` } : {}),
    ...(random.chance(0.2) ? { dedup_key: `key-${random.below(4)}` } : {}),
    ...(random.chance(0.2) ? { delay_ms: random.between(1, 2_000) } : {}),
    ...(random.chance(0.2) ? { key: `group-${random.below(3)}` } : {}),
    ...(random.chance(0.3) ? { priority: random.between(-3, 3) } : {}),
    ...(random.chance(0.3) ? { max_attempts: random.between(1, 4) } : {}),
    retry: { max_failures: random.between(1, 3), backoff_ms: random.between(0, 500) },
  });
}

/** One of the newest ended tasks, once or twice, sometimes under an id that may be taken. */
async function requeue(program: ClientProgram): Promise<void> {
  const { leasehold, random } = program;
  program.doing('running a task again');
  const state = random.pick(['COMPLETED', 'FAILED', 'DEAD'] as const);
  const reply = await leasehold.task.list({ state, order: 'newest', limit: 10 });
  if (!reply.ok || reply.tasks.length === 0) return;
  const { task_id } = random.pick(reply.tasks);
  const chosen = random.chance(0.3) ? { task_id_new: `task-${random.below(30)}` } : {};
  const times = random.chance(0.3) ? 2 : 1;
  for (let time = 0; time < times; time++) await leasehold.task.requeue({ task_id, ...chosen });
}

async function work(program: ClientProgram): Promise<void> {
  const { leasehold, random, client } = program;
  const lasts = ttlMs(random);
  program.doing('leasing tasks');
  const reply = await leasehold.call('task.lease', {
    worker_id: client,
    queues: random.chance(0.5) ? [QUEUE] : [QUEUE, 'errands'],
    max: random.between(1, 4),
    ttl_ms: lasts,
    ...(random.chance(0.6) ? { wait_ms: random.between(1, 3_000) } : {}),
  });
  if (!reply.ok) return;
  program.doing('ending tasks');
  if (random.chance(0.3)) await program.sleep(1, lasts * 1.5);
  for (const lease of reply.leases) await end(program, lease, lasts);
}

async function end(program: ClientProgram, lease: TaskLeaseRecord, lasts: number): Promise<void> {
  const { leasehold, random, client } = program;
  const { task_id, lease_id } = lease;
  if (random.chance(0.2))
    await leasehold.call('task.extend', { task_id, lease_id, ttl_ms: random.between(10, lasts) });
  if (random.chance(0.2)) {
    const leases = [{ task_id, lease_id }];
    await leasehold.call('worker.heartbeat', { worker_id: client, leases, ttl_ms: lasts });
  }
  const times = random.chance(0.15) ? 2 : 1;
  const verb = random.below(20);
  for (let time = 0; time < times; time++) {
    if (verb < 9) {
      const object_id = random.pick(NAMES);
      const held = random.chance(0.2) ? await leasehold.call('lease.get', { name: object_id }) : null;
      // The number of another client, and still a fenced write: any caller that knows it may use it while it is live.
      const writes = held?.ok
        ? [{ object_id, value: { task_id }, lease: { lease_seq: held.lease_seq } }]
        : undefined;
      await leasehold.call('task.complete', {
        task_id,
        lease_id,
        result: { by: client },
        ...(writes === undefined ? {} : { writes }),
      });
    } else if (verb < 13) {
      await leasehold.call('task.fail', {
        task_id,
        lease_id,
        reason: 'on purpose',
        retry: random.chance(0.8),
      });
    } else if (verb < 16) await leasehold.call('task.release', { task_id, lease_id });
    else if (verb < 17) await leasehold.call('task.kill', { task_id, reason: 'on purpose' });
    else if (verb < 18) await leasehold.call('task.get', { task_id });
    // The rest is left to run out.
  }
}

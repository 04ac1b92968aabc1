/**
 * Tasks as operators see them: cancelled and changed while they wait and while they run, beside workers that save how far
 * they have come and look at what the attempts before them have saved.
 */
import type { TaskLeaseRecord } from '../../../src/operations/records.ts';
import type { ClientProgram } from '../world/client-program.ts';
import { QUEUE, ttlMs } from './shared-names.ts';

export async function operators(program: ClientProgram): Promise<void> {
  const { random } = program;
  await program.rounds(async () => {
    const what = random.below(10);
    if (what < 3) await create(program);
    else if (what < 7) await work(program);
    else await operate(program);
    await program.sleep(5, 400);
  });
}

/** The ids of the workload `tasks`, so that both get hold of the same ones. */
function someTask({ random }: ClientProgram): string {
  return `task-${random.below(30)}`;
}

async function create(program: ClientProgram): Promise<void> {
  const { leasehold, random } = program;
  program.doing('making a task');
  await leasehold.task.create({
    queue: QUEUE,
    task_id: someTask(program),
    payload: 'to be operated',
    ...(random.chance(0.3) ? { delay_ms: random.between(1, 2_000) } : {}),
    ...(random.chance(0.3) ? { dedup_key: `key-${random.below(4)}` } : {}),
    ...(random.chance(0.3) ? { max_attempts: random.between(1, 3) } : {}),
    retry: { max_failures: random.between(1, 3), backoff_ms: random.between(0, 500) },
  });
}

async function operate(program: ClientProgram): Promise<void> {
  const { leasehold, random } = program;
  program.doing('operating tasks');
  const task_id = someTask(program);
  if (random.chance(0.4)) await leasehold.task.cancel({ task_id, reason: 'on purpose' });
  else
    await leasehold.task.change({
      task_id,
      priority: random.between(-3, 3),
      ...(random.chance(0.5) ? { queue: random.pick([QUEUE, 'errands']) } : {}),
      ...(random.chance(0.3) ? { delay_ms: random.between(0, 1_000) } : {}),
    });
  if (random.chance(0.5)) await leasehold.task.get({ task_id });
}

async function work(program: ClientProgram): Promise<void> {
  const { leasehold, random, client } = program;
  const lasts = ttlMs(random);
  program.doing('leasing tasks');
  const queues = [QUEUE, 'errands'];
  const reply = await leasehold.task.lease({ worker_id: client, queues, max: 2, ttl_ms: lasts });
  if (!reply.ok) return;
  program.doing('saving and ending tasks');
  for (const lease of reply.leases) await end(program, lease, lasts);
}

async function end(program: ClientProgram, lease: TaskLeaseRecord, lasts: number): Promise<void> {
  const { leasehold, random, client } = program;
  const { task_id, lease_id } = lease;
  for (let saves = random.below(3); saves > 0; saves--) {
    const value = { by: client, done: random.below(1_000), text: 'x'.repeat(random.below(300)) };
    await leasehold.task.checkpoint({ task_id, lease_id, value });
  }
  if (random.chance(0.4)) await leasehold.task.cancel({ task_id, reason: 'while it runs' });
  if (random.chance(0.3)) await program.sleep(1, lasts * 1.5);
  if (random.chance(0.3)) await leasehold.task.extend({ task_id, lease_id, ttl_ms: lasts });
  if (random.chance(0.3)) {
    const leases = [{ task_id, lease_id }];
    await leasehold.heartbeat({ worker_id: client, leases, ttl_ms: lasts });
  }
  const verb = random.below(10);
  if (verb < 3) await leasehold.task.complete({ task_id, lease_id });
  else if (verb < 6) await leasehold.task.fail({ task_id, lease_id, reason: 'on purpose' });
  else if (verb < 8) await leasehold.task.release({ task_id, lease_id });
  // The rest is left to run out.
}

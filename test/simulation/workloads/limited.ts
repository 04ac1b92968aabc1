/**
 * A queue with limits that change: tasks with few keys, workers that wait for them, and an operator. Limits are never so low
 * that nothing moves, and a worker that waits longer than any window takes is served if there is a task.
 */
import type { ClientProgram } from '../world/client-program.ts';

const QUEUE = 'limited';
const KEYS = [undefined, 'k1', 'k1', 'k2', 'k3'] as const;
/** Longer than any window of a rate and any lease. */
const WAIT_MS = 20_000;

export async function limited(program: ClientProgram): Promise<void> {
  const { random } = program;
  await program.rounds(async () => {
    const what = random.below(20);
    if (what < 2) await limit(program);
    else if (what < 11) await create(program);
    else await work(program);
    await program.sleep(5, 300);
  });
}

async function limit(program: ClientProgram): Promise<void> {
  const { leasehold, random } = program;
  program.doing('setting limits');
  const perKey = random.chance(0.5);
  await leasehold.call('queue.limit', {
    queue: QUEUE,
    ...(random.chance(0.5) ? { max_leased: random.pick([null, 1, 2, 3]) } : {}),
    ...(random.chance(0.5) ? { max_leased_per_key: random.pick([null, 1, 1, 2]) } : {}),
    ...(random.chance(0.5)
      ? {
          rate: random.chance(0.3)
            ? null
            : { count: random.between(1, 4), per_ms: random.magnitude(50, 4_000), per_key: perKey },
        }
      : {}),
  });
}

async function create(program: ClientProgram): Promise<void> {
  const { leasehold, random } = program;
  program.doing('making limited tasks');
  for (let count = random.between(1, 4); count > 0; count--) {
    const key = random.pick(KEYS);
    await leasehold.call('task.create', {
      queue: QUEUE,
      payload: 'limited',
      priority: random.chance(0.2) ? 1 : 0,
      ...(key === undefined ? {} : { key }),
      ...(random.chance(0.1) ? { delay_ms: random.between(1, 1_000) } : {}),
    });
  }
}

async function work(program: ClientProgram): Promise<void> {
  const { leasehold, random, client } = program;
  program.doing('leasing limited tasks');
  const reply = await leasehold.call('task.lease', {
    worker_id: client,
    queues: [QUEUE],
    max: random.between(1, 3),
    ttl_ms: random.magnitude(300, 4_000),
    ...(random.chance(0.7) ? { wait_ms: random.chance(0.3) ? WAIT_MS : random.between(1, 3_000) } : {}),
  });
  if (!reply.ok) return;
  program.doing('ending limited tasks');
  await program.sleep(1, 500);
  for (const { task_id, lease_id } of reply.leases) {
    const verb = random.below(10);
    if (verb < 6) await leasehold.call('task.complete', { task_id, lease_id });
    else if (verb < 8) await leasehold.call('task.fail', { task_id, lease_id, reason: 'on purpose' });
    else if (verb < 9) await leasehold.call('task.release', { task_id, lease_id });
    // The rest is left to run out.
  }
}

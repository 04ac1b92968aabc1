/**
 * Tasks by the dozen: requeued, cancelled, killed, changed and purged by filter, a few at a call, beside workers that fail what
 * they are given. Between the calls of one run time passes, and what was requeued ends again.
 */
import type { ClientProgram } from '../world/client-program.ts';
import { QUEUE, ttlMs } from './shared-names.ts';

const CALLS_MAX = 12;

export async function bulkOperators(program: ClientProgram): Promise<void> {
  const { random } = program;
  await program.rounds(async () => {
    const what = random.below(10);
    if (what < 3) await create(program);
    else if (what < 7) await fail(program);
    else await operate(program);
    await program.sleep(5, 400);
  });
}

async function create(program: ClientProgram): Promise<void> {
  const { leasehold, random } = program;
  program.doing('making tasks');
  for (let count = random.between(1, 4); count > 0; count--) {
    await leasehold.call('task.create', {
      queue: random.pick([QUEUE, 'errands']),
      payload: 'one of many',
      ...(random.chance(0.2) ? { dedup_key: `key-${random.below(4)}` } : {}),
      ...(random.chance(0.3) ? { key: `group-${random.below(3)}` } : {}),
      retry: { max_failures: 1 },
    });
  }
}

async function fail(program: ClientProgram): Promise<void> {
  const { leasehold, random, client } = program;
  program.doing('failing tasks');
  const request = { worker_id: client, queues: [QUEUE, 'errands'], max: 4, ttl_ms: ttlMs(random) };
  const reply = await leasehold.call('task.lease', request);
  if (!reply.ok) return;
  for (const { task_id, lease_id } of reply.leases) {
    const isFailed = random.chance(0.7);
    const isCompleted = !isFailed && random.chance(0.7);
    if (isFailed) await leasehold.call('task.fail', { task_id, lease_id, reason: 'on purpose' });
    if (isCompleted) await leasehold.call('task.complete', { task_id, lease_id });
  }
}

async function operate(program: ClientProgram): Promise<void> {
  const { leasehold, random } = program;
  const action = random.pick([
    'requeue',
    'requeue',
    'requeue',
    'requeue',
    'cancel',
    'kill',
    'change',
    'purge',
  ] as const);
  program.doing('operating many tasks');
  const queue = random.pick([QUEUE, 'errands']);
  const filter = {
    queue,
    // Failed ones are never purged here: their retention is looked at.
    ...(action === 'purge' ? { state: 'COMPLETED' as const } : {}),
    ...(action === 'requeue' ? { state: random.pick(['FAILED', 'DEAD'] as const) } : {}),
    ...(random.chance(0.2) ? { key: `group-${random.below(3)}` } : {}),
  };
  const set = action === 'change' ? { set: { priority: random.between(-3, 3), queue: 'errands' } } : {};
  const dry = random.chance(0.1) ? { dry_run: true } : {};
  let cursor: string | undefined;
  for (let calls = 0; calls < CALLS_MAX; calls++) {
    const reply = await leasehold.call('task.bulk', {
      action,
      filter,
      reason: 'on purpose',
      max: random.between(1, 3),
      ...set,
      ...dry,
      ...(cursor === undefined ? {} : { cursor }),
    });
    if (!reply.ok || reply.next_cursor === undefined) return;
    cursor = reply.next_cursor;
    if (random.chance(0.5)) await fail(program);
  }
}

/**
 * A few schedules that are due every second or two, set, paused, resumed, removed and fired by hand, and workers that take
 * their time with the tasks, so that due times overlap. What happens to each due time is in the log.
 */
import type { Transport } from '../../../src/client/transport.ts';
import type { ClientProgram } from '../world/client-program.ts';

/** What it needs of its program; a client of several servers has it too. */
export interface SchedulingProgram
  extends Pick<ClientProgram, 'client' | 'random' | 'rounds' | 'doing' | 'sleep'> {
  readonly leasehold: Pick<Transport, 'call'>;
}

const QUEUE = 'scheduled';
const NAMES = ['hourly', 'nightly', 'weekly'] as const;
/** Patterns whose due times are at an even distance, so that a checker can count them without a calendar. */
const RHYTHMS = [
  { cron: '* * * * * *' },
  { cron: '*/2 * * * * *' },
  { cron: '*/5 * * * * *', timezone: 'Europe/Berlin' },
  { every_ms: 1_000 },
  { every_ms: 3_700 },
] as const;

export async function scheduled(program: SchedulingProgram): Promise<void> {
  const { random } = program;
  await program.rounds(async () => {
    const what = random.below(20);
    if (what < 4) await set(program);
    else if (what < 8) await change(program);
    else await work(program);
    await program.sleep(50, 2_500);
  });
}

async function set(program: SchedulingProgram): Promise<void> {
  const { leasehold, random } = program;
  program.doing('setting a schedule');
  await leasehold.call('schedule.put', {
    name: random.pick(NAMES),
    ...random.pick(RHYTHMS),
    queue: QUEUE,
    payload: random.below(3),
    overlap: random.pick(['skip', 'allow'] as const),
    catch_up: random.pick(['none', 'one', 'all'] as const),
    ...(random.chance(0.3) ? { jitter_ms: random.between(1, 900) } : {}),
    ...(random.chance(0.1) ? { paused: true } : {}),
  });
}

async function change(program: SchedulingProgram): Promise<void> {
  const { leasehold, random } = program;
  program.doing('changing a schedule');
  const name = random.pick(NAMES);
  const verb = random.below(8);
  if (verb < 3) await leasehold.call('schedule.pause', { name });
  else if (verb < 6) await leasehold.call('schedule.resume', { name });
  else if (verb < 7)
    await leasehold.call('schedule.fire', {
      name,
      request_id: `${program.client}-${random.below(1_000_000)}`,
    });
  else await leasehold.call('schedule.delete', { name });
}

async function work(program: SchedulingProgram): Promise<void> {
  const { leasehold, random, client } = program;
  program.doing('leasing scheduled tasks');
  const reply = await leasehold.call('task.lease', {
    worker_id: client,
    queues: [QUEUE],
    max: random.between(1, 20),
    ttl_ms: random.magnitude(300, 4_000),
  });
  if (!reply.ok) return;
  program.doing('ending scheduled tasks');
  await program.sleep(1, 800);
  for (const { task_id, lease_id } of reply.leases) {
    const verb = random.below(10);
    if (verb < 7) await leasehold.call('task.complete', { task_id, lease_id });
    else if (verb < 9)
      await leasehold.call('task.fail', { task_id, lease_id, reason: 'on purpose', retry: false });
    // The rest is left to run out.
  }
}

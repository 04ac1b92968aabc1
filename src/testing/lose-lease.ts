/** Takes a lease from its holder, in any of the ways a lease can be lost. */
import { LeaseholdError, type Loss } from '../protocol/leasehold-error.ts';
import { LIMITS } from '../protocol/limits.ts';
import type { Reply } from '../protocol/problem.ts';
import type { FaultyTransport } from './faulty-transport.ts';
import type { TestWorld } from './test-world.ts';

/**
 *   expired      its renewals, its release and its verdict no longer arrive, and time passes until it has expired
 *   broken       an administrator breaks a named lease
 *   superseded   the holder of a named lease is granted it again, elsewhere
 *   killed       an administrator kills the task
 */
export type TestLoss = Extract<Loss, (typeof LOSSES)[number]>;

const LOSSES = ['expired', 'broken', 'superseded', 'killed'] as const;

const REASON = 'A test took it away.';

export async function loseLease(
  transport: FaultyTransport,
  world: TestWorld,
  subject: string,
  cause: TestLoss | undefined,
): Promise<void> {
  if (cause !== undefined && !LOSSES.includes(cause)) {
    throw new TypeError(`Unknown cause ${JSON.stringify(cause)}; use one of ${LOSSES.join(', ')}.`);
  }
  const lease = await transport.call('lease.get', { name: subject });
  if (lease.ok) {
    await loseName(transport, world, lease, cause ?? 'broken');
    return;
  }
  const task = await transport.call('task.get', { task_id: subject });
  if (!task.ok || task.current_lease_id === null) {
    throw new TypeError(`There is no lease on ${subject}, neither as a name nor as a task.`);
  }
  await loseTask(transport, world, subject, task.current_lease_id, cause ?? 'expired');
}

interface HeldName {
  readonly name: string;
  readonly holder: string;
  readonly lease_seq: number;
  readonly remaining_ms: number;
}

async function loseName(
  transport: FaultyTransport,
  world: TestWorld,
  { name, holder, lease_seq, remaining_ms }: HeldName,
  cause: TestLoss,
): Promise<void> {
  switch (cause) {
    case 'expired':
      return runOut(transport, world, remaining_ms, name, holder);
    case 'broken':
      return done(await transport.call('lease.break', { name, lease_seq, reason: REASON }));
    case 'superseded':
      return done(
        await transport.call('lease.acquire', {
          name,
          holder,
          ttl_ms: remaining_ms,
          token: world.newToken(),
        }),
      );
    case 'killed':
      throw new TypeError('Only tasks are killed; a named lease is broken, superseded or expires.');
  }
}

async function loseTask(
  transport: FaultyTransport,
  world: TestWorld,
  task_id: string,
  lease_id: string,
  cause: TestLoss,
): Promise<void> {
  switch (cause) {
    case 'killed':
      return done(await transport.call('task.kill', { task_id, reason: REASON }));
    case 'expired': {
      // A renewal never shortens, so it only reports how much is left.
      const request = { task_id, lease_id, ttl_ms: LIMITS.ttlMinMs };
      const left = await transport.call('task.extend', request);
      if (!left.ok) throw LeaseholdError.of(left);
      return runOut(transport, world, left.remaining_ms, lease_id);
    }
    case 'broken':
    case 'superseded':
      throw new TypeError(`The lease on a task is not ${cause}: it expires, or the task is killed.`);
  }
}

/** The holder gets no answer, as when its network is cut. */
async function runOut(
  transport: FaultyTransport,
  world: TestWorld,
  remainingMs: number,
  subject: string,
  holder?: string,
): Promise<void> {
  const reconnect = transport.cutOff(subject, holder);
  await world.advance(remainingMs);
  reconnect();
}

function done(reply: Reply<{ readonly ok: true }>): void {
  if (!reply.ok) throw LeaseholdError.of(reply);
}

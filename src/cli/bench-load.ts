/** The load of `leasehold bench`, and how it is counted: a number of callers at once, each sequential. */

import type { Leasehold } from '../client/leasehold.ts';
import { Json } from '../protocol/json.ts';
import type { Clock } from '../seams/clock.ts';
import { answered, Failure } from './failure.ts';

/** One turn of one caller; throws when anything is refused. */
type Turn = (lh: Leasehold, caller: string) => Promise<void>;

export interface Measured {
  readonly what: string;
  readonly in_flight: number;
  readonly per_second: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

const PAYLOAD = Json.of({ data: 'x'.repeat(240) });
const TTL_MS = 60_000;

/** No turn leaves a waiting task or a held lease behind: the measured server may have other users. */
export const LOADS: Readonly<Record<string, Turn>> = {
  async 'a task: create, lease, complete'(lh, caller) {
    const queue = `leasehold-bench:${caller}`;
    answered(await lh.call('task.create', { payload: PAYLOAD, queue }));
    // All of them: a run that was killed may have left some.
    const { leases } = answered(
      await lh.call('task.lease', { worker_id: caller, queues: [queue], max: 100, ttl_ms: TTL_MS }),
    );
    if (leases.length === 0) throw new Failure(`The queue ${queue} gives out no task; is it paused?`);
    for (const { task_id, lease_id } of leases)
      answered(await lh.call('task.complete', { task_id, lease_id }));
  },

  async 'a named lease: acquire, release'(lh, caller) {
    const name = `leasehold-bench:${caller}`;
    const { holder, token } = answered(
      await lh.call('lease.acquire', { name, holder: caller, ttl_ms: TTL_MS }),
    );
    answered(await lh.call('lease.release', { name, holder, token }));
  },
};

export interface Measuring {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly forMs: number;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

export async function measure(
  lh: Leasehold,
  what: string,
  inFlight: number,
  { clock, forMs, signal }: Measuring,
): Promise<Measured> {
  const turn = LOADS[what]!;
  const tookMs: number[] = [];
  const fromMs = clock.monotonicMs();
  const untilMs = fromMs + forMs;
  const callers = Array.from({ length: inFlight }, async (_, caller) => {
    for (let sinceMs = fromMs; sinceMs < untilMs && !signal.aborted; ) {
      await turn(lh, String(caller));
      const nowMs = clock.monotonicMs();
      tookMs.push(nowMs - sinceMs);
      sinceMs = nowMs;
    }
  });
  await Promise.all(callers);
  const seconds = (clock.monotonicMs() - fromMs) / 1_000;
  const sorted = Float64Array.from(tookMs).sort();
  return {
    what,
    in_flight: inFlight,
    per_second: Math.round(sorted.length / seconds),
    p50_ms: quantile(sorted, 0.5),
    p99_ms: quantile(sorted, 0.99),
  };
}

/** To the hundredth of a millisecond. */
function quantile(sorted: Float64Array, share: number): number {
  const ms = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return Math.round(ms * 100) / 100;
}

/** Limits of a queue as the handle takes and shows them, and as the wire has them. */
import type { Requests } from '../operations/table.ts';
import { type Duration, durationMs } from './durations.ts';
import { refuseUnknown } from './unknown-options.ts';

export interface KeyLimits {
  /** The maximum number of tasks that are leased at once. */
  readonly concurrency?: number;
  /** The maximum number of leases granted in any interval of this length. */
  readonly rate?: { readonly count: number; readonly per: Duration };
}

/** One rate at most: that of the queue, or that of each key. */
export interface Limits extends KeyLimits {
  /** The same for each key by itself. It does not apply to tasks without a key. */
  readonly perKey?: KeyLimits;
}

type WireLimits = Required<Omit<Requests['queue.limit'], 'queue' | 'applied'>>;

/** All of them: a limit that is not given is removed. */
export function wireLimits(limits: Limits | null, what: string): WireLimits {
  const { perKey = {}, ...queue } = limits ?? {};
  for (const scope of [queue, perKey]) {
    refuseUnknown(scope, ['concurrency', 'rate'], what);
    refuseUnknown(scope.rate ?? {}, ['count', 'per'], what);
  }
  const rate = queue.rate ?? perKey.rate;
  if (queue.rate !== undefined && perKey.rate !== undefined)
    throw new TypeError(`The limits of ${what} have two rates: give that of the queue or that of each key.`);
  return {
    max_leased: queue.concurrency ?? null,
    max_leased_per_key: perKey.concurrency ?? null,
    rate:
      rate === undefined
        ? null
        : { count: rate.count, per_ms: durationMs(rate.per, 'per'), per_key: perKey.rate !== undefined },
  };
}

/** What `queue.list` shows, in camelCase. */
interface ShownLimits {
  readonly maxLeased?: number;
  readonly maxLeasedPerKey?: number;
  readonly rate?: { readonly count: number; readonly perMs: number; readonly perKey: boolean };
}

export function shownLimits({ maxLeased, maxLeasedPerKey, rate }: ShownLimits): Limits {
  const shown = rate === undefined ? {} : { rate: { count: rate.count, per: rate.perMs } };
  const perKey: KeyLimits = {
    ...(maxLeasedPerKey === undefined ? {} : { concurrency: maxLeasedPerKey }),
    ...(rate?.perKey ? shown : {}),
  };
  return {
    ...(maxLeased === undefined ? {} : { concurrency: maxLeased }),
    ...(rate?.perKey ? {} : shown),
    ...(Object.keys(perKey).length === 0 ? {} : { perKey }),
  };
}

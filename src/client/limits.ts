/** Converts the limits of a queue between the handle's form and the wire's. */
import type { Requests } from '../operations/table.ts';
import { type Duration, durationMs } from './durations.ts';
import { refuseUnknown } from './unknown-options.ts';

export interface KeyLimits {
  /** The maximum number of tasks that are leased at once. */
  readonly concurrency?: number;
  /** The maximum number of leases granted in any interval of this length. */
  readonly rate?: { readonly count: number; readonly per: Duration };
}

/** At most one rate: for the queue or per key. */
export interface Limits extends KeyLimits {
  /** The same limits for each key separately. Tasks without a key are not affected. */
  readonly perKey?: KeyLimits;
}

type WireLimits = Required<Omit<Requests['queue.limit'], 'queue' | 'applied'>>;

/** All limits of the queue: an absent limit is removed. */
export function wireLimits(limits: Limits | null, what: string): WireLimits {
  const { perKey = {}, ...queue } = limits ?? {};
  for (const scope of [queue, perKey]) {
    refuseUnknown(scope, ['concurrency', 'rate'], what);
    refuseUnknown(scope.rate ?? {}, ['count', 'per'], what);
  }
  const rate = queue.rate ?? perKey.rate;
  if (queue.rate !== undefined && perKey.rate !== undefined)
    throw new TypeError(`The limits of ${what} have two rates; give one, for the queue or per key.`);
  return {
    max_leased: queue.concurrency ?? null,
    max_leased_per_key: perKey.concurrency ?? null,
    rate:
      rate === undefined
        ? null
        : { count: rate.count, per_ms: durationMs(rate.per, 'per'), per_key: perKey.rate !== undefined },
  };
}

/** Limits in the reply of `queue.list`, in camelCase. */
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

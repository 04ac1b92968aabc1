/**
 * The limits of a queue: live leases at a time, and grants per interval. An absent limit is null. Limits of a key do not
 * apply to tasks without one.
 */
export interface Rate {
  readonly count: number;
  readonly perMs: number;
  /** Whether it applies to each key separately, or to the queue as a whole. */
  readonly perKey: boolean;
}

export interface Limits {
  readonly maxLeased: number | null;
  readonly maxLeasedPerKey: number | null;
  readonly rate: Rate | null;
  /** Whether they come from the definition of a task. Those never replace limits that an operator has set. */
  readonly applied: boolean;
}

export const NO_LIMITS: Limits = { maxLeased: null, maxLeasedPerKey: null, rate: null, applied: false };

/** Limits as entries and images store them. */
export interface StoredLimits {
  readonly maxLeased: number | null;
  readonly maxLeasedPerKey: number | null;
  readonly rateCount: number | null;
  readonly ratePerMs: number | null;
  readonly ratePerKey: boolean;
  readonly applied: boolean;
}

/** Null when there is none at all. */
export function limitsOf(stored: StoredLimits): Limits | null {
  const { maxLeased, maxLeasedPerKey, rateCount, ratePerMs, ratePerKey, applied } = stored;
  const rate =
    rateCount === null || ratePerMs === null
      ? null
      : { count: rateCount, perMs: ratePerMs, perKey: ratePerKey };
  return maxLeased === null && maxLeasedPerKey === null && rate === null
    ? null
    : { maxLeased, maxLeasedPerKey, rate, applied };
}

export function storedLimits(limits: Limits | null): StoredLimits {
  const { maxLeased, maxLeasedPerKey, rate, applied } = limits ?? NO_LIMITS;
  return {
    maxLeased,
    maxLeasedPerKey,
    rateCount: rate?.count ?? null,
    ratePerMs: rate?.perMs ?? null,
    ratePerKey: rate?.perKey ?? false,
    applied,
  };
}

/** Setting the limits of a queue. How they are kept is in `key-table.ts`. */
import type { QueueLimits } from './answers.ts';
import type { LimitQueue } from './commands.ts';
import { append, type Decision, refuse, unchanged } from './decision.ts';
import { type Limits, NO_LIMITS, type Rate, storedLimits } from './limits.ts';
import { isSystemQueue } from './reserved-names.ts';
import type { State } from './state.ts';

export function limitQueue(state: State, { queue, limits, applies }: LimitQueue): Decision<QueueLimits> {
  if (isSystemQueue(queue))
    return refuse('FORBIDDEN', { detail: 'Queues that begin with system: have no limits.' });
  const known = state.tasks.queues.get(queue)?.limits ?? NO_LIMITS;
  const hasLimits = known.maxLeased !== null || known.maxLeasedPerKey !== null || known.rate !== null;
  if (applies && hasLimits && !known.applied)
    return unchanged({ queue, limits: known, isSet: false, seq: state.lastSeq });
  const wanted: Limits = {
    maxLeased: given(limits.maxLeased, known.maxLeased),
    maxLeasedPerKey: given(limits.maxLeasedPerKey, known.maxLeasedPerKey),
    rate: given(limits.rate, known.rate),
    applied: applies,
  };
  const isSame =
    wanted.maxLeased === known.maxLeased &&
    wanted.maxLeasedPerKey === known.maxLeasedPerKey &&
    isSameRate(wanted.rate, known.rate) &&
    (known.applied === applies || !hasLimits);
  if (isSame) return unchanged({ queue, limits: known, isSet: true, seq: state.lastSeq });
  return append(
    { type: 'QueueLimited', queue, ...storedLimits(wanted) },
    { queue, limits: wanted, isSet: true, seq: state.lastSeq + 1 },
  );
}

function given<T>(value: T | undefined, known: T): T {
  return value === undefined ? known : value;
}

function isSameRate(one: Rate | null, other: Rate | null): boolean {
  if (one === null || other === null) return one === other;
  return one.count === other.count && one.perMs === other.perMs && one.perKey === other.perKey;
}

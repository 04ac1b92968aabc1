// Real timers, except for those of one length: they fire only when the test says so.
import type { Timers } from '../../src/seams/clock.ts';
import { systemTimers } from '../../src/world/system-clock.ts';

/** `held`: the calls of the timers that were set for so many milliseconds, also of those that were cancelled since. */
export function timersWithout(heldMs: number): { readonly timers: Timers; readonly held: (() => void)[] } {
  const held: (() => void)[] = [];
  const after: Timers['after'] = (ms, call) => {
    if (ms !== heldMs) return systemTimers.after(ms, call);
    held.push(call);
    return { cancel: () => undefined };
  };
  return { timers: { ...systemTimers, after }, held };
}

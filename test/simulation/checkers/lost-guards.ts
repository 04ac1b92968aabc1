// No work after a lost guard or lease: once the signal of a handle has aborted, the handle never counts as held
// again, and no program wipes under a guard that it knows to be lost.
import { checker } from './checker.ts';
import { handlesOf } from './handles.ts';
import { record } from './reading.ts';

export const lostGuards = checker(
  'lost-guards',
  'No work is done under a lease or guard that is known to be lost.',
  (reading, complain) => {
    for (const { held, lost, uses } of handlesOf(reading)) {
      // A draining worker signals its tasks the same way, and they may still finish.
      if (lost === undefined || lost.cause === 'other') continue;
      const lostAt = reading.placeOf(lost);
      for (const used of uses) {
        if (reading.placeOf(used) > lostAt) {
          complain(`${held.client} uses ${held.leaseSeq} after it was lost`, held, lost, used);
        }
      }
      if (!held.isGuard) continue;
      for (const { call, calledAt } of reading.calls) {
        if (calledAt < lostAt || call.client !== held.client || call.op !== 'lease.wipe' || call.isEcho)
          continue;
        if (record(call.request.guard).holder === held.holder) {
          complain(`${held.client} wipes after it lost the guard ${held.leaseSeq}`, held, lost, call);
        }
      }
    }
  },
);

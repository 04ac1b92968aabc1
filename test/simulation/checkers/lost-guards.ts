// No work after a lost guard, nor after any other lost lease: once the signal of a handle has aborted, the handle is never
// again taken for held, and nobody wipes anything in the name of a guard that it knows to be lost.
import { checker } from './checker.ts';
import { handlesOf } from './handles.ts';
import { record } from './reading.ts';

export const lostGuards = checker(
  'lost-guards',
  'No work is done under a guard, or any lease, that is known to be lost.',
  (reading, complain) => {
    for (const { held, lost, uses } of handlesOf(reading)) {
      // A worker that drains tells its tasks so by the same signal, and they may still finish.
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

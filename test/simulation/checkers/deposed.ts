// An orchestrator that knows that its guard is lost is silent: it asks for nothing more in the name of that guard.
import { checker } from './checker.ts';
import { record } from './reading.ts';

export const deposed = checker(
  'deposed',
  'An orchestrator that knows its guard is lost sends nothing more in its name.',
  ({ events, calls, placeOf }, complain) => {
    for (const lost of events) {
      if (lost.kind !== 'guard' || lost.is !== 'lost') continue;
      const lostAt = placeOf(lost);
      for (const { call, calledAt } of calls) {
        if (calledAt < lostAt || call.client !== lost.client || call.isEcho === true) continue;
        const { guard, holder } = call.request;
        const isIts = record(guard).holder === lost.holder || holder === lost.holder;
        if (isIts) complain(`${call.client} asks for ${call.op} after it lost its guard`, lost, call);
      }
    }
  },
);

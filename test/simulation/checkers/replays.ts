// Live state equals replay: whenever a run looked at both, they were the same state at the same position.
import { checker } from './checker.ts';

export const replays = checker(
  'replays',
  'The live state is the state that a replay gives.',
  ({ events }, complain) => {
    for (const event of events) {
      if (event.kind !== 'state') continue;
      if (event.lastSeq !== event.replaySeq) {
        complain(`the live state is at ${event.lastSeq}, its replay at ${event.replaySeq}`, event);
      } else if (event.hash !== event.replayHash) {
        complain(
          `at seq ${event.lastSeq} the live state is ${event.hash}, its replay ${event.replayHash}`,
          event,
        );
      }
    }
  },
);

// When the faults have stopped, everything that waits is served within a bound: no program is stuck when the run
// ends, and no call made after the faults takes longer than it asked for plus a margin.
import { checker } from './checker.ts';

/** Beyond the wait that the call itself asked for. */
const ANSWER_MS = 60_000;

export const liveness = checker(
  'liveness',
  'When the faults stop, every waiting call is served within a bound.',
  ({ events, calls }, complain) => {
    const quiet = events.find((event) => event.kind === 'quiet');
    for (const event of events) {
      if (event.kind === 'stuck') complain(`${event.client} still waits: ${event.what}`, quiet, event);
    }
    if (quiet === undefined) return;
    const endMs = events.at(-1)!.simMs;
    for (const { call, answer, unanswered } of calls) {
      if (call.simMs < quiet.simMs || call.isEcho === true) continue;
      const waitMs = typeof call.request.wait_ms === 'number' ? call.request.wait_ms : 0;
      const tookMs = (answer ?? unanswered)?.simMs ?? endMs;
      if (tookMs - call.simMs > waitMs + ANSWER_MS) {
        complain(
          `${call.op} of ${call.client} takes ${tookMs - call.simMs} ms`,
          quiet,
          call,
          answer,
          unanswered,
        );
      }
    }
  },
);

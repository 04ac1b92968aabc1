// A place that becomes free and a window that opens serve the workers that wait. Once the faults have stopped, no worker is
// told that there is nothing while a task could have been leased for a while, as the log says.
import { LimitsModel } from '../../support/limits-model.ts';
import { checker } from './checker.ts';
import { list, whole } from './reading.ts';

/** A batch is decided, written and answered within this time when nothing is in its way. */
const SERVED_MS = 1_500;

export const limitedLines = checker(
  'limited-lines',
  'A free place and an open window serve the workers that wait.',
  ({ events, eras, calls, placeOf }, complain) => {
    const hasFaults = events.some(({ kind }) => kind === 'fault');
    const quiet = events.find(({ kind }) => kind === 'quiet');
    const fromMs = hasFaults ? (quiet?.simMs ?? Number.POSITIVE_INFINITY) : 0;
    const empty = calls
      .filter(({ call, answer }) => {
        if (call.op !== 'task.lease' || call.simMs < fromMs || whole(call.request.wait_ms) < SERVED_MS)
          return false;
        return answer?.status === 200 && list(answer.body.leases).length === 0;
      })
      .sort((a, b) => a.answeredAt - b.answeredAt);
    const facts = eras.at(-1)?.facts ?? [];
    const model = new LimitsModel();
    let read = 0;
    for (const { call, answer, answeredAt } of empty) {
      while (read < facts.length && placeOf(facts[read]!.event) < answeredAt) {
        const { seq, atMs, entry } = facts[read]!;
        model.observe(seq, atMs, entry);
        read += 1;
      }
      const last = facts[read - 1];
      if (last === undefined) continue;
      for (const queue of call.request.queues as string[]) {
        const waitedMs = answer!.simMs - Math.max(last.event.simMs, call.simMs);
        const servableMs = Math.max(0, model.servableMs(queue) - last.atMs);
        if (waitedMs > servableMs + SERVED_MS)
          complain(
            `${call.client} waits for ${queue} and gets nothing, ${waitedMs} ms after seq ${last.seq}`,
            last.event,
            call,
            answer,
          );
      }
    }
  },
);

/**
 * The thread of the time machine: it replays the log to the position of a question and answers with the operation's own
 * `look`, so that an earlier moment has the same body as the present. One question at a time. It keeps no file or
 * connection open between questions.
 */
import { EndWatch } from '../authority/end-watch.ts';
import { Feed } from '../authority/feed.ts';
import { Moments, MomentTooLargeError, type PastPosition } from '../authority/moments.ts';
import type { Refusal } from '../core/refusals.ts';
import { LogCompactedError } from '../engines/log.ts';
import { openPast } from '../engines/open-past.ts';
import { Pace } from '../engines/pace.ts';
import type { LogPast, PastLog } from '../engines/past.ts';
import type { Timers } from '../seams/clock.ts';
import type { ThreadOutput, ThreadWorld } from '../seams/threads.ts';
import type { LeaderContext, ReadContext, RoleFigures } from './contexts.ts';
import { withBytes } from './past-bodies.ts';
import { type AnyRead, operationOf, type ReadOperation } from './table.ts';

/** Plain data. */
export interface PastQuestion {
  readonly operation: ReadOperation;
  readonly request: object;
  readonly past: LogPast;
  readonly position: PastPosition;
  /** Of the server that answers, now. */
  readonly figures: RoleFigures;
}

/** The reply with each `Json` as its bytes, or why there is none. */
export type PastAnswer = { readonly found: object } | { readonly none: 'gone' | 'too large' };

/**
 * About two gigabytes. Measured as growth of the process: 240 bytes a waiting task, 300 a name, 410 a completed task with one
 * lease, and up to a tenth more after many replays.
 */
const LIMITS = { moments: 4, rows: 5_000_000 };

/** Nothing waits for an earlier moment. */
const NO_TIMERS = {} as Timers;

export function serve(world: ThreadWorld): (question: unknown) => Promise<ThreadOutput> {
  const moments = new Moments(new Pace(world.pause), LIMITS);
  const look = async (question: PastQuestion): Promise<PastAnswer> => {
    const log = await openPast(question.past, world);
    try {
      return { found: withBytes(await answer(moments, log, question)) as object };
    } catch (fault) {
      if (fault instanceof MomentTooLargeError) return { none: 'too large' };
      if (fault instanceof LogCompactedError || (fault as NodeJS.ErrnoException).code === 'ENOENT') {
        return { none: 'gone' };
      }
      throw fault;
    } finally {
      await log.close();
    }
  };
  return async (question) => ({ value: await look(question as PastQuestion), transfer: [] });
}

async function answer(
  moments: Moments,
  log: PastLog,
  { operation, request, past, position, figures }: PastQuestion,
): Promise<object | Refusal> {
  const view = await moments.at(past, log, position);
  const context: ReadContext = {
    source: { read: async (read) => read(view), log, whenEnded: () => () => undefined },
    ends: new EndWatch(new Feed()),
    timers: NO_TIMERS,
    beats: null,
    workers: null,
    figures: ({ state }) => ({ ...figures, epoch: state.epoch }),
  };
  return (operationOf(operation) as AnyRead).look(request, context as LeaderContext, {});
}

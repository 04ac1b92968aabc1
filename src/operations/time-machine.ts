/**
 * The time machine: reads of the state as of an earlier position. It says which positions there are and passes the
 * question to a thread that replays the log (`past-thread.ts`); the loop of the authority only exchanges messages. The
 * thread starts with the first question and ends, with the moments it has cached, after a while without one.
 */
import type { Authority } from '../authority/authority.ts';
import type { CallOptions } from '../authority/request.ts';
import { invalid } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import type { LogPast } from '../engines/past.ts';
import { instantMs } from '../protocol/instant.ts';
import type { Timer, Timers } from '../seams/clock.ts';
import type { ServingThread, ServingThreads } from '../seams/threads.ts';
import type { RoleFigures } from './contexts.ts';
import { withJson } from './past-bodies.ts';
import type { PastRequest } from './past-fields.ts';
import type { PastAnswer, PastQuestion } from './past-thread.ts';
import type { ReadOperation } from './table.ts';

/** `.js` when built; `.ts` when a Node that supports it runs the sources. */
const MODULE = new URL(
  import.meta.url.endsWith('.ts') ? './past-thread.ts' : './past-thread.js',
  import.meta.url,
).href;

/** Requests that wait for the thread, with the one it works on. */
const WAITING_MAX = 64;
const IDLE_MS = 60_000;

const NO_PAST = invalid(
  'This server shows no earlier moments: its log is not stored where they can be replayed.',
);
const BUSY: Refusal = {
  refused: 'OVERLOADED',
  detail: `${WAITING_MAX} requests for earlier moments are waiting already; they are answered one at a time.`,
};
const ENDED: Refusal = { refused: 'UNAVAILABLE', detail: 'The authority has ended.' };
const TOO_LARGE: Refusal = {
  refused: 'UNAVAILABLE',
  detail: 'The state at that position is too large to be held in memory beside the present one.',
};

interface Found {
  readonly past: LogPast;
  readonly position: PastQuestion['position'];
}

export interface TimeMachineOptions {
  readonly authority: Authority;
  /** Without threads there are no earlier moments. */
  readonly threads: ServingThreads | null;
  readonly timers: Timers;
  /** Of the server that answers, now. */
  readonly figures: () => RoleFigures;
}

export class TimeMachine {
  private readonly options: TimeMachineOptions;
  private thread: ServingThread | null = null;
  private idle: Timer | null = null;
  private waiting = 0;
  /** Resolves when the newest question has been answered; never rejects. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(options: TimeMachineOptions) {
    this.options = options;
    options.authority.whenEnded(() => this.stop());
  }

  async ask(operation: ReadOperation, asked: object, { signal }: CallOptions): Promise<object | Refusal> {
    const { at_seq: seq, at, ...request } = asked as PastRequest & { readonly wait_ms?: number };
    if (seq !== undefined && at !== undefined) return invalid('at_seq and at exclude each other.');
    if (request.wait_ms) return invalid('There is nothing to wait for at an earlier moment.');
    const find = () => this.find(seq ?? null, at === undefined ? null : instantMs(at));
    const found = find();
    if ('refused' in found) return found;
    if (this.waiting >= WAITING_MAX) return BUSY;
    this.waiting += 1;
    const answered = this.last.then(() => {
      signal?.throwIfAborted();
      return this.answer(operation, request, find);
    });
    this.last = answered.catch(() => undefined);
    try {
      return await answered;
    } finally {
      this.waiting -= 1;
      if (this.waiting === 0 && this.thread !== null) this.idle = this.stopLater();
    }
  }

  private async answer(
    operation: ReadOperation,
    request: object,
    find: () => Found | Refusal,
  ): Promise<object | Refusal> {
    // The files may have been deleted while the request waited, or while the thread opens them.
    for (let tries = 0; tries < 2; tries++) {
      const found = find();
      if ('refused' in found) return found;
      const answer = await this.send({ operation, request, ...found, figures: this.options.figures() });
      if (answer === null) return ENDED;
      if ('found' in answer) return withJson(answer.found) as object;
      if (answer.none === 'too large') return TOO_LARGE;
    }
    return this.compacted();
  }

  /** Null when the authority, and with it the thread, has ended meanwhile. */
  private async send(question: PastQuestion): Promise<PastAnswer | null> {
    this.idle?.cancel();
    this.thread ??= this.options.threads!.serve(MODULE);
    try {
      return (await this.thread.ask(question)) as PastAnswer;
    } catch (fault) {
      // A thread that failed may have ended. The next question starts another.
      this.stop();
      if (this.options.authority.hasEnded) return null;
      throw fault;
    }
  }

  /** The position of a seq or a time, or why it cannot be shown. */
  private find(seq: number | null, atMs: number | null): Found | Refusal {
    const { threads, authority } = this.options;
    if (authority.hasEnded) return ENDED;
    const past = threads === null ? null : authority.log.past();
    if (past === null) return NO_PAST;
    const { lastSeq } = authority.log.position;
    if (seq !== null && seq > lastSeq)
      return invalid(`The log ends at ${lastSeq}; ${seq} is beyond its end.`);
    if (atMs !== null && atMs > authority.clock.nowMs()) return invalid('That instant is in the future.');
    const position = { seq: seq ?? lastSeq, atMs: atMs ?? Number.POSITIVE_INFINITY };
    const [oldest] = past.bases;
    return position.seq < oldest.seq || position.atMs < oldest.atMs ? this.compacted() : { past, position };
  }

  private compacted(): Refusal {
    return { refused: 'LOG_COMPACTED', firstSeq: this.options.authority.log.position.firstSeq };
  }

  private stopLater(): Timer {
    this.idle?.cancel();
    return this.options.timers.after(IDLE_MS, () => this.stop());
  }

  private stop(): void {
    this.idle?.cancel();
    // Nothing waits for its end.
    this.thread?.stop().catch(() => undefined);
    this.thread = null;
  }
}

/**
 * Natural batching: what is called while a batch is on its way leaves together in the next one. There are no
 * timers: a call to an idle client leaves at the end of the turn it was made in, together with whatever else
 * was called in that turn.
 */
import { LIMITS } from '../protocol/limits.ts';
import { isWithinBytes } from './byte-lengths.ts';

/** A queued call: its text, and whether its caller still waits. */
export interface Batchable {
  readonly text: string;
  readonly isSettled: boolean;
}

/** Sends batches and handles their outcomes. None of these may throw. */
export interface BatchHandlers<T, R> {
  send(body: string, calls: readonly T[]): Promise<R>;
  answered(calls: readonly T[], reply: R): void;
  lost(calls: readonly T[], fault: unknown): void;
}

/**
 * Two, so that the server works on one while the client reads the other. With more, batches get smaller and
 * cost more per call; only a queue that fills a good batch by itself may use more.
 */
const IN_FLIGHT_MAX = 2;
const GOOD_IN_FLIGHT_MAX = 8;

/**
 * A batch takes only a part of the outstanding calls. Otherwise callers that wait for the same answer would stay in step,
 * and each side would be idle while the other works. It takes a sixth, but enough to be worth a request, and at most a
 * half. A few calls are not split.
 */
const PARTS = 6;
const GOOD_OPS = 128;
const FEW_OPS = 32;
const OPS_MAX = 512;

const OPENING = '{"ops":[';
const CLOSING = ']}';
/** What a batch adds to the texts of its operations. */
const FRAME_LENGTH = OPENING.length + CLOSING.length;

export class Batcher<T extends Batchable, R> {
  readonly #handlers: BatchHandlers<T, R>;
  #queue: T[] = [];
  #head = 0;
  #inFlight = 0;
  #opsInFlight = 0;
  #isDue = false;

  constructor(handlers: BatchHandlers<T, R>) {
    this.#handlers = handlers;
  }

  add(call: T): void {
    this.#queue.push(call);
    this.#schedule();
  }

  /** At once, in a batch of its own. */
  sendAlone(call: T): void {
    this.#send([call], bodyOf([call]));
  }

  #schedule(): void {
    if (this.#isDue || !this.#mayLeave()) return;
    this.#isDue = true;
    queueMicrotask(this.#flush);
  }

  #mayLeave(): boolean {
    const waiting = this.#queue.length - this.#head;
    return waiting > 0 && this.#inFlight < (waiting < GOOD_OPS ? IN_FLIGHT_MAX : GOOD_IN_FLIGHT_MAX);
  }

  readonly #flush = (): void => {
    this.#isDue = false;
    while (this.#mayLeave()) {
      const from = this.#head;
      let calls = this.#take(this.#share());
      if (calls.length === 0) break;
      let body = bodyOf(calls);
      while (calls.length > 1 && !fitsBody(body)) {
        this.#head = from;
        calls = this.#take(calls.length >> 1);
        body = bodyOf(calls);
      }
      this.#send(calls, body);
    }
    this.#tidy();
  };

  #share(): number {
    const ops = this.#queue.length - this.#head + this.#opsInFlight;
    const part = Math.min(Math.ceil(ops / 2), Math.max(GOOD_OPS, Math.ceil(ops / PARTS)));
    return Math.min(OPS_MAX, Math.max(FEW_OPS, part));
  }

  #send(calls: readonly T[], body: string): void {
    this.#inFlight += 1;
    this.#opsInFlight += calls.length;
    this.#handlers.send(body, calls).then(
      (reply) => {
        this.#returned(calls);
        this.#handlers.answered(calls, reply);
        this.#schedule();
      },
      (fault: unknown) => {
        this.#returned(calls);
        this.#handlers.lost(calls, fault);
        this.#schedule();
      },
    );
  }

  #returned(calls: readonly T[]): void {
    this.#inFlight -= 1;
    this.#opsInFlight -= calls.length;
  }

  /** The next calls, as many as fit into one body. */
  #take(opsMax: number): T[] {
    const calls: T[] = [];
    let length = FRAME_LENGTH;
    while (this.#head < this.#queue.length && calls.length < opsMax) {
      const call = this.#queue[this.#head]!;
      if (!call.isSettled) {
        length += call.text.length + 1;
        if (length > LIMITS.bodyBytes && calls.length > 0) break;
        calls.push(call);
      }
      this.#head += 1;
    }
    return calls;
  }

  /** Removes sent calls once they are half of the queue; sooner would cost more than it saves. */
  #tidy(): void {
    if (2 * this.#head < this.#queue.length) return;
    this.#queue = this.#queue.slice(this.#head);
    this.#head = 0;
  }
}

/** Joined in one call: a string built by concatenation would be flattened again when it is sent. */
function bodyOf(calls: readonly Batchable[]): string {
  const texts = calls.map(({ text }) => text);
  texts[0] = OPENING + texts[0];
  texts[texts.length - 1] += CLOSING;
  return texts.join();
}

/** Whether an operation fits into a batch. */
export function fitsBatch(text: string): boolean {
  return 4 * text.length <= LIMITS.bodyBytes || fitsBody(OPENING + text + CLOSING);
}

export function fitsBody(text: string): boolean {
  return isWithinBytes(text, LIMITS.bodyBytes);
}

/** One call in flight: its request, its failures so far, and its caller's promise. */
import type { Operation } from '../operations/table.ts';
import type { Effect } from '../protocol/leasehold-error.ts';
import { LIMITS } from '../protocol/limits.ts';
import type { Lane } from '../seams/http.ts';
import type { AbortWatch } from './abort-watch.ts';
import type { Fields } from './request-text.ts';
import type { Tries } from './retry-schedule.ts';

/** Counts the calls that have no answer yet. */
export class OpenCalls {
  #count = 0;
  #whenNone: (() => void) | null = null;

  began(): void {
    this.#count += 1;
  }

  ended(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#whenNone?.();
  }

  /** Calls `call` once every call is answered. */
  whenNone(call: () => void): void {
    if (this.#count === 0) call();
    else this.#whenNone = call;
  }
}

export class PendingCall implements Tries {
  /** The promise of the caller. */
  readonly answer: Promise<never>;
  readonly operation: Operation;
  readonly request: Record<string, unknown>;
  readonly lane: Lane;
  readonly requestId: string | undefined;
  /** The id generated so that the server recognises a retry; empty when the caller gave one or none is needed. */
  generatedId = '';
  /** The token in the request was generated for this call alone. */
  isTokenOwn = false;
  failures = 0;
  sinceMs = 0;
  wasLate = false;
  /** When its first attempt was sent; below, its newest. */
  startedMs: number | null = null;
  sentMs = 0;
  /** An attempt with a lost answer may have taken effect. */
  isUncertain = false;
  /** The caller has its answer, or has given up. */
  isSettled = false;
  /** Ends its HTTP request, or its wait on a live connection. */
  ending: { abort(reason: unknown): void } | null = null;
  #unlisten: (() => void) | null = null;
  readonly #open: OpenCalls;
  #resolve!: (reply: never) => void;
  #reject!: (fault: unknown) => void;

  constructor(
    operation: Operation,
    request: Record<string, unknown>,
    lane: Lane,
    requestId: string | undefined,
    open: OpenCalls,
  ) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.operation = operation;
    this.request = request;
    this.lane = lane;
    this.requestId = requestId;
    this.#open = open;
    open.began();
  }

  /** The possible effect of the call. */
  get effect(): Effect {
    return this.isUncertain ? 'unknown' : 'none';
  }

  /** The fields of an attempt sent now, with the rest of its wait. */
  fieldsAt(nowMs: number): { readonly waitMs: number; readonly fields: Fields } {
    const { request } = this;
    this.startedMs ??= nowMs;
    this.sentMs = nowMs;
    if (typeof request.wait_ms !== 'number') return { waitMs: 0, fields: request };
    const waitMs = Math.max(0, request.wait_ms - Math.floor(nowMs - this.startedMs));
    return { waitMs: Math.min(waitMs, LIMITS.waitMaxMs), fields: { ...request, wait_ms: waitMs } };
  }

  /** Rejects with the signal's reason once it aborts, and ends the request if the call has one of its own. */
  endsWith(signal: AbortSignal, watch: AbortWatch): void {
    this.#unlisten = watch.watch(signal, (reason) => {
      this.reject(reason);
      this.ending?.abort(reason);
    });
  }

  resolve(reply: object): void {
    if (this.isSettled) return;
    this.#settle();
    this.#resolve(reply as never);
  }

  reject(fault: unknown): void {
    if (this.isSettled) return;
    this.#settle();
    this.#reject(fault);
  }

  #settle(): void {
    this.isSettled = true;
    this.#unlisten?.();
    this.#open.ended();
  }
}

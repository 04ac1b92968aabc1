/**
 * One grant held by the client: the names, the token that renews and releases them, the deadline, and how it was lost,
 * if it was. It decides nothing: `lease-renewal.ts` decides when it is renewed and when it is over. The token is a
 * `#private` field, so nothing that prints objects can print it.
 */

import { LeaseholdError, type Loss } from '../protocol/leasehold-error.ts';
import type { Problem } from '../protocol/problem.ts';
import type { Deadline } from '../seams/deadline.ts';
import type { Due } from './lease-heap.ts';
import { LeaseLostError, type LossDetails } from './lease-loss.ts';
import type { LeaseSpan } from './traces.ts';
import type { Transport } from './transport.ts';

/** Renewals never queue behind other requests of this client. */
const AS_RENEWAL = { isRenewal: true } as const;

export type RenewalAnswer =
  | { readonly ok: true; readonly remainingMs: number }
  | { readonly ok: false; readonly name: string; readonly problem: Problem };

export interface GrantTerms {
  /** Acquired together, in one log entry, so they share one fencing number. */
  readonly names: readonly string[];
  readonly holder: string;
  readonly token: string;
  readonly leaseSeq: number;
  readonly ttlMs: number;
  readonly deadline: Deadline;
  /** The first failed renewal loses the lease: for guards, which fail closed. */
  readonly isStrict?: boolean;
}

export class Grant implements Due {
  readonly names: readonly string[];
  readonly holder: string;
  readonly leaseSeq: number;
  readonly isStrict: boolean;
  ttlMs: number;
  deadline: Deadline;
  /** Called with every new deadline. */
  onDeadline: ((deadline: Deadline) => void) | null = null;
  /** How it ended; null while it is held. */
  ended: Loss | null = null;
  /** How many task completions present this lease. A release waits until all of them are answered. */
  lent = 0;
  /** A release is waiting until `lent` is 0. */
  isReturned = false;
  /** The tracing span of the lease, if the program uses tracing. */
  span: LeaseSpan | null = null;
  /** A refusal whose reason is still being determined; the lease must not be relied on. */
  refusal: Problem | null = null;

  /** When the renewal must handle this grant at the latest. */
  dueMs = 0;
  place = -1;
  /** From when on it may be renewed together with others that are due. */
  opensMs = 0;
  /** Renewals without an answer yet. */
  unanswered = 0;
  /** Why the newest renewal failed; null once one has succeeded. */
  fault: LeaseholdError | null = null;

  readonly #transport: Transport;
  readonly #token: string;
  #why: LossDetails = {};
  #loss: LeaseLostError | null = null;
  #controller: AbortController | null = null;
  #asked: AbortController | null = null;
  #askedBy: LeaseholdError | null = null;

  constructor(transport: Transport, terms: GrantTerms) {
    this.#transport = transport;
    this.#token = terms.token;
    this.names = terms.names;
    this.holder = terms.holder;
    this.leaseSeq = terms.leaseSeq;
    this.isStrict = terms.isStrict ?? false;
    this.ttlMs = terms.ttlMs;
    this.deadline = terms.deadline;
  }

  /** Created on first use: of a hundred thousand leases, few have a listener. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      this.#abortSignal();
    }
    return this.#controller.signal;
  }

  /** The error that says how it was lost; null while it is held. Created on first use: a release needs none. */
  get loss(): LeaseLostError | null {
    const { ended: loss, leaseSeq, names } = this;
    if (loss !== null) this.#loss ??= new LeaseLostError({ loss, leaseSeq, names }, this.#why);
    return this.#loss;
  }

  /** The first end counts. */
  end(loss: Loss, why: LossDetails = {}): void {
    if (this.ended !== null) return;
    this.ended = loss;
    this.#why = why;
    this.span?.end(loss);
    this.#abortSignal();
  }

  /** Aborts the first time another caller asks the holder to give way. */
  get asked(): AbortSignal {
    this.#asked ??= new AbortController();
    if (this.#askedBy !== null) this.#asked.abort(this.#askedBy);
    return this.#asked.signal;
  }

  ask(reason: string): void {
    const { names, leaseSeq } = this;
    const details = { names, leaseSeq, reason };
    const message = `The holder of "${names[0]}" is asked to give way: ${reason}`;
    this.#askedBy ??= new LeaseholdError('LEASE_ASKED', message, { details });
    this.#asked?.abort(this.#askedBy);
  }

  /** Aborts the signal, except for a release: work begun under the lease may finish. */
  #abortSignal(): void {
    if (this.ended !== null && this.ended !== 'released') this.#controller?.abort(this.loss);
  }

  /** Sends one renewal for every name, all before this returns. */
  async askRenewal(ttlMs: number, signal?: AbortSignal): Promise<RenewalAnswer> {
    const { holder } = this;
    const token = this.#token;
    const options = signal === undefined ? AS_RENEWAL : { ...AS_RENEWAL, signal };
    const replies = await Promise.all(
      this.names.map((name) =>
        this.#transport.call('lease.renew', { name, holder, token, ttl_ms: ttlMs }, options),
      ),
    );
    let remainingMs = Number.POSITIVE_INFINITY;
    let refused: Extract<RenewalAnswer, { ok: false }> | null = null;
    for (const [index, reply] of replies.entries()) {
      if (reply.ok) remainingMs = Math.min(remainingMs, reply.remaining_ms);
      else if (refused === null || isVerdict(reply)) {
        refused = { ok: false, name: this.names[index]!, problem: reply };
      }
    }
    return refused ?? { ok: true, remainingMs };
  }

  /** Releases every name. True if this call released all of them. */
  async askRelease(): Promise<boolean> {
    const { holder } = this;
    const token = this.#token;
    const replies = await Promise.all(
      this.names.map((name) => this.#transport.call('lease.release', { name, holder, token })),
    );
    let isReleased = true;
    for (const reply of replies) {
      if (!reply.ok) throw LeaseholdError.of(reply);
      isReleased &&= reply.released;
    }
    return isReleased;
  }
}

/** Whether a refused renewal means that the lease is over; any other refusal means only that it was not renewed. */
export function isVerdict({ code }: Problem): boolean {
  return code === 'LEASE_EXPIRED' || code === 'LEASE_NOT_HELD';
}

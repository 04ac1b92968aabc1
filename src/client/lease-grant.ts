/**
 * One grant as the client holds it: the names, the secret that renews and releases them, the deadline, and how it
 * was lost if it was. It decides nothing: `lease-renewal.ts` says when it is renewed and when it is over. The
 * token is a private field of the language, so nothing that prints objects can print it.
 */

import { LeaseholdError, type Loss } from '../protocol/leasehold-error.ts';
import type { Problem } from '../protocol/problem.ts';
import type { Deadline } from '../seams/deadline.ts';
import type { Due } from './lease-heap.ts';
import { LeaseLostError, type LossDetails } from './lease-loss.ts';
import type { LeaseSpan } from './traces.ts';
import type { Transport } from './transport.ts';

/** Renewals are not queued behind other requests of this client. */
const AS_RENEWAL = { isRenewal: true } as const;

export type RenewalAnswer =
  | { readonly ok: true; readonly remainingMs: number }
  | { readonly ok: false; readonly name: string; readonly problem: Problem };

export interface GrantTerms {
  /** Taken together, in one entry, so they share one fencing number. */
  readonly names: readonly string[];
  readonly holder: string;
  readonly token: string;
  readonly leaseSeq: number;
  readonly ttlMs: number;
  readonly deadline: Deadline;
  /** The first renewal that fails is the last: for guards, which fail closed. */
  readonly isStrict?: boolean;
}

export class Grant implements Due {
  readonly names: readonly string[];
  readonly holder: string;
  readonly leaseSeq: number;
  readonly isStrict: boolean;
  ttlMs: number;
  deadline: Deadline;
  /** Told of every new deadline. */
  onDeadline: ((deadline: Deadline) => void) | null = null;
  /** How it ended; null while it is held. */
  ended: Loss | null = null;
  /** How many completions of tasks rely on it; until they have their answer a release has to wait. */
  lent = 0;
  /** It is to be released once none does. */
  isReturned = false;
  /** The span of the lease, where the program traces it. */
  span: LeaseSpan | null = null;
  /** A refusal whose reason is still being determined; the lease must not be relied on. */
  refusal: Problem | null = null;

  /** The latest time at which the renewal must handle this grant. */
  dueMs = 0;
  place = -1;
  /** From when on it may go along with others that are due. */
  opensMs = 0;
  /** Renewals that were sent and not answered. */
  unanswered = 0;
  /** Why the newest renewal failed; null once one has got through. */
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

  /** Created on first use: of a hundred thousand leases few have a listener. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      this.#tell();
    }
    return this.#controller.signal;
  }

  /** The error that says how it was lost; null while it is held. Made on first use: a release needs none. */
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
    this.#tell();
  }

  /** Aborts when the holder is asked to give way, for the first time. */
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

  /** A release is not a loss: what was begun under it may be finished. */
  #tell(): void {
    if (this.ended !== null && this.ended !== 'released') this.#controller?.abort(this.loss);
  }

  /** One renewal for every name, all sent before this returns. */
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

  /** Whether every name was given back by this. */
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

/** Whether a refused renewal says that the lease is over; every other refusal says only that it was not renewed. */
export function isVerdict({ code }: Problem): boolean {
  return code === 'LEASE_EXPIRED' || code === 'LEASE_NOT_HELD';
}

/**
 * Acquires named leases: one, several at once, or around a function. Under contention `tryAcquire` returns null and the
 * others throw LEASE_HELD; every other failure is thrown. The client generates holder and token of every grant, so a
 * request with a lost reply can be retried. A grant that an abandoned request may still have received is released.
 */

import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { LIMITS } from '../protocol/limits.ts';
import type { Problem } from '../protocol/problem.ts';
import { Deadline, type Moment, momentOf } from '../seams/deadline.ts';
import { Backoff, isTransient } from './backoff.ts';
import { type Duration, durationMs } from './durations.ts';
import type { Lease, LeaseSet } from './held.ts';
import { Grant } from './lease-grant.ts';
import { LeaseHandle, LeaseSetHandle } from './lease-handle.ts';
import { LeaseLostError } from './lease-loss.ts';
import { LeaseRenewal } from './lease-renewal.ts';
import { sleep } from './sleep.ts';
import type { Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';
import type { ClientWorld } from './world.ts';

export interface LeaseOptions {
  /** How long the lease lasts without renewal; default '15s'. */
  readonly ttl?: Duration;
  /** How long to wait for the lease while another holder has it; default 0. */
  readonly wait?: Duration;
  /** The holder's name. By default each call is a separate holder, so that two callers exclude each other. */
  readonly holder?: string;
  /** The secret token of the grant, for callers that resume the same grant later. At least 128 random bits. */
  readonly token?: string;
  /** Any JSON value; visible to everyone who can read the lease. */
  readonly metadata?: unknown;
  /** Aborts the wait. */
  readonly signal?: AbortSignal;
}

/** What runs while a lease is held. */
export type LeasedWork<T> = (lease: Lease) => Promise<T> | T;

export const LEASE_OPTIONS: readonly string[] = ['ttl', 'wait', 'holder', 'token', 'metadata', 'signal'];

/** How many requests one call may send beyond those its wait time needs, so that it ends whatever the answers are. */
const TRIES_MORE = 4;

/** The parsed options. */
interface AcquireTerms {
  readonly names: readonly string[];
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly holder: string;
  /** The token of the newest request; grants under earlier tokens are over. */
  token: string;
  /** The token was generated for this call. */
  readonly isTokenOurs: boolean;
  /** The holder was generated for this call. */
  readonly isHolderOurs: boolean;
  readonly isStrict: boolean;
  readonly metadata: unknown;
  readonly signal: AbortSignal | undefined;
}

/** The fields that requests for one name and for several share. */
interface AcquireFields {
  holder: string;
  token: string;
  ttl_ms: number;
  wait_ms?: number;
  metadata?: unknown;
}

interface Won {
  readonly ok: true;
  readonly leaseSeq: number;
  readonly remainingMs: number;
  /** It had to wait, or repeats an earlier answer: the time of the request does not bound its age. */
  readonly isOld: boolean;
  /** The earliest moment of the grant by samples of the authority's clock; null when unknown. */
  readonly earliest: Moment | null;
}

export class NamedLeases {
  readonly #transport: Transport;
  readonly #world: ClientWorld;
  readonly renewal: LeaseRenewal;

  constructor(transport: Transport, world: ClientWorld) {
    this.#transport = transport;
    this.#world = world;
    this.renewal = new LeaseRenewal(transport, world);
  }

  async tryAcquire(name: string, options: LeaseOptions = {}): Promise<Lease | null> {
    const grant = await this.#take(this.#termsOf([name], options));
    if (grant instanceof Grant) return new LeaseHandle(this.#transport, this.renewal, grant);
    if (grant.code === 'LEASE_HELD') return null;
    throw LeaseholdError.of(grant);
  }

  async acquire(name: string, options: LeaseOptions = {}): Promise<LeaseHandle> {
    const grant = await this.#take(this.#termsOf([name], options));
    if (grant instanceof Grant) return new LeaseHandle(this.#transport, this.renewal, grant);
    throw refusalError([name], grant);
  }

  async acquireAll(names: readonly string[], options: LeaseOptions = {}): Promise<LeaseSet> {
    // A string would be taken for a list of its characters.
    if (!Array.isArray(names)) throw new TypeError('acquireAll takes a list of names.');
    return new LeaseSetHandle(this.#transport, this.renewal, await this.grant([...names], options));
  }

  /** A strict lease is lost with its first failed renewal. */
  async grant(names: readonly string[], options: LeaseOptions, isStrict = false): Promise<Grant> {
    const grant = await this.#take(this.#termsOf(names, options, isStrict));
    if (grant instanceof Grant) return grant;
    throw refusalError(names, grant);
  }

  async withLease<T>(name: string, options: LeaseOptions, work: LeasedWork<T>): Promise<T> {
    if (typeof work !== 'function') throw new TypeError('withLease takes a name, options and a function.');
    const grant = await this.grant([name], options);
    const lease = new LeaseHandle(this.#transport, this.renewal, grant);
    let value: T;
    try {
      value = await (grant.span === null ? work(lease) : grant.span.run(() => work(lease)));
    } catch (error) {
      const loss = await lease.finish().catch((fault: unknown) => {
        // If it is unknown how the lease ended, throw the error of the work.
        if (fault instanceof LeaseholdError) return null;
        throw fault;
      });
      throw lostError(loss, error) ?? error;
    }
    const loss = await lease.finish();
    if (loss !== null) throw loss;
    return value;
  }

  #termsOf(names: readonly string[], options: LeaseOptions, isStrict = false): AcquireTerms {
    checkOptions(options);
    const { holder, token, metadata, signal } = options;
    return {
      names,
      ttlMs: durationMs(options.ttl ?? '15s', 'ttl'),
      waitMs: durationMs(options.wait ?? 0, 'wait'),
      holder: holder ?? `${this.#world.label ?? 'client'}:${this.#world.newToken()}`,
      token: token ?? this.#world.newToken(),
      isTokenOurs: token === undefined,
      isHolderOurs: holder === undefined,
      isStrict,
      metadata,
      signal,
    };
  }

  /** The grant, which is renewed from now on, or the refusal. */
  async #take(terms: AcquireTerms): Promise<Grant | Problem> {
    const { signal } = terms;
    signal?.throwIfAborted();
    const { clock, timers } = this.#world;
    const untilMs = clock.monotonicMs() + terms.waitMs;
    const delay = new Backoff();
    for (;;) {
      try {
        return await this.#takeBy(untilMs, terms);
      } catch (fault) {
        const leftMs = untilMs - clock.monotonicMs();
        if (leftMs <= 0 || signal?.aborted === true || !isTransient(fault)) {
          // A caller who chose the token can request the same grant again, unless that caller gave up.
          if (terms.isTokenOurs || signal?.aborted === true) this.#giveBack(terms);
          throw fault;
        }
        // No server answers: wait and retry. A grant with a lost answer is found again by its token.
        await sleep(timers, Math.min(leftMs, delay.take()), signal);
      }
    }
  }

  async #takeBy(untilMs: number, terms: AcquireTerms): Promise<Grant | Problem> {
    const { clock, newToken } = this.#world;
    for (let more = TRIES_MORE; ; more--) {
      terms.signal?.throwIfAborted();
      const sent = momentOf(clock);
      const answer = await this.#ask(terms, this.#firstWaitMs(untilMs - sent.monotonicMs));
      const won = answer.ok ? answer : await this.#askInLine(terms, untilMs, answer);
      if (!won.ok) return won;
      const from = won.isOld ? won.earliest : sent;
      const isFresh = from !== null && !this.#isHalfOver(won, from);
      const grant = isFresh ? this.#keep(terms, won, from) : await this.#confirm(terms, won.leaseSeq);
      // A late reply may carry a lease that is already over.
      if (grant instanceof Grant) {
        this.renewal.assertHeld(grant);
        grant.span = this.#world.traces?.holding(grant) ?? null;
      } else if (terms.isTokenOurs && more > 0 && isOver(grant, terms)) {
        // The lease ended before its reply arrived; the caller keeps waiting.
        terms.token = newToken();
        continue;
      }
      return grant;
    }
  }

  /** Without clock samples the first request does not wait, to distinguish a grant that had to wait from one that had not. */
  #firstWaitMs(leftMs: number): number {
    const isLive = this.#transport.connection?.current.state === 'live';
    return isLive ? Math.min(Math.max(0, Math.floor(leftMs)), LIMITS.waitMaxMs) : 0;
  }

  /** Waits for the lease after a first refusal, in pieces as long as one request may wait. */
  async #askInLine(terms: AcquireTerms, untilMs: number, refusal: Problem): Promise<Won | Problem> {
    const { clock, newToken } = this.#world;
    let answer: Won | Problem = refusal;
    let more = Math.ceil(terms.waitMs / LIMITS.waitMaxMs) + TRIES_MORE;
    for (; !answer.ok && more > 0; more--) {
      const leftMs = Math.max(0, Math.floor(untilMs - clock.monotonicMs()));
      if (answer.code === 'LEASE_NOT_HELD' && terms.isTokenOurs && terms.isHolderOurs) {
        // Only this call knows the token, so the lease was granted, the connection broke, and the server released it.
        terms.token = newToken();
      } else if (answer.code !== 'LEASE_HELD' || leftMs === 0) break;
      answer = await this.#ask(terms, Math.min(leftMs, LIMITS.waitMaxMs));
    }
    return answer;
  }

  async #ask(terms: AcquireTerms, waitMs: number): Promise<Won | Problem> {
    const { names, holder, token, isTokenOurs, ttlMs, metadata, signal } = terms;
    const request: AcquireFields = { holder, token, ttl_ms: ttlMs };
    if (waitMs > 0) request.wait_ms = waitMs;
    if (metadata !== undefined) request.metadata = metadata;
    const options = signal === undefined ? undefined : { signal, isTokenOwn: isTokenOurs };
    const isOne = names.length === 1;
    const reply = isOne
      ? await this.#transport.call('lease.acquire', { name: names[0]!, ...request }, options)
      : await this.#transport.call('lease.acquire_all', { names: [...names], ...request }, options);
    if (!reply.ok) return reply;
    const granted = 'leases' in reply ? reply.leases : [reply];
    return {
      ok: true,
      leaseSeq: granted[0]!.lease_seq,
      remainingMs: Math.min(...granted.map((lease) => lease.remaining_ms)),
      isOld: waitMs > 0 || reply.duplicate === true,
      earliest: this.#earliestOf(reply),
    };
  }

  #earliestOf(reply: object): Moment | null {
    return this.#transport.earliestOf?.(reply) ?? null;
  }

  /** By the local clocks: a server that did not answer may have been asked before the one that granted it. */
  #isHalfOver({ remainingMs }: Won, sent: Moment): boolean {
    return 2 * new Deadline(sent, remainingMs).remainingMs(this.#world.clock) < remainingMs;
  }

  /** One renewal shows whether the grant is still held, and provides a moment to count from. */
  async #confirm(terms: AcquireTerms, leaseSeq: number): Promise<Grant | Problem> {
    const sent = momentOf(this.#world.clock);
    const grant = this.#grantOf(terms, leaseSeq, new Deadline(sent, 0));
    const answer = await grant.askRenewal(terms.ttlMs, terms.signal);
    // Checked before the grant is kept: once the caller has given up, nothing may renew it.
    terms.signal?.throwIfAborted();
    if (!answer.ok) {
      if (terms.isTokenOurs) this.#giveBack(terms);
      return answer.problem;
    }
    grant.deadline = new Deadline(sent, answer.remainingMs);
    this.renewal.keep(grant);
    return grant;
  }

  #keep(terms: AcquireTerms, { leaseSeq, remainingMs }: Won, sent: Moment): Grant {
    const grant = this.#grantOf(terms, leaseSeq, new Deadline(sent, remainingMs));
    this.renewal.keep(grant);
    return grant;
  }

  #grantOf(terms: AcquireTerms, leaseSeq: number, deadline: Deadline): Grant {
    const { names, holder, token, ttlMs, isStrict } = terms;
    return new Grant(this.#transport, { names, holder, token, leaseSeq, ttlMs, deadline, isStrict });
  }

  /** Releases the grant without awaiting it: if that fails, the grant expires. */
  #giveBack(terms: AcquireTerms): void {
    const grant = this.#grantOf(terms, 0, new Deadline(momentOf(this.#world.clock), terms.ttlMs));
    void this.renewal.release(grant);
  }
}

/**
 * Whether a grant was over before it was confirmed, and not superseded. Only another call with the same holder can
 * supersede it; a retry would take the lease back from that call.
 */
function isOver({ code }: Problem, { isHolderOurs }: AcquireTerms): boolean {
  return code === 'LEASE_EXPIRED' || (code === 'LEASE_NOT_HELD' && isHolderOurs);
}

function checkOptions(options: LeaseOptions): void {
  refuseUnknown(options, LEASE_OPTIONS, 'a lease');
  if (options.signal !== undefined && !(options.signal instanceof AbortSignal)) {
    throw new TypeError('The option signal must be an AbortSignal.');
  }
}

/** Reports the loss of the lease, with the error of the work as its cause. */
function lostError(loss: LeaseLostError | null, error: unknown): LeaseLostError | null {
  if (loss === null || loss === error) return loss;
  const { details, problem } = loss;
  return new LeaseLostError(details, { cause: error, ...(problem === null ? {} : { problem }) });
}

function refusalError(names: readonly string[], problem: Problem): LeaseholdError {
  const { code, holder, remaining_ms } = problem;
  if (code !== 'LEASE_HELD' || holder === undefined) return LeaseholdError.of(problem);
  // An older server does not say which of several.
  const name = names.length === 1 ? names[0] : problem.name;
  const which = name === undefined ? `One of ${names.length} leases` : `The lease on "${name}"`;
  const message = `${which} is held by ${holder}, for another ${remaining_ms ?? 0} ms unless it is renewed.`;
  return new LeaseholdError(code, message, { retryable: true, problem });
}

/**
 * Taking named leases for programs: alone, several at once, or around a function. Contention is a null of
 * `tryAcquire` and a LEASE_HELD of the others; whatever else goes wrong is thrown. The client
 * chooses holder and token of every grant, so a request whose reply was lost can be sent again. A grant that an
 * abandoned request may still have received is released.
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
  /** How long the lease lasts unless it is renewed; default '15s'. */
  readonly ttl?: Duration;
  /** How long to wait in line for it; default 0. */
  readonly wait?: Duration;
  /** Who takes it; unless given, every call is a holder of its own, so that two callers exclude each other. */
  readonly holder?: string;
  /** The secret of the grant, for callers that resume the same grant later. At least 128 random bits. */
  readonly token?: string;
  /** Any JSON; visible to every reader of the lease. */
  readonly metadata?: unknown;
  /** Gives up waiting. */
  readonly signal?: AbortSignal;
}

/** What runs while a lease is held. */
export type LeasedWork<T> = (lease: Lease) => Promise<T> | T;

export const LEASE_OPTIONS: readonly string[] = ['ttl', 'wait', 'holder', 'token', 'metadata', 'signal'];

/** How many requests more than its time is worth one call may cost, so that it ends whatever the answers are. */
const TRIES_MORE = 4;

/** The options, read. */
interface AcquireTerms {
  readonly names: readonly string[];
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly holder: string;
  /** Of the newest request; what was granted under an older one is over. */
  token: string;
  /** The token was generated for this call and is known to no other. */
  readonly isTokenOurs: boolean;
  /** The holder was generated for this call and is used by no other. */
  readonly isHolderOurs: boolean;
  readonly isStrict: boolean;
  readonly metadata: unknown;
  readonly signal: AbortSignal | undefined;
}

/** What requests for one name and for several have in common. */
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
  /** It stood in line, or repeats an earlier answer: its age is not told by when it was asked for. */
  readonly isOld: boolean;
  /** When it was granted, at the earliest, by samples of the authority's clock; null when they do not tell. */
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
    // A text would be taken for a list of its letters.
    if (!Array.isArray(names)) throw new TypeError('acquireAll takes a list of names.');
    return new LeaseSetHandle(this.#transport, this.renewal, await this.grant([...names], options));
  }

  /** A strict one does not outlive its first failed renewal. */
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
        // If the end of the lease cannot be determined, throw the error of the work.
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

  /** The grant, kept alive from here on, or the refusal. */
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
          // A caller who chose the token can ask for the same grant again, unless it was the caller who gave up.
          if (terms.isTokenOurs || signal?.aborted === true) this.#giveBack(terms);
          throw fault;
        }
        // No server answers: that is waited for too. What one may have granted is found again by its token.
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
      // A reply that came too late brings a lease that must not be relied on.
      if (grant instanceof Grant) {
        this.renewal.assertHeld(grant);
        grant.span = this.#world.traces?.holding(grant) ?? null;
      } else if (terms.isTokenOurs && more > 0 && isOver(grant, terms)) {
        // It was granted and ended before the reply arrived; the caller continues to wait.
        terms.token = newToken();
        continue;
      }
      return grant;
    }
  }

  /** Where no samples tell the age of a grant, first without waiting: that tells a grant that had to wait from one that had not. */
  #firstWaitMs(leftMs: number): number {
    const isLive = this.#transport.connection?.current.state === 'live';
    return isLive ? Math.min(Math.max(0, Math.floor(leftMs)), LIMITS.waitMaxMs) : 0;
  }

  /** After a first refusal: in line, in as many pieces as the longest wait of one request makes of it. */
  async #askInLine(terms: AcquireTerms, untilMs: number, refusal: Problem): Promise<Won | Problem> {
    const { clock, newToken } = this.#world;
    let answer: Won | Problem = refusal;
    let more = Math.ceil(terms.waitMs / LIMITS.waitMaxMs) + TRIES_MORE;
    for (; !answer.ok && more > 0; more--) {
      const leftMs = Math.max(0, Math.floor(untilMs - clock.monotonicMs()));
      if (answer.code === 'LEASE_NOT_HELD' && terms.isTokenOurs && terms.isHolderOurs) {
        // Only this call knows the token: the lease was granted, the connection broke, and the server took it back.
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

  /** By our own count; a server that said nothing may have been asked before the one that granted it. */
  #isHalfOver({ remainingMs }: Won, sent: Moment): boolean {
    return 2 * new Deadline(sent, remainingMs).remainingMs(this.#world.clock) < remainingMs;
  }

  /** One renewal tells whether the grant is still ours, and gives a moment to count from. */
  async #confirm(terms: AcquireTerms, leaseSeq: number): Promise<Grant | Problem> {
    const sent = momentOf(this.#world.clock);
    const grant = this.#grantOf(terms, leaseSeq, new Deadline(sent, 0));
    const answer = await grant.askRenewal(terms.ttlMs, terms.signal);
    // Before it is kept: a caller that has given up does not hold it, so nothing may renew it.
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

  /** Not awaited: if the release fails, the grant expires by itself. */
  #giveBack(terms: AcquireTerms): void {
    const grant = this.#grantOf(terms, 0, new Deadline(momentOf(this.#world.clock), terms.ttlMs));
    void this.renewal.release(grant);
  }
}

/**
 * Whether a grant was over when it was to be confirmed, and not superseded: that only another with the same holder can
 * have done, from whom it must not be taken back.
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

/** When the lease was lost, that is what is told; what the work itself failed with goes along as its cause. */
function lostError(loss: LeaseLostError | null, error: unknown): LeaseLostError | null {
  if (loss === null || loss === error) return loss;
  const { details, problem } = loss;
  return new LeaseLostError(details, { cause: error, ...(problem === null ? {} : { problem }) });
}

function refusalError(names: readonly string[], problem: Problem): LeaseholdError {
  const { code, holder, remaining_ms } = problem;
  if (code !== 'LEASE_HELD' || holder === undefined) return LeaseholdError.of(problem);
  const which = names.length === 1 ? `The lease on "${names[0]}"` : `One of ${names.length} leases`;
  const message = `${which} is held by ${holder}, for another ${remaining_ms ?? 0} ms unless it is renewed.`;
  return new LeaseholdError(code, message, { retryable: true, problem });
}

/**
 * A lease of migration 019 held by a program. It is renewed after a third of its TTL by the renew function, never by
 * acquiring again, so token and number stay the same.
 *
 *   held ──renewed──▶ held        a failed renewal is retried until the deadline
 *    │ ├─ NULL ─▶ lost            it expired or was granted again: final
 *    │ └─ its deadline passes ─▶ lost
 *    └─ released                  once; a second release does nothing
 *
 * It needs no session state: every statement may use another connection, for example from a pooler.
 */
import { type Duration, durationMs } from '../client/durations.ts';
import type { Held } from '../client/held.ts';
import type { ErrorDetails, Loss } from '../protocol/leasehold-error.ts';
import { isNameText } from '../protocol/texts.ts';
import type { Timer } from '../seams/clock.ts';
import { Deadline, type Moment, momentOf } from '../seams/deadline.ts';
import { IN_FAILED_TRANSACTION, type Queryable } from './database.ts';
import { isLostRace, isTransient, RuntimeLeaseError } from './error.ts';
import { type LeaseWorld, pause } from './lease-world.ts';

export interface RuntimeLeaseOptions {
  readonly name: string;
  /** The holder. If the same holder acquires again, the older grant is lost: give every run its own. */
  readonly holder: string;
  /** How long it lasts without a renewal: '10ms' to '30d'. Also how long others wait when this process dies. */
  readonly ttl?: Duration;
  /** @deprecated since 0.2, gone in 0.3: `ttl`. */
  readonly ttlSeconds?: number;
}

/** The parsed options. */
interface Terms {
  readonly name: string;
  readonly holder: string;
  readonly ttlMs: number;
}

const TTL_MIN_MS = 10;
const TTL_MAX_MS = 2_592_000_000;
const DEFAULT_TTL = '15s';
/** The limit for a release that fails or is not answered, however long the lease lasts. */
const RELEASE_MS = 10_000;
/** How often an acquisition is retried after a serialization failure or deadlock. */
const TRIES_MAX = 20;
/** A lease that was renewed within this share of its TTL is not renewed again. */
const FRESH_SHARE = 1 / 20;
/** The deadline is checked at least this often, which bounds how late a wall-clock jump is noticed. */
const WATCH_MS = 1_000;

const GRANT = `token::text AS token, lease_seq::text AS lease_seq,
  (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::float8 AS remaining_ms`;
const ACQUIRE = `SELECT ${GRANT} FROM fn_dot_iu_runtime_lease_acquire($1, $2, $3)`;
const RENEW = `SELECT ${GRANT} FROM fn_dot_iu_runtime_lease_renew($1, $2, $3, $4)`;
const RELEASE = 'SELECT fn_dot_iu_runtime_lease_release($1, $2, $3) AS released';
const WHO = 'SELECT lease_holder FROM dot_iu_runtime_lease WHERE lease_name = $1';

interface GrantRow {
  readonly token: string | null;
  readonly lease_seq: string;
  readonly remaining_ms: number | string;
}

export interface Grant {
  readonly token: string;
  readonly leaseSeq: number;
  readonly deadline: Deadline;
}

export class RuntimeLease implements Held, AsyncDisposable {
  readonly name: string;
  readonly holder: string;
  /** The secret of this grant. It is needed to renew and release the lease. */
  readonly token: string;
  /** The fencing number: higher than that of every earlier holder. */
  readonly leaseSeq: number;
  private readonly db: Queryable;
  private readonly world: LeaseWorld;
  private readonly ttlMs: number;
  private readonly ending = new AbortController();
  private deadline: Deadline;
  private fault: unknown;
  private renewal: Timer | null = null;
  /** Callers waiting for the answer to a renewal. */
  private readonly waiting = new Set<() => void>();
  private watch: Timer | null = null;
  private isReleased = false;

  protected constructor(db: Queryable, terms: Terms, world: LeaseWorld, grant: Grant) {
    this.db = db;
    this.world = world;
    this.name = terms.name;
    this.holder = terms.holder;
    this.ttlMs = terms.ttlMs;
    this.token = grant.token;
    this.leaseSeq = grant.leaseSeq;
    this.deadline = grant.deadline;
    this.planRenewal(this.ttlMs / 3);
    this.watchDeadline();
  }

  /** Takes the lease, or throws a `RuntimeLeaseError` when another holder has it. */
  static async acquire(
    db: Queryable,
    options: RuntimeLeaseOptions,
    world: LeaseWorld,
  ): Promise<RuntimeLease> {
    const terms = termsOf(options);
    const grant = await granted(db, terms, world);
    if (grant === null) throw await heldError(db, terms.name);
    return new this(db, terms, world, grant);
  }

  /** Aborts when the lease is lost, with the `RuntimeLeaseError` as its reason; not when it is released. */
  get signal(): AbortSignal {
    return this.ending.signal;
  }

  /** Whether it is held, by the clocks and not by timers, which may be late. */
  get isHeld(): boolean {
    if (this.isReleased || this.signal.aborted) return false;
    if (this.remainingMs <= 0) this.runOut();
    return !this.signal.aborted;
  }

  /** Throws unless the lease is held now; correct after a blocked event loop too. */
  get assertHeld(): () => void {
    return () => {
      if (this.isHeld) return;
      if (this.signal.aborted) throw this.signal.reason;
      throw this.lossOf('released', 'has been released');
    };
  }

  get remaining(): () => number {
    return () => this.remainingMs;
  }

  /** @deprecated since 0.2, gone in 0.3: `remaining()`. */
  get remainingMs(): number {
    if (this.isReleased || this.signal.aborted) return 0;
    return Math.max(0, Math.floor(this.deadline.remainingMs(this.world.clock)));
  }

  get extend(): (atLeast: Duration) => Promise<void> {
    return async (atLeast) => {
      this.assertHeld();
      await this.renew(durationMs(atLeast, 'time'));
      this.assertHeld();
      if (this.fault !== undefined) throw this.fault;
    };
  }

  /**
   * Releases it, lost or not: a lost lease may still have its row. True when this call ended it; false when it was
   * over, was released before, or the database could not be reached, in which case it expires.
   */
  get release(): () => Promise<boolean> {
    return async () => {
      if (this.isReleased) return false;
      this.isReleased = true;
      this.stopTimers();
      const { timers } = this.world;
      const hold = timers.hold();
      let limit: Timer | undefined;
      const unanswered = new Promise<boolean>((resolve) => {
        limit = timers.after(RELEASE_MS, () => resolve(false));
      });
      return Promise.race([this.giveBack(), unanswered]).finally(() => {
        limit?.cancel();
        hold.cancel();
      });
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** Retries until it is answered or no longer makes sense. */
  private async giveBack(): Promise<boolean> {
    const { clock } = this.world;
    const untilMs = clock.monotonicMs() + Math.min(this.ttlMs, RELEASE_MS);
    for (;;) {
      try {
        const { rows } = await this.db.query(RELEASE, [this.name, this.holder, this.token]);
        return (rows[0] as { readonly released: boolean }).released;
      } catch (fault) {
        if (!isTransient(fault)) throw fault;
        if (clock.monotonicMs() + this.retryMs >= untilMs) return false;
      }
      await pause(this.world, this.retryMs);
    }
  }

  /** The delay before a failed renewal is retried: several times before the deadline, without flooding. */
  private get retryMs(): number {
    return Math.min(Math.max(this.ttlMs / 15, 10), 2_000);
  }

  private get isEnded(): boolean {
    return this.isReleased || this.signal.aborted;
  }

  private planRenewal(ms: number): void {
    this.renewal?.cancel();
    this.renewal = this.world.timers.after(ms, () => {
      // The next renewal is planned before this one is sent, in case this one is never answered.
      this.planRenewal(this.ttlMs / 3);
      void this.sendRenewal();
    });
  }

  private async sendRenewal(): Promise<void> {
    await this.renew(this.ttlMs);
    for (const go of [...this.waiting]) go();
  }

  /**
   * For use before something that blocks renewals, such as a lock on the row: renews if a good part of the TTL has
   * passed, and waits for this renewal or one in flight. Never rejects; the caller checks whether the lease is held.
   */
  async freshen(): Promise<void> {
    const goneMs = this.world.clock.monotonicMs() - this.deadline.sentMs;
    if (this.isEnded || goneMs < this.ttlMs * FRESH_SHARE) return;
    const { signal, waiting } = this;
    await new Promise<void>((resolve) => {
      const go = (): void => {
        signal.removeEventListener('abort', go);
        waiting.delete(go);
        resolve();
      };
      signal.addEventListener('abort', go);
      waiting.add(go);
      void this.sendRenewal();
    });
  }

  /** Never rejects: a failure is recorded and retried. */
  private async renew(ttlMs: number): Promise<void> {
    const sent = momentOf(this.world.clock);
    let grant: Grant | null;
    try {
      const values = [this.name, this.holder, this.token, ttlMs / 1_000];
      grant = grantIn((await this.db.query(RENEW, values)).rows, sent);
    } catch (fault) {
      this.fault = fault;
      if (this.isHeld) this.planRenewal(this.retryMs);
      return;
    }
    if (!this.isHeld) return;
    if (grant === null) {
      // By our own clocks it has not expired.
      this.lose('superseded', 'is over: it expired, was granted again to its holder, or was removed');
      return;
    }
    this.fault = undefined;
    // Answers may arrive out of order. The statement sent last counts.
    if (sent.monotonicMs >= this.deadline.sentMs) this.deadline = grant.deadline;
  }

  private watchDeadline(): void {
    const remainingMs = this.deadline.remainingMs(this.world.clock);
    this.watch = this.world.timers.after(Math.min(Math.max(1, Math.ceil(remainingMs)), WATCH_MS), () => {
      if (this.isHeld) this.watchDeadline();
    });
  }

  private runOut(): void {
    this.lose(
      this.fault === undefined ? 'expired' : 'unreachable',
      'could not be renewed in time',
      this.fault,
    );
  }

  private lose(loss: Loss, how: string, cause?: unknown): void {
    if (this.isEnded) return;
    this.stopTimers();
    this.ending.abort(this.lossOf(loss, how, cause));
  }

  private lossOf(loss: Loss, how: string, cause?: unknown): RuntimeLeaseError {
    return lostError(this, loss, how, cause);
  }

  private stopTimers(): void {
    this.renewal?.cancel();
    this.watch?.cancel();
  }
}

/**
 * Runs the function under the lease and releases the lease in every case. Throws if the lease was lost meanwhile,
 * even if the function did not notice: its result was not protected to the end.
 */
export async function runUnder<L extends RuntimeLease, T>(
  acquired: Promise<L>,
  work: (lease: L) => Promise<T>,
): Promise<T> {
  const lease = await acquired;
  let result: T;
  try {
    result = await work(lease);
    if (!lease.isHeld) lease.signal.throwIfAborted();
  } catch (fault) {
    // A lease that cannot be released expires. The error of the work says more.
    await lease.release().catch(() => false);
    throw fault;
  }
  await lease.release();
  return result;
}

export function lostError(
  { name, leaseSeq }: Pick<RuntimeLease, 'name' | 'leaseSeq'>,
  loss: Loss,
  how: string,
  cause?: unknown,
): RuntimeLeaseError {
  const details: ErrorDetails['LEASE_LOST'] = { loss, leaseSeq, names: [name] };
  return new RuntimeLeaseError('LEASE_LOST', `The lease on "${name}" ${how}.`, { cause, details });
}

const NAME_RULE = '1 to 256 bytes of printable text in NFC';
const isName = (text: unknown): text is string => typeof text === 'string' && isNameText(text);

function termsOf({ name, holder, ttl, ttlSeconds }: RuntimeLeaseOptions): Terms {
  const wrong = (says: string): RuntimeLeaseError => new RuntimeLeaseError('INVALID_ARGUMENT', says);
  if (!isName(name)) throw wrong(`A lease needs a name of ${NAME_RULE}.`);
  if (!isName(holder) || holder.trim() === '') throw wrong(`A lease needs a holder of ${NAME_RULE}.`);
  const ttlMs =
    ttl === undefined && ttlSeconds !== undefined
      ? ttlSeconds * 1_000
      : durationMs(ttl ?? DEFAULT_TTL, 'ttl');
  if (!(ttlMs >= TTL_MIN_MS && ttlMs <= TTL_MAX_MS)) {
    throw wrong(`A ttl is 10ms to 30d, and this is ${String(ttl ?? `${ttlSeconds} s`)}.`);
  }
  return { name, holder, ttlMs };
}

/**
 * Null when another holder has it. Above READ COMMITTED the database may abort the statement in favour of another.
 */
async function granted(
  db: Queryable,
  { name, holder, ttlMs }: Terms,
  world: LeaseWorld,
): Promise<Grant | null> {
  let lostRace: unknown = null;
  for (let left = TRIES_MAX - 1; ; left--) {
    const sent = momentOf(world.clock);
    try {
      return grantIn((await db.query(ACQUIRE, [name, holder, ttlMs / 1_000])).rows, sent);
    } catch (fault) {
      // In a caller's transaction nothing can be retried. The caller must get the original error.
      if (lostRace !== null && (fault as { code?: string }).code === IN_FAILED_TRANSACTION) throw lostRace;
      if (left === 0 || !isLostRace(fault)) throw fault;
      lostRace = fault;
    }
  }
}

function grantIn(rows: readonly unknown[], sent: Moment): Grant | null {
  const { token, lease_seq, remaining_ms } = rows[0] as GrantRow;
  if (token === null) return null;
  const leaseSeq = Number(lease_seq);
  if (!Number.isSafeInteger(leaseSeq)) throw new Error(`The fencing number ${lease_seq} does not fit.`);
  return { token, leaseSeq, deadline: new Deadline(sent, Number(remaining_ms)) };
}

async function heldError(db: Queryable, name: string): Promise<RuntimeLeaseError> {
  const { rows } = await db.query(WHO, [name]);
  const [held] = rows as readonly { readonly lease_holder: string }[];
  const holder = held?.lease_holder ?? null;
  const by = holder === null ? 'a holder that has just released it' : `"${holder}"`;
  return new RuntimeLeaseError('LEASE_HELD', `The lease on "${name}" is held by ${by}: do not run.`, {
    holder,
  });
}

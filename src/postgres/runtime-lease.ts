/**
 * A lease of migration 019 in the hands of a program. It is renewed when a third of its time has passed, by the renew
 * function and never by acquiring again, so token and number stay what they are.
 *
 *   held ──renewed──▶ held        a renewal that fails is tried again until the deadline
 *    │ ├─ NULL ─▶ lost            it is over, or granted anew: nothing brings it back
 *    │ └─ its deadline passes ─▶ lost
 *    └─ released                  once; a second release is harmless
 *
 * It needs nothing of a session: every statement may have a connection of its own, or one from a pooler.
 */
import { type Duration, durationMs } from '../client/durations.ts';
import type { ErrorDetails, Loss } from '../client/error.ts';
import type { Held } from '../client/held.ts';
import { isNameText } from '../protocol/texts.ts';
import type { Timer } from '../seams/clock.ts';
import { Deadline, type Moment, momentOf } from '../seams/deadline.ts';
import { IN_FAILED_TRANSACTION, type Queryable } from './database.ts';
import { isLostRace, isPassing, RuntimeLeaseError } from './error.ts';
import { type LeaseWorld, pause } from './lease-world.ts';

export interface RuntimeLeaseOptions {
  readonly name: string;
  /** Who holds it. The same holder may acquire again, and the older grant is lost: give every run its own. */
  readonly holder: string;
  /** How long it lasts without a renewal: '10ms' to '30d'. Also how long others wait when this process dies. */
  readonly ttl?: Duration;
  /** @deprecated since 0.2, gone in 0.3: `ttl`. */
  readonly ttlSeconds?: number;
}

/** The options, read. */
interface Terms {
  readonly name: string;
  readonly holder: string;
  readonly ttlMs: number;
}

const TTL_MIN_MS = 10;
const TTL_MAX_MS = 2_592_000_000;
const DEFAULT_TTL = '15s';
/** However long the lease lasts, nobody waits longer than this for a release that fails or is not answered. */
const RELEASE_MS = 10_000;
/** How often an acquisition is sent that the database gave up because of others at the same time. */
const TRIES_MAX = 20;
/** Of a lease that was renewed this share of its time ago, nothing more is asked. */
const FRESH_SHARE = 1 / 20;
/** The deadline is looked at this often at least: a wall clock that jumped is noticed within that time. */
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
  /** The secret of this grant: whoever has it can renew and release the lease. */
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
  /** Who waits for the answer to any renewal. */
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

  /** Takes the lease, or throws a `RuntimeLeaseError` because somebody else holds it. */
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

  /** Whether it is held, by the clocks and not by what timers had the time to find out. */
  get isHeld(): boolean {
    if (this.isReleased || this.signal.aborted) return false;
    if (this.remainingMs <= 0) this.runOut();
    return !this.signal.aborted;
  }

  /** Throws unless the lease is held at this very moment; true after a blocked event loop too. */
  get assertHeld(): () => void {
    return () => {
      if (this.isHeld) return;
      if (this.signal.aborted) throw this.signal.reason;
      throw this.lossOf('released', 'has been given back');
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
   * Gives it back, lost or not: what we no longer rely on may still have its row. True when this call ended it; false
   * when it was over, was released before, or the database could not be reached, in which case it runs out by itself.
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

  /** Asks until it is answered, or there is no sense in it any more. */
  private async giveBack(): Promise<boolean> {
    const { clock } = this.world;
    const untilMs = clock.monotonicMs() + Math.min(this.ttlMs, RELEASE_MS);
    for (;;) {
      try {
        const { rows } = await this.db.query(RELEASE, [this.name, this.holder, this.token]);
        return (rows[0] as { readonly released: boolean }).released;
      } catch (fault) {
        if (!isPassing(fault)) throw fault;
        if (clock.monotonicMs() + this.retryMs >= untilMs) return false;
      }
      await pause(this.world, this.retryMs);
    }
  }

  /** How soon after a failed renewal the next is tried: several times before the deadline, and not in a storm. */
  private get retryMs(): number {
    return Math.min(Math.max(this.ttlMs / 15, 10), 2_000);
  }

  private get isEnded(): boolean {
    return this.isReleased || this.signal.aborted;
  }

  private planRenewal(ms: number): void {
    this.renewal?.cancel();
    this.renewal = this.world.timers.after(ms, () => {
      // A renewal that is not answered must not be the last one: the next is planned before this one is sent.
      this.planRenewal(this.ttlMs / 3);
      void this.sendRenewal();
    });
  }

  private async sendRenewal(): Promise<void> {
    await this.renew(this.ttlMs);
    for (const go of [...this.waiting]) go();
  }

  /**
   * Before something that keeps renewals out, such as a lock on the row: renews when a good part of the time is over, and
   * waits for the answer, or for that to one that was sent before. Never rejects; whether the lease is held is for the
   * caller to see.
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

  /** Never rejects: what fails is noted and tried again. */
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
      // By our own clocks it has not run out.
      this.lose('superseded', 'is over: it ran out, was granted again to its holder, or was removed');
      return;
    }
    this.fault = undefined;
    // Answers may overtake each other; the statement sent last says most.
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
 * Runs the function under the lease and gives the lease back whatever happens. A lease that was lost on the way is
 * thrown even when the function did not notice: its result was not protected to the end.
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
    // The lease runs out by itself when it cannot be given back; what the work failed with says more.
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

/** Null when somebody else holds it. At a stricter level than READ COMMITTED the database may give up a statement for another. */
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
      // In a transaction of the caller's nothing can be sent again, and why it failed is for the caller to hear.
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
  const by = holder === null ? 'somebody who has just given it back' : `"${holder}"`;
  return new RuntimeLeaseError('LEASE_HELD', `The lease on "${name}" is held by ${by}: do not run.`, {
    holder,
  });
}

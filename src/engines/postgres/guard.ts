/**
 * The guard: one row that says which process may write. It elects the leader. The epoch, raised in the same
 * statement, fences an older writer out, because every append checks it.
 *
 *   released, or not renewed for a TTL ──take──▶ ours ──renew, every heartbeat──▶ ours ──release──▶ released
 *                                                  └── first renewal that fails, or is unanswered when the next
 *                                                      is due, or a suspended machine ──▶ lost
 *
 * Clocks of different machines are never compared. The holder counts the TTL from before it sent its last renewal, by
 * its own clocks. Others count it from when they saw that renewal (`guard-watch.ts`), by theirs, and take the guard
 * only in the state they saw: `row` is the guard as one text that every renewal changes. `expires_at` is the holder's
 * time plus its TTL, so a process that sees a renewal also learns the holder's time.
 *
 * One statement takes the guard: a process that stops half-way leaves no lock behind.
 */

import type { GuardWorld, Reading, SqlConnection } from '../../seams/database.ts';
import { LogClosedError } from '../log.ts';
import { DATABASE_MS, type DatabaseClock } from './database-clock.ts';
import type { SleepWatch } from './sleep-watch.ts';
import type { Tables } from './tables.ts';

export interface GuardOptions {
  readonly world: GuardWorld;
  readonly tables: Tables;
  readonly holder: string;
  /** The address of the holder for clients. */
  readonly url: string;
  readonly ttlMs: number;
  readonly heartbeatMs: number;
}

/** Why the guard is lost. */
export const SLEPT = 'The machine was suspended, and its clock stood still';

const MARGIN = 1 / 10;
const MARGIN_MS_MAX = 1_000;

/** The holder stops relying on the guard this much earlier, and others wait this much longer: clocks drift. */
export const guardMarginMs = (ttlMs: number): number => Math.min(MARGIN_MS_MAX, ttlMs * MARGIN);

/** An SQL expression: the guard as one text; null when it was released. */
const ROW = "token || ' ' || extract(epoch FROM expires_at)::text";
/** An SQL expression: the instant that a parameter gives in milliseconds. */
const instantOf = (parameter: string): string => `to_timestamp(${parameter}::double precision / 1000)`;

/** A guard that was not released, at one look. */
export interface HeldGuard {
  readonly row: string;
  readonly holder: string;
  readonly url: string;
  /** The holder's TTL and time; null when an older version, which does not state them, holds it. */
  readonly terms: { readonly ttlMs: number; readonly renewedAtMs: number } | null;
}

export interface GuardLook {
  /** Null when the guard is free. */
  readonly held: HeldGuard | null;
  /** The newest entry of the log; changes with every append. */
  readonly tail: string;
  readonly databaseMs: number;
}

export async function lookAtGuard(
  reading: Pick<Reading, 'query'>,
  { guard, log }: Tables,
): Promise<GuardLook> {
  const [row] = await reading.query(
    `SELECT ${DATABASE_MS}, (SELECT max(last_seq) FROM ${log}), ${ROW}, token,
       extract(epoch FROM expires_at) * 1000, holder, url
     FROM (VALUES (1)) AS always (one) LEFT JOIN ${guard} ON id = 1 AND token IS NOT NULL`,
  );
  const [databaseMs, tail, text, token, expiresAtMs, holder, url] = row!;
  const held = text === null ? null : heldGuard([text, token, holder, url].map(String), Number(expiresAtMs));
  return { held, tail: String(tail), databaseMs: Number(databaseMs) };
}

function heldGuard([row, token, holder, url]: readonly string[], expiresAtMs: number): HeldGuard {
  const ttlMs = ttlOf(token!);
  const terms = ttlMs === null ? null : { ttlMs, renewedAtMs: expiresAtMs - ttlMs };
  return { row: row!, holder: holder!, url: url!, terms };
}

/** The token contains the TTL of its holder, because other processes may be configured differently. */
const tokenOf = (ttlMs: number, secret: string): string => `${ttlMs}ms ${secret}`;

function ttlOf(token: string): number | null {
  const [, ttlMs] = /^(\d+(?:\.\d+)?)ms /.exec(token) ?? [];
  return ttlMs === undefined ? null : Number(ttlMs);
}

/**
 * Takes the guard and raises the epoch; null when another process holds it. A guard that was not released is taken
 * only if it still is the `overdueRow`. Appends in flight end first. `clock` gives the holder's time and receives the
 * database's time with every renewal. The epoch becomes the next one, or `epochMin` if that is higher.
 */
export async function takeGuard(
  connection: SqlConnection,
  options: GuardOptions,
  { overdueRow, clock, sleep, epochMin = 0 }: Taking,
): Promise<Guard | null> {
  const { world, tables, holder, url, ttlMs } = options;
  const token = tokenOf(ttlMs, world.newToken());
  const sent = momentOf(world);
  const [row] = await connection.query(
    `WITH free AS (
       SELECT set_config('synchronous_commit', 'on', true) AS synchronous FROM ${tables.guard}
       WHERE id = 1 AND (token IS NULL OR ${ROW} = $5::text) FOR UPDATE
     ), raised AS (
       UPDATE ${tables.epoch} SET epoch = greatest(epoch + 1, $6::bigint), checkpoint = 0
       WHERE id = 1 AND (SELECT synchronous FROM free) = 'on' RETURNING epoch
     )
     UPDATE ${tables.guard} SET holder = $1, url = $2, token = $3, epoch = raised.epoch,
       expires_at = ${instantOf('$4')}
     FROM raised WHERE id = 1 RETURNING raised.epoch`,
    [holder, url, token, clock.nowMs() + ttlMs, overdueRow, epochMin],
  );
  if (row === undefined) return null;
  return new Guard(connection, options, { token, epoch: Number(row[0]), sent, clock, sleep });
}

type GuardClock = Pick<DatabaseClock, 'nowMs' | 'note'>;

interface Taking {
  readonly overdueRow: string | null;
  readonly clock: GuardClock;
  /** From before the clock was read. */
  readonly sleep: SleepWatch;
  readonly epochMin?: number;
}

interface Taken {
  readonly token: string;
  readonly epoch: number;
  readonly sent: Moment;
  readonly clock: GuardClock;
  readonly sleep: SleepWatch;
}

interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

const momentOf = ({ clock }: GuardWorld): Moment => ({
  monotonicMs: clock.monotonicMs(),
  wallMs: clock.wallMs(),
});

export class Guard {
  readonly epoch: number;
  readonly #connection: SqlConnection;
  readonly #options: GuardOptions;
  readonly #token: string;
  readonly #clock: GuardClock;
  readonly #sleep: SleepWatch;
  #hasSlept = false;
  /** When the newest successful renewal was sent. */
  #sent: Moment;
  #isAsked = false;
  #timer: { cancel(): void } | null = null;
  #isOver = false;
  readonly #lose: (fault: Error) => void;
  /** Resolves when the guard is lost; never after `release`. */
  readonly lost: Promise<Error>;

  constructor(connection: SqlConnection, options: GuardOptions, taken: Taken) {
    this.#connection = connection;
    this.#options = options;
    this.#token = taken.token;
    this.#clock = taken.clock;
    this.#sleep = taken.sleep;
    this.epoch = taken.epoch;
    this.#sent = taken.sent;
    let lose: (fault: Error) => void = () => {};
    this.lost = new Promise((resolve) => {
      lose = resolve;
    });
    this.#lose = lose;
    void connection.lost.then((cause) => this.#over('The connection that keeps the guard was cut', cause));
    this.#timer = options.world.timers.after(options.heartbeatMs, this.#beat);
  }

  /**
   * Whether the machine was suspended while the guard was ours. The leader's clock then stood still while those of the
   * standbys went on. Leases granted now would end too early, by the time slept, once a standby leads.
   */
  get hasSlept(): boolean {
    this.#hasSlept ||= this.#sleep.hasSlept();
    return this.#hasSlept;
  }

  /**
   * True while no other process can have taken the guard, by either clock: the monotonic clock stops during suspend.
   */
  get isOurs(): boolean {
    if (this.#isOver || this.hasSlept) return false;
    const { world, ttlMs } = this.#options;
    const lastsMs = ttlMs - guardMarginMs(ttlMs);
    const { monotonicMs, wallMs } = this.#sent;
    return world.clock.monotonicMs() - monotonicMs < lastsMs && world.clock.wallMs() - wallMs < lastsMs;
  }

  stop(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  /**
   * Releases the guard, so that the next leader need not wait. Not durable: if the database loses it in a crash,
   * others only wait longer. Taking the guard is durable.
   */
  async release(): Promise<void> {
    this.stop();
    const { guard } = this.#options.tables;
    await this.#connection.query(
      `UPDATE ${guard} SET holder = '', url = '', token = NULL
       WHERE id = 1 AND token = $1`,
      [this.#token],
    );
  }

  readonly #beat = (): void => {
    if (this.#isOver) return;
    if (this.hasSlept) {
      this.#over(SLEPT, null);
      return;
    }
    if (this.#isAsked) {
      this.#over('The renewal of the guard was not answered in time', null);
      return;
    }
    this.#isAsked = true;
    const { world, tables, ttlMs, heartbeatMs } = this.#options;
    const sent = momentOf(world);
    this.#connection
      .query(
        // Durable: if a crash lost the renewal, another process could lead while this one still relies on it.
        `UPDATE ${tables.guard}
         SET expires_at = ${instantOf('$2')}
         FROM (SELECT set_config('synchronous_commit', 'on', true) AS synchronous) AS durable
         WHERE id = 1 AND token = $1 AND synchronous = 'on'
         RETURNING ${DATABASE_MS}`,
        [this.#token, this.#clock.nowMs() + ttlMs],
      )
      .then(
        ([row]) => {
          this.#isAsked = false;
          if (row === undefined) {
            this.#over('This process no longer holds the guard', null);
            return;
          }
          this.#sent = sent;
          this.#clock.note(sent.monotonicMs, Number(row[0]));
        },
        (cause: unknown) => this.#over('The guard could not be renewed', cause),
      );
    this.#timer = world.timers.after(heartbeatMs, this.#beat);
  };

  #over(why: string, cause: unknown): void {
    if (this.#isOver) return;
    this.stop();
    this.#lose(new LogClosedError(`${why}; nothing more is written.`, { cause }));
  }
}

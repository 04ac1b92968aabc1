/**
 * The guard: one row that says who may write, until when by the database's clock. It elects; what keeps an older
 * writer out is the epoch that is raised in the same statement, because every append checks it.
 *
 *   free or run out ──take──▶ ours ──renew, every heartbeat──▶ ours ──release──▶ free
 *                               └── first renewal that fails, or is unanswered when the next is due ──▶ lost
 *
 * One statement takes it, so that nobody who stops half-way leaves a lock behind that keeps all others waiting.
 */

import type { Leader } from '../log.ts';
import { LogClosedError } from '../log.ts';
import { DATABASE_MS, type DatabaseClock } from './database-clock.ts';
import type { GuardWorld, Reading, SqlConnection } from './sql.ts';
import type { Tables } from './tables.ts';

export interface GuardOptions {
  readonly world: GuardWorld;
  readonly tables: Tables;
  readonly holder: string;
  /** Where the holder serves, for those who look for it. */
  readonly url: string;
  readonly ttlMs: number;
  readonly heartbeatMs: number;
}

/** How much earlier than the database we take the guard for over: clocks do not run quite alike. */
const MARGIN = 1 / 10;
const MARGIN_MS_MAX = 1_000;

/** Whose guard is live, or null when nobody's is; and what time it is there. */
export async function leaderOf(
  reading: Reading,
  { guard }: Tables,
): Promise<{ readonly leader: Leader | null; readonly databaseMs: number }> {
  const [row] = await reading.query(
    `SELECT ${DATABASE_MS}, holder, url, extract(epoch FROM expires_at - clock_timestamp()) * 1000
     FROM (VALUES (1)) AS always (one)
     LEFT JOIN ${guard} ON id = 1 AND token IS NOT NULL AND expires_at > clock_timestamp()`,
  );
  const [databaseMs, holder, url, remainingMs] = row!;
  const leader =
    holder === null
      ? null
      : { holder: String(holder), url: String(url), remainingMs: Math.max(0, Number(remainingMs)) };
  return { leader, databaseMs: Number(databaseMs) };
}

/**
 * Takes the guard and raises the epoch; null when another has it. Appends under way end before this does. The clock is
 * told the time that comes with every renewal. The epoch becomes the next one, or `epochMin` if that is higher.
 */
export async function takeGuard(
  connection: SqlConnection,
  options: GuardOptions,
  databaseClock: Pick<DatabaseClock, 'note'>,
  epochMin = 0,
): Promise<Guard | null> {
  const { world, tables, holder, url, ttlMs } = options;
  const token = world.newToken();
  const sent = momentOf(world);
  const [row] = await connection.query(
    `WITH free AS (
       SELECT set_config('synchronous_commit', 'on', true) AS synchronous FROM ${tables.guard}
       WHERE id = 1 AND (token IS NULL OR expires_at <= clock_timestamp()) FOR UPDATE
     ), raised AS (
       UPDATE ${tables.epoch} SET epoch = greatest(epoch + 1, $5::bigint), checkpoint = 0
       WHERE id = 1 AND (SELECT synchronous FROM free) = 'on' RETURNING epoch
     )
     UPDATE ${tables.guard} SET holder = $1, url = $2, token = $3, epoch = raised.epoch,
       expires_at = clock_timestamp() + $4::double precision * interval '1 millisecond'
     FROM raised WHERE id = 1 RETURNING raised.epoch`,
    [holder, url, token, ttlMs, epochMin],
  );
  if (row === undefined) return null;
  return new Guard(connection, options, { token, epoch: Number(row[0]), sent, databaseClock });
}

interface Taken {
  readonly token: string;
  readonly epoch: number;
  readonly sent: Moment;
  readonly databaseClock: Pick<DatabaseClock, 'note'>;
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
  readonly #databaseClock: Pick<DatabaseClock, 'note'>;
  /** When the newest renewal that succeeded was sent. */
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
    this.#databaseClock = taken.databaseClock;
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

  /** True while nobody else can have taken the guard, by either clock: a monotonic one stands still in suspend. */
  get isOurs(): boolean {
    if (this.#isOver) return false;
    const { world, ttlMs } = this.#options;
    const lastsMs = ttlMs - Math.min(MARGIN_MS_MAX, ttlMs * MARGIN);
    const { monotonicMs, wallMs } = this.#sent;
    return world.clock.monotonicMs() - monotonicMs < lastsMs && world.clock.wallMs() - wallMs < lastsMs;
  }

  /** Stops renewing. */
  stop(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  /**
   * Gives the guard back, so that the next need not wait for it to run out. A database that forgets this in a crash
   * makes others wait and nothing worse, so it need not be durable; whoever takes the guard makes it so.
   */
  async release(): Promise<void> {
    this.stop();
    const { guard } = this.#options.tables;
    await this.#connection.query(
      `UPDATE ${guard} SET holder = '', url = '', token = NULL, expires_at = clock_timestamp()
       WHERE id = 1 AND token = $1`,
      [this.#token],
    );
  }

  readonly #beat = (): void => {
    if (this.#isOver) return;
    if (this.#isAsked) {
      this.#over('The renewal of the guard was not answered in time', null);
      return;
    }
    this.#isAsked = true;
    const { world, tables, ttlMs, heartbeatMs } = this.#options;
    const sent = momentOf(world);
    this.#connection
      .query(
        // Durable: were it lost in a crash, another could lead while we still go by what we were told.
        `UPDATE ${tables.guard}
         SET expires_at = clock_timestamp() + $2::double precision * interval '1 millisecond'
         FROM (SELECT set_config('synchronous_commit', 'on', true) AS synchronous) AS durable
         WHERE id = 1 AND token = $1 AND expires_at > clock_timestamp() AND synchronous = 'on'
         RETURNING ${DATABASE_MS}`,
        [this.#token, ttlMs],
      )
      .then(
        ([row]) => {
          this.#isAsked = false;
          if (row === undefined) {
            this.#over('The guard ran out, or another has taken it', null);
            return;
          }
          this.#sent = sent;
          this.#databaseClock.note(sent.monotonicMs, Number(row[0]));
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

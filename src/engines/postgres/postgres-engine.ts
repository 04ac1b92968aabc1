/**
 * Opens the log in a database: creates its tables, takes the guard, replays, and returns the log with the right to
 * append. A process that cannot get the guard can follow and lead later.
 *
 * The guard is taken before the replay: it raises the epoch, which waits for an append in flight and refuses every
 * later one of an older writer. So the replay sees everything that was ever written before this term.
 */
import { crc32 } from 'node:zlib';
import type { GuardWorld, SqlConnection, SqlConnections } from '../../seams/database.ts';
import type { Threads } from '../../seams/threads.ts';
import { FILE_SPAN } from '../frame.ts';
import { type Engine, type FollowedLog, type Log, LogHeldError, type Replay } from '../log.ts';
import { restoredEpoch } from '../restored-epoch.ts';
import { readDatabaseClock } from './database-clock.ts';
import { FollowedRows } from './followed-log.ts';
import { type GuardOptions, takeGuard } from './guard.ts';
import { GuardWatch } from './guard-watch.ts';
import { LogRows } from './log-rows.ts';
import { PostgresLog } from './postgres-log.ts';
import { ReadingConnection } from './reading-connection.ts';
import { SleepWatch } from './sleep-watch.ts';
import { standbyName } from './standbys.ts';
import { assertDurable, assertMayWrite, ensureTables, tablesIn } from './tables.ts';

const MIB = 1024 * 1024;
const TTL_MS = 15_000;
const HEARTBEATS_A_TTL = 3;
/** How often a held guard is polled while this process waits for it. */
const LOOK_MS = 100;
/** Appends time out after this many heartbeats, which is less than others wait for the guard of a dead leader. */
const HEARTBEATS_AN_APPEND = 2;
/** The database cancels an append this much later, so that its locks do not block the next leader. */
const LATE_MS = 1_000;

/** Shorter than any wait for a leader: a statement blocked by a lock must end before the server retries. */
const GUARD_STATEMENT_MS_MAX = 8_000;

export interface PostgresEngineOptions {
  readonly connections: SqlConnections;
  readonly world: GuardWorld;
  /** The name of this process, for others that find the guard held. */
  readonly holder: string;
  /** Our address, for clients and standbys that look for the leader. */
  readonly url?: string;
  /** The schema of the tables; leasehold. */
  readonly schema?: string;
  /** Whether missing tables are created or an error; true. */
  readonly mayCreate?: boolean;
  /** How long the guard lasts after its last renewal; 15 s. */
  readonly guardTtlMs?: number;
  /** How often it is renewed; a third of the TTL, and at most that. */
  readonly guardHeartbeatMs?: number;
  /** Writes to a database that runs with fsync=off, and would lose what it has acknowledged. For tests. */
  readonly allowFsyncOff?: boolean;
  /** Where compaction runs; without it the log is never compacted. */
  readonly threads?: Threads;
  /** Whether the log lost its newest rows, so that its next epoch must differ from those of the lost rows; false. */
  readonly isRestored?: boolean;
  /** Size of a batch before its last operation; 4 MiB. */
  readonly batchBytesMax?: number;
  /** Rows of this many bytes form a segment; 64 MiB. */
  readonly segmentBytes?: number;
  /** Sealed bytes that make a compaction worthwhile, unless the checkpoint is larger; 256 MiB. */
  readonly compactionBytesMin?: number;
  /** Size of one part of a checkpoint; 1 GiB, and it must stay below 4 GiB. */
  readonly partBytesMax?: number;
  /** How many of the newest bytes stay in memory; 32 MiB. */
  readonly recentBytesMax?: number;
  /** Cache for blocks read from older rows; 16 MiB. */
  readonly cacheBytesMax?: number;
}

export interface PostgresEngine extends Engine {
  follow(replay: Replay, signal?: AbortSignal): Promise<FollowedLog>;
}

export function postgresEngine(options: PostgresEngineOptions): PostgresEngine {
  const opening = new Opening(options);
  return {
    open: (replay) => opening.open(replay),
    follow: (replay, signal) => opening.follow(replay, signal),
  };
}

class Opening {
  readonly #options: PostgresEngineOptions;
  readonly #schema: string;
  readonly #guard: GuardOptions;
  readonly #watch: GuardWatch;
  /** Whether the tables were found or created: if they vanish later, that is a loss and not a first start. */
  #wereThere = false;

  constructor(options: PostgresEngineOptions) {
    const { world, holder, url = '', schema = 'leasehold', guardTtlMs = TTL_MS } = options;
    const heartbeatMs = options.guardHeartbeatMs ?? guardTtlMs / HEARTBEATS_A_TTL;
    if (!(heartbeatMs > 0) || guardTtlMs < heartbeatMs * HEARTBEATS_A_TTL) {
      throw new TypeError('The guard must last for at least three of its heartbeats.');
    }
    this.#options = options;
    this.#schema = schema;
    this.#guard = { world, holder, url, tables: tablesIn(schema), ttlMs: guardTtlMs, heartbeatMs };
    this.#watch = new GuardWatch(world.clock, this.#guard.tables, guardTtlMs);
  }

  async open(replay: Replay): Promise<Log> {
    const rows = await this.#rows(this.#reading());
    try {
      await this.#untilFree(rows);
      const log = await this.#lead(rows, () => rows.start(replay));
      if (log === null) throw new LogHeldError('another process, which has just taken it');
      return log;
    } catch (fault) {
      await rows.reading.close();
      throw fault;
    }
  }

  /** Waits for a guard that was not released. If its holder renews it meanwhile, the log is held. */
  async #untilFree({ reading }: LogRows): Promise<void> {
    const { timers } = this.#options.world;
    let leader = await this.#watch.look(reading);
    const { row } = this.#watch;
    while (leader !== null) {
      if (this.#watch.row !== row) throw new LogHeldError(leader.holder);
      const pauseMs = Math.min(LOOK_MS, leader.remainingMs);
      await new Promise<void>((resolve) => timers.after(pauseMs, resolve));
      leader = await this.#watch.look(reading);
    }
  }

  async follow(replay: Replay, signal?: AbortSignal): Promise<FollowedLog> {
    const reading = this.#reading(this.#standbyName);
    // Without its connection the replay fails at once and delivers nothing more.
    const giveUp = (): void => void reading.close().catch(() => undefined);
    signal?.addEventListener('abort', giveUp);
    try {
      const rows = await this.#rows(reading);
      // Before the replay: the TTL of an abandoned guard runs out while the replay is running.
      await this.#watch.look(reading);
      await rows.start(replay);
      return new FollowedRows(rows, replay, this.#watch, () => this.#lead(rows, () => rows.catchUp(replay)));
    } catch (fault) {
      await reading.close();
      throw fault;
    } finally {
      signal?.removeEventListener('abort', giveUp);
    }
  }

  get #appendMs(): number {
    return Math.ceil(this.#guard.heartbeatMs * HEARTBEATS_AN_APPEND);
  }

  get #standbyName(): string {
    return standbyName(this.#schema, this.#guard.url);
  }

  #reading(name: string | null = null): ReadingConnection {
    const { connections, world } = this.#options;
    return new ReadingConnection(connections, world.timers, name);
  }

  async #rows(reading: ReadingConnection): Promise<LogRows> {
    const { mayCreate = true, recentBytesMax = 32 * MIB, cacheBytesMax = 16 * MIB } = this.#options;
    try {
      const connection = await reading.connected();
      await ensureTables(connection, this.#schema, { mayCreate, wereThere: this.#wereThere });
      this.#wereThere = true;
      // For followers too: otherwise a missing right would show only when they have to lead.
      await assertMayWrite(connection, this.#schema);
    } catch (fault) {
      await reading.close();
      throw fault;
    }
    return new LogRows({ reading, tables: this.#guard.tables, recentBytesMax, cacheBytesMax });
  }

  /** Takes the guard, then replays to the end; null when another process holds it. */
  async #lead(rows: LogRows, replayRest: () => Promise<unknown>): Promise<Log | null> {
    const { connections, world, allowFsyncOff = false } = this.#options;
    const guarding = await connections.connect({ statementMsMax: GUARD_STATEMENT_MS_MAX });
    let isKept = false;
    try {
      if (!allowFsyncOff) await assertDurable(guarding);
      const sleep = new SleepWatch(world.clock);
      // Before the guard: a process that cannot read the clock well enough must not keep others from leading.
      const clock = this.#watch.clockToLead(await readDatabaseClock(guarding, world));
      const epochMin = await this.#epochMin(guarding);
      const guard = await takeGuard(guarding, this.#guard, {
        overdueRow: this.#watch.overdueRow,
        clock,
        sleep,
        epochMin,
      });
      if (guard === null) return null;
      try {
        const writing = await connections.connect({ statementMsMax: this.#appendMs + LATE_MS });
        try {
          await replayRest();
          clock.advanceTo(rows.position.lastAtMs);
          const log = new PostgresLog(this.#logOptions(), {
            rows,
            guard,
            writing,
            guarding,
            nowMs: () => clock.nowMs(),
            lastNumber: await lastNumberOf(rows),
          });
          isKept = true;
          this.#watch.lead(clock);
          return log;
        } finally {
          if (!isKept) await writing.close();
        }
      } finally {
        // The process failed after taking the guard and does not lead. If releasing fails too, the guard expires.
        if (!isKept) await guard.release().catch(() => {});
      }
    } finally {
      if (!isKept) await guarding.close();
    }
  }

  async #epochMin(connection: SqlConnection): Promise<number> {
    const { isRestored = false, world } = this.#options;
    if (!isRestored) return 0;
    const [row] = await connection.query(`SELECT epoch FROM ${this.#guard.tables.epoch} WHERE id = 1`);
    // The bits of a token are random, and so is their checksum.
    return restoredEpoch(Number(row?.[0] ?? 0), crc32(world.newToken()));
  }

  #logOptions() {
    const { connections, threads = null, world } = this.#options;
    const {
      batchBytesMax = 4 * MIB,
      segmentBytes = 64 * MIB,
      compactionBytesMin = 256 * MIB,
    } = this.#options;
    return {
      schema: this.#schema,
      address: connections.address,
      connections,
      threads,
      batchBytesMax,
      segmentBytes,
      compactionBytesMin,
      partBytesMax: this.#options.partBytesMax ?? 1024 * MIB,
      standbyName: this.#standbyName,
      appendMs: this.#appendMs,
      closeMs: this.#guard.heartbeatMs,
      timers: world.timers,
    };
  }
}

/** The highest number in use, including those of unfinished checkpoints. */
async function lastNumberOf({ reading, tables, checkpoint }: LogRows): Promise<number> {
  const [row] = await reading.query(`SELECT max(at) FROM ${tables.log}`);
  const newest = Math.floor(Number(row?.[0] ?? 0) / FILE_SPAN);
  return Math.max(newest, checkpoint?.lastPart ?? 0);
}

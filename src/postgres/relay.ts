/**
 * The relay: turns the rows of an outbox into tasks, one process at a time, under a lease of the server. It sleeps until
 * a commit wakes it (LISTEN) or its next poll is due.
 *
 *   standing by ──lease──▶ relaying ──lease lost, or a transient fault──▶ standing by
 *        └──────────────────── drain, or a permanent fault ────────────────▶ ended
 */
import { type Duration, durationMs } from '../client/durations.ts';
import type { Lease } from '../client/held.ts';
import { refuseUnknown } from '../client/unknown-options.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Timer, Timers } from '../seams/clock.ts';
import type { ConnectionPool, PooledConnection } from './database.ts';
import { isTransient } from './error.ts';
import { OUTBOX_CHANNEL } from './outbox.ts';
import type { ParkedRow } from './outbox-rows.ts';
import { type PassResult, type PassTerms, type RelayHandle, relayPass } from './relay-pass.ts';

export interface RelayOptions {
  /** The name of the relay's lease; by default `outbox:` followed by the names of database and schema. */
  readonly name?: string;
  /** The maximum number of rows per pass; default 500. */
  readonly batch?: number;
  /** How often it polls for rows without a notification; default '1s'. */
  readonly poll?: Duration;
  /** Drains the relay when it aborts. */
  readonly signal?: AbortSignal;
  /** Called with the name of the lease each time the relay acquires it. */
  readonly onActive?: (lease: string) => void;
  /** Called with each row that needs an operator's decision: its task is in doubt, or the server refused it. */
  readonly onParked?: (row: ParkedRow) => void;
  /** Called with each transient fault, which the relay retries. */
  readonly onRetry?: (fault: unknown) => void;
  /** Called once with the fault that stops the relay; by default it is written to stderr. */
  readonly onFault?: (fault: unknown) => void;
}

export interface RelayCounts {
  /** Rows that became tasks. */
  readonly relayed: number;
  readonly inDoubt: number;
  readonly refused: number;
}

export interface Relay extends AsyncDisposable {
  /** Whether this relay holds the lease. Otherwise another relay does, or none can acquire it. */
  readonly isActive: boolean;
  readonly counts: RelayCounts;
  /** Resolves once it has stopped; rejects with the fault that stopped it. It need not be awaited: see `onFault`. */
  readonly done: Promise<void>;
  /** Finishes the current pass, releases the lease, and stops. */
  drain(): Promise<void>;
}

export interface RelayWorld {
  readonly timers: Timers;
  readonly onFault: (fault: unknown) => void;
}

const OPTIONS = ['name', 'batch', 'poll', 'signal', 'onActive', 'onParked', 'onRetry', 'onFault'];
const BATCH_MAX = 5_000;
const LEASE_TTL = '15s';
/** Short: until it is over, a server that cannot be reached is not reported. */
const LEASE_WAIT = '10s';
/** Far more than a pass takes. A relay whose database is silent must not keep the lease from another relay. */
const PASS_MS_MAX = 120_000;
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 5_000;
const SILENT = `The database or the server has not answered for ${PASS_MS_MAX / 1_000} s.`;
const LEASE_NAME = `SELECT 'outbox:' || current_database() || '.' || current_schema() AS name`;

export class RunningRelay implements Relay {
  isActive = false;
  readonly counts = { relayed: 0, inDoubt: 0, refused: 0 };
  readonly done: Promise<void>;
  private readonly pool: ConnectionPool;
  private readonly lh: RelayHandle;
  private readonly options: RelayOptions;
  private readonly batch: number;
  private readonly pollMs: number;
  private readonly world: RelayWorld;
  private readonly stopping = new AbortController();
  private retryMs = RETRY_MIN_MS;
  /** Ends the current sleep. */
  private wake: () => void = () => undefined;
  /** A wake-up arrived while the relay was not sleeping. */
  private isWoken = false;
  private listening: PooledConnection | null = null;

  constructor(pool: ConnectionPool, lh: RelayHandle, options: RelayOptions, world: RelayWorld) {
    refuseUnknown(options, OPTIONS, 'relay');
    const { batch = 500, poll = '1s', signal } = options;
    if (!Number.isSafeInteger(batch) || batch < 1 || batch > BATCH_MAX)
      throw new TypeError(`The option batch must be a whole number from 1 to ${BATCH_MAX}.`);
    this.pool = pool;
    this.lh = lh;
    this.options = options;
    this.batch = batch;
    this.pollMs = durationMs(poll, 'poll');
    this.world = world;
    if (signal?.aborted) this.stop();
    else signal?.addEventListener('abort', this.stop, { once: true });
    const hold = world.timers.hold();
    this.done = this.run().finally(() => {
      signal?.removeEventListener('abort', this.stop);
      hold.cancel();
    });
    this.done.catch((fault: unknown) => (options.onFault ?? world.onFault)(fault));
  }

  readonly drain = (): Promise<void> => {
    this.stop();
    return this.done;
  };

  [Symbol.asyncDispose](): Promise<void> {
    return this.drain();
  }

  private readonly stop = (): void => {
    this.stopping.abort();
    this.wake();
  };

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        const name = this.options.name ?? (await this.inTime(this.ownName()));
        const lease = await this.lh.acquire(name, { ttl: LEASE_TTL, wait: LEASE_WAIT, signal });
        try {
          this.isActive = true;
          this.options.onActive?.(name);
          await this.relayUnder(lease);
        } finally {
          this.isActive = false;
          this.unlisten();
          // A lease that cannot be released expires.
          await lease.release().catch(() => false);
        }
      } catch (fault) {
        if (signal.aborted) return;
        if (LeaseholdError.is(fault, 'LEASE_HELD')) continue;
        if (!isTransientFault(fault)) throw fault;
        this.options.onRetry?.(fault);
        await this.sleep(this.retryMs);
        this.retryMs = Math.min(this.retryMs * 2, RETRY_MAX_MS);
      }
    }
  }

  private async ownName(): Promise<string> {
    const { rows } = await this.pool.query(LEASE_NAME);
    return (rows[0] as { readonly name: string }).name;
  }

  private async relayUnder({ assertHeld, signal }: Lease): Promise<void> {
    const { pool, lh, batch } = this;
    signal.addEventListener('abort', () => this.wake(), { once: true });
    const terms = { pool, lh, batch, assertHeld, onParked: (row: ParkedRow) => this.parked(row) };
    while (!this.stopping.signal.aborted) {
      assertHeld();
      const { read, relayed } = await this.inTime(this.pass(terms));
      this.counts.relayed += relayed;
      this.retryMs = RETRY_MIN_MS;
      if (read === 0) await this.sleep(this.pollMs);
    }
  }

  private async pass(terms: PassTerms): Promise<PassResult> {
    // Subscribed before the rows are read, so that later commits wake the relay.
    await this.listen();
    return relayPass(terms);
  }

  /** A pass that is abandoned may still end: without the lease it sends nothing. */
  private async inTime<T>(work: Promise<T>): Promise<T> {
    let limit: Timer | undefined;
    const over = new Promise<never>((_, reject) => {
      limit = this.world.timers.after(PASS_MS_MAX, () => reject(new Error(SILENT)));
    });
    try {
      return await Promise.race([work, over]);
    } finally {
      limit?.cancel();
    }
  }

  private parked(row: ParkedRow): void {
    this.counts[row.state === 'IN_DOUBT' ? 'inDoubt' : 'refused'] += 1;
    this.options.onParked?.(row);
  }

  /** Without a spare connection, or behind a pooler without LISTEN, the relay only polls. */
  private async listen(): Promise<void> {
    const { max } = (this.pool as { readonly options?: { readonly max?: number } }).options ?? {};
    if (this.listening !== null || max === 1) return;
    const connection = await this.pool.connect();
    if (connection.on === undefined) return connection.release();
    connection.on('error', () => this.unlisten());
    connection.on('notification', this.onNotification);
    try {
      await connection.query(`LISTEN ${OUTBOX_CHANNEL}`);
      // The pass may have been abandoned meanwhile.
      if (!this.isActive || this.listening !== null) connection.release(true);
      else this.listening = connection;
    } catch (fault) {
      connection.release(true);
      throw fault;
    }
  }

  private readonly onNotification = (): void => {
    this.isWoken = true;
    this.wake();
  };

  /** The connection is still subscribed, so it is not returned to the pool. */
  private unlisten(): void {
    this.listening?.release(true);
    this.listening = null;
  }

  private async sleep(ms: number): Promise<void> {
    if (this.isWoken || this.stopping.signal.aborted) {
      this.isWoken = false;
      return;
    }
    await new Promise<void>((resolve) => {
      const timer = this.world.timers.after(ms, resolve);
      this.wake = () => {
        timer.cancel();
        resolve();
      };
    });
    this.wake = () => undefined;
    this.isWoken = false;
  }
}

/**
 * Whether a fault is transient, such as an outage or a lost lease; a programming error, missing rights or a missing
 * table is not.
 */
function isTransientFault(fault: unknown): boolean {
  if (LeaseholdError.is(fault)) return fault.retryable || fault.code === 'LEASE_LOST';
  if (fault instanceof TypeError || fault instanceof RangeError || fault instanceof ReferenceError)
    return false;
  return isTransient(fault);
}

/**
 * Observes the guard that another process holds, and concludes from it:
 *
 *   whether it may be taken  The holder relies on the guard for a TTL after it sent its last renewal. Others may take over
 *                            once they have seen neither a renewal nor an append for a TTL plus a margin, by their own
 *                            monotonic clock. The database's clock is not used: it may have been set.
 *   what time it is          Every renewal carries the holder's time; from then on the monotonic clock counts. Only a
 *                            process that has never seen a renewal uses the database's clock as it is.
 *
 * One instance lives as long as the process: its knowledge outlives connections, compactions and terms as leader. Only a
 * suspend ends it: the monotonic clock stood still, so the process knows the time no better than one that has just started.
 */

import type { GuardWorld, Reading } from '../../seams/database.ts';
import type { Leader } from '../log.ts';
import { DatabaseClock } from './database-clock.ts';
import { type GuardLook, guardMarginMs, type HeldGuard, lookAtGuard } from './guard.ts';
import { SleepWatch } from './sleep-watch.ts';
import type { Tables } from './tables.ts';

/**
 * A renewal found within this time after the previous look counts as new: time is then late by at most this much, and
 * never early. After a longer gap, such as a database outage, the age of the renewal is unknown.
 */
const FRESH_MS_MAX = 1_000;

export class GuardWatch {
  readonly #clock: GuardWorld['clock'];
  readonly #sleep: SleepWatch;
  readonly #tables: Tables;
  /** The TTL assumed for a holder that does not state its own. */
  readonly #ttlMs: number;
  #seen: GuardLook | null = null;
  /**
   * When the newest look was sent, and when the look that first found the guard and the log in this state was
   * answered.
   */
  #lookedMs = 0;
  #sinceMs = 0;
  /** The time of the current or last leader; null while unknown. */
  #time: DatabaseClock | null = null;
  #databaseOffsetMs: number | null = null;

  constructor(clock: GuardWorld['clock'], tables: Tables, ttlMs: number) {
    this.#clock = clock;
    this.#sleep = new SleepWatch(clock);
    this.#tables = tables;
    this.#ttlMs = ttlMs;
  }

  /** The holder of the guard; null when the guard may be taken. */
  async look(reading: Pick<Reading, 'query'>): Promise<Leader | null> {
    this.#forgetTimeIfSlept();
    const sentMs = this.#clock.monotonicMs();
    this.#note(await lookAtGuard(reading, this.#tables), sentMs);
    const held = this.#seen!.held;
    const remainingMs = this.#remainingMs();
    return held === null || remainingMs <= 0 ? null : { holder: held.holder, url: held.url, remainingMs };
  }

  /** The guard at the last look, as one string that every renewal changes; null when it was free. */
  get row(): string | null {
    return this.#seen?.held?.row ?? null;
  }

  /** The same string, once the guard may be taken from its holder. */
  get overdueRow(): string | null {
    return this.#remainingMs() <= 0 ? this.row : null;
  }

  /** The leader's time; the database's while that is unknown; null before the first look. */
  nowMs(): number | null {
    if (this.#time !== null) return this.#time.nowMs();
    return this.#databaseOffsetMs === null ? null : this.#databaseOffsetMs + this.#clock.monotonicMs();
  }

  /** The clock for leading: it continues the known time, and uses the database's only if there is none. */
  clockToLead(databaseOffsetMs: number): DatabaseClock {
    this.#forgetTimeIfSlept();
    const knownMs = this.#time?.nowMs() ?? null;
    const offsetMs = knownMs === null ? databaseOffsetMs : knownMs - this.#clock.monotonicMs();
    return new DatabaseClock(this.#clock, offsetMs, databaseOffsetMs);
  }

  /** From now on this process leads and keeps its own time, until it sees a renewal by another. */
  lead(clock: DatabaseClock): void {
    this.#time = clock;
    this.#seen = null;
  }

  #remainingMs(): number {
    const held = this.#seen?.held;
    if (held === undefined || held === null) return 0;
    const ttlMs = held.terms?.ttlMs ?? this.#ttlMs;
    return this.#sinceMs + ttlMs + guardMarginMs(ttlMs) - this.#clock.monotonicMs();
  }

  /** Whether the machine was suspended since the last look, which invalidates everything counted since then. */
  #forgetTimeIfSlept(): boolean {
    if (!this.#sleep.hasSlept()) return false;
    this.#time = null;
    this.#lookedMs = Number.NEGATIVE_INFINITY;
    return true;
  }

  #note(look: GuardLook, sentMs: number): void {
    const hasSlept = this.#forgetTimeIfSlept();
    const answeredMs = this.#clock.monotonicMs();
    const before = this.#seen;
    this.#seen = look;
    this.#databaseOffsetMs = look.databaseMs - answeredMs;
    const isRenewed = before !== null && look.held !== null && look.held.row !== before.held?.row;
    if (isRenewed) this.#follow(look.held, answeredMs - this.#lookedMs <= FRESH_MS_MAX);
    this.#lookedMs = hasSlept ? Number.NEGATIVE_INFINITY : sentMs;
    if (before === null || look.held?.row !== before.held?.row || look.tail !== before.tail) {
      this.#sinceMs = answeredMs;
    }
  }

  /** Adopts the time of a renewal: all of it when the renewal is new, else only to move forward. */
  #follow({ terms }: HeldGuard, isFresh: boolean): void {
    if (terms === null) return;
    if (isFresh) this.#time = new DatabaseClock(this.#clock, terms.renewedAtMs - this.#clock.monotonicMs());
    else this.#time?.advanceTo(terms.renewedAtMs);
  }
}

/**
 * What one process sees of the guard that another holds, and what follows from it:
 *
 *   whether it may be taken  Its holder answers for a TTL after the renewal that it sent last. So others may take over when
 *                            they have themselves seen no renewal and no append for that long and a margin, by their own
 *                            monotonic clock. The database's clock proves nothing: it may have been set.
 *   what time it is          Every renewal brings the holder's time, and from then on the monotonic clock counts. Only a
 *                            process that has never seen a renewal goes by the database's clock as it is.
 *
 * There is one for as long as the process lives: what it knows outlives connections, compactions and being leader.
 */

import type { GuardWorld, Reading } from '../../seams/database.ts';
import type { Leader } from '../log.ts';
import { DatabaseClock } from './database-clock.ts';
import { type GuardLook, guardMarginMs, type HeldGuard, lookAtGuard } from './guard.ts';
import type { Tables } from './tables.ts';

/**
 * A renewal that came after a look, and before the next one so much later, is taken to be new: time is late by at most
 * this, and never early. After a longer gap, as when the database was away, nothing tells how old it is.
 */
const FRESH_MS_MAX = 1_000;

export class GuardWatch {
  readonly #clock: GuardWorld['clock'];
  readonly #tables: Tables;
  /** For a holder that does not say its own. */
  readonly #ttlMs: number;
  #seen: GuardLook | null = null;
  /** When the newest look was sent, and when the one that first found the guard and the log like this was answered. */
  #lookedMs = 0;
  #sinceMs = 0;
  /** The time of the process that leads or led last; null while it is not known. */
  #time: DatabaseClock | null = null;
  #databaseOffsetMs: number | null = null;

  constructor(clock: GuardWorld['clock'], tables: Tables, ttlMs: number) {
    this.#clock = clock;
    this.#tables = tables;
    this.#ttlMs = ttlMs;
  }

  /** Who holds the guard; null when it may be taken. */
  async look(reading: Pick<Reading, 'query'>): Promise<Leader | null> {
    const sentMs = this.#clock.monotonicMs();
    this.#note(await lookAtGuard(reading, this.#tables), sentMs);
    const held = this.#seen!.held;
    const remainingMs = this.#remainingMs();
    return held === null || remainingMs <= 0 ? null : { holder: held.holder, url: held.url, remainingMs };
  }

  /** The guard as it was at the last look, as one text that every renewal changes; null when it was free. */
  get row(): string | null {
    return this.#seen?.held?.row ?? null;
  }

  /** The same, once it may be taken from its holder. */
  get overdueRow(): string | null {
    return this.#remainingMs() <= 0 ? this.row : null;
  }

  /** The time of the leader; the database's while that is not known, null before the first look. */
  nowMs(): number | null {
    if (this.#time !== null) return this.#time.nowMs();
    return this.#databaseOffsetMs === null ? null : this.#databaseOffsetMs + this.#clock.monotonicMs();
  }

  /** The clock to lead by: it begins with the time that is known, and the database's only where none is. */
  clockToLead(databaseOffsetMs: number): DatabaseClock {
    const knownMs = this.#time?.nowMs() ?? null;
    const offsetMs = knownMs === null ? databaseOffsetMs : knownMs - this.#clock.monotonicMs();
    return new DatabaseClock(this.#clock, offsetMs, databaseOffsetMs);
  }

  /** From now on this process leads: time is its own, until it sees the renewal of another. */
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

  #note(look: GuardLook, sentMs: number): void {
    const answeredMs = this.#clock.monotonicMs();
    const before = this.#seen;
    this.#seen = look;
    this.#databaseOffsetMs = look.databaseMs - answeredMs;
    const isRenewed = before !== null && look.held !== null && look.held.row !== before.held?.row;
    if (isRenewed) this.#follow(look.held, answeredMs - this.#lookedMs <= FRESH_MS_MAX);
    this.#lookedMs = sentMs;
    if (before === null || look.held?.row !== before.held?.row || look.tail !== before.tail) {
      this.#sinceMs = answeredMs;
    }
  }

  /** Goes by the time that a renewal brought: all of it when that is new, else only as far as time was behind it. */
  #follow({ terms }: HeldGuard, isFresh: boolean): void {
    if (terms === null) return;
    if (isFresh) this.#time = new DatabaseClock(this.#clock, terms.renewedAtMs - this.#clock.monotonicMs());
    else this.#time?.advanceTo(terms.renewedAtMs);
  }
}

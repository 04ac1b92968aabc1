/**
 * A log that another writes, read along by a standby: it keeps the standby's state warm, says who leads, and becomes
 * the log itself when it can take the guard.
 */
import type { Opaque } from '../../core/opaque.ts';
import type { FollowedLog, Leader, Log, LogPosition, LogSize, Replay } from '../log.ts';
import type { GuardWatch } from './guard-watch.ts';
import type { LogRows } from './log-rows.ts';

export class FollowedRows implements FollowedLog {
  readonly #rows: LogRows;
  readonly #replay: Replay;
  readonly #watch: GuardWatch;
  readonly #lead: () => Promise<Log | null>;
  #isHandedOver = false;

  constructor(rows: LogRows, replay: Replay, watch: GuardWatch, lead: () => Promise<Log | null>) {
    this.#rows = rows;
    this.#replay = replay;
    this.#watch = watch;
    this.#lead = lead;
  }

  get position(): LogPosition {
    return this.#rows.position;
  }

  get size(): LogSize {
    return this.#rows.size;
  }

  catchUp(): Promise<boolean> {
    this.#assertOurs();
    return this.#rows.catchUp(this.#replay);
  }

  leader(): Promise<Leader | null> {
    return this.#watch.look(this.#rows.reading);
  }

  nowMs(): number | null {
    return this.#watch.nowMs();
  }

  async lead(): Promise<Log | null> {
    this.#assertOurs();
    // As far as it can be done without the guard, so that little is left to replay once it leads.
    await this.#rows.catchUp(this.#replay);
    const log = await this.#lead();
    this.#isHandedOver ||= log !== null;
    return log;
  }

  read(reference: Opaque): Uint8Array | null | Promise<Uint8Array | null> {
    return this.#rows.read(reference);
  }

  hangUp(): void {
    this.#rows.reading.hangUp();
  }

  async close(): Promise<void> {
    if (!this.#isHandedOver) await this.#rows.reading.close();
  }

  #assertOurs(): void {
    if (this.#isHandedOver) throw new Error('The follower has become the writer.');
  }
}

/**
 * A log that a standby follows while another process writes it. It keeps the standby's state warm, names the leader,
 * and becomes the log itself when it takes the guard.
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
    // As much as possible before taking the guard, so that little is left to replay afterwards.
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

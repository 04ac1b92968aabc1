/** Marks the newest batch as committed after `IDLE_MS` without another batch. One timer serves all batches. */
import type { Clock, Timer, Timers } from '../seams/clock.ts';

const IDLE_MS = 50;

export class IdleMark {
  private readonly clock: Clock;
  private readonly timers: Timers;
  private readonly mark: () => boolean;
  private timer: Timer | null = null;
  private lastBatchMs = 0;

  /** `mark` returns whether it could write the mark; if not, it is called again. */
  constructor({ clock, timers }: { readonly clock: Clock; readonly timers: Timers }, mark: () => boolean) {
    this.clock = clock;
    this.timers = timers;
    this.mark = mark;
  }

  /** A batch has been made durable. */
  noteBatch(): void {
    this.lastBatchMs = this.clock.monotonicMs();
    this.timer ??= this.timers.after(IDLE_MS, this.look);
  }

  cancel(): void {
    this.timer?.cancel();
    this.timer = null;
  }

  private readonly look = (): void => {
    this.timer = null;
    const quietMs = this.clock.monotonicMs() - this.lastBatchMs;
    if (quietMs >= IDLE_MS && this.mark()) return;
    this.timer = this.timers.after(Math.max(1, IDLE_MS - quietMs), this.look);
  };
}

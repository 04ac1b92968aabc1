/**
 * How quick recent appends were. After a run of quick ones the log may write on the authority's own thread: handing a small
 * batch to another thread costs as much as the sync itself.
 */
const QUICK_MS = 1;
const QUICK_MIN = 16;

export class DiskPace {
  private fromMs = 0;
  /** How many appends in a row were quick. */
  private quick = 0;

  begin(nowMs: number): void {
    this.fromMs = nowMs;
  }

  /** Returns how long the append took. */
  end(nowMs: number): number {
    const tookMs = nowMs - this.fromMs;
    this.quick = tookMs < QUICK_MS ? this.quick + 1 : 0;
    return tookMs;
  }

  get isQuick(): boolean {
    return this.quick >= QUICK_MIN;
  }
}

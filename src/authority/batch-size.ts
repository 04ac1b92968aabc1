/**
 * How many calls a batch may take: as many as are decided within `LONG_MS`, so that no call waits long for the loop. Cold
 * code is twenty times as slow as the same code a second later, so the limit starts small.
 */
const FIRST = 256;
const LEAST = 64;
const MOST = 8_192;
const LONG_MS = 20;

export class BatchSize {
  max = FIRST;

  /** A batch of `calls` was decided in `tookMs`. */
  note(calls: number, tookMs: number): void {
    if (tookMs > LONG_MS) this.max = Math.max(LEAST, this.max >> 1);
    else if (calls === this.max) this.max = Math.min(MOST, this.max * 2);
  }
}

/** Frames are chained: each checksum also covers the checksum of the previous frame. */

/** The newest frame of a log, which the next one continues. */
export interface Chain {
  checksum: number;
  lastSeq: number;
  lastAtMs: number;
  epoch: number;
}

/**
 * What a memory log is written to. It outlives a closed log, so opening another log on it is a restart. Tests use
 * `sync` to delay or fail an append.
 */
export class MemoryDisk {
  readonly frames: Buffer[] = [];
  /** Counts openings. Only the newest writer may append. */
  writer = 0;
  bytes = 0;
  /** Awaited before a batch is stored. */
  sync: () => Promise<void> = () => Promise.resolve();

  keep(frame: Buffer): void {
    this.frames.push(frame);
    this.bytes += frame.length;
  }
}

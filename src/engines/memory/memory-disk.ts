/**
 * What a memory log is written to. It survives the closing of a log, so that opening another one on it is a
 * restart. `sync` is where a test holds an append back, or lets it fail.
 */
export class MemoryDisk {
  readonly frames: Buffer[] = [];
  /** Counts the openings; only the newest writer may append. */
  writer = 0;
  bytes = 0;
  /** Waited for before a batch is kept. */
  sync: () => Promise<void> = () => Promise.resolve();

  keep(frame: Buffer): void {
    this.frames.push(frame);
    this.bytes += frame.length;
  }
}

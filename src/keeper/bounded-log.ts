/**
 * The output of a program in a file of bounded size. At half of the limit the file is renamed to `.1`, replacing the
 * previous one, and a new file starts. Writing never blocks the program: output that exceeds the disk's speed is
 * dropped and its size is noted in the log. A disk fault is reported once; nothing is written after it.
 */
import type { LogFiles } from '../seams/log-files.ts';

/** The most bytes that may wait for the disk. */
const PENDING_MAX = 256 * 1024;

export class BoundedLog {
  private readonly files: LogFiles;
  private readonly file: string;
  private readonly halfBytes: number;
  private readonly failed: (fault: Error) => void;
  private pending: Uint8Array[] = [];
  private pendingBytes = 0;
  private leftOut = 0;
  private written = 0;
  private isBroken = false;
  private draining: Promise<void> | null = null;

  constructor(files: LogFiles, file: string, bytesMax: number, failed: (fault: Error) => void) {
    this.files = files;
    this.file = file;
    this.halfBytes = Math.floor(bytesMax / 2);
    this.failed = failed;
  }

  write(bytes: Uint8Array): void {
    if (this.isBroken || bytes.length === 0) return;
    if (this.pendingBytes + bytes.length > PENDING_MAX) {
      this.leftOut += bytes.length;
      return;
    }
    this.sayLeftOut();
    this.add(bytes);
    this.draining ??= this.drain();
  }

  /** Resolves when everything accepted is written, with a note of what was dropped. */
  async close(): Promise<void> {
    await this.draining;
    if (this.isBroken || this.leftOut === 0) return;
    this.sayLeftOut();
    this.draining ??= this.drain();
    await this.draining;
  }

  private sayLeftOut(): void {
    if (this.leftOut > 0) this.add(new TextEncoder().encode(`\n[${this.leftOut} bytes left out]\n`));
    this.leftOut = 0;
  }

  private add(bytes: Uint8Array): void {
    // The reader of the output may reuse its buffer.
    this.pending.push(Uint8Array.from(bytes));
    this.pendingBytes += bytes.length;
  }

  private async drain(): Promise<void> {
    try {
      while (this.pending.length > 0) await this.writePiece(this.pending.shift()!);
    } catch (fault) {
      if (!(fault instanceof Error && 'code' in fault)) throw fault;
      this.isBroken = true;
      this.pending = [];
      this.failed(fault);
    } finally {
      this.draining = null;
    }
  }

  /** A piece may be larger than half of the limit. Then only its end is kept. */
  private async writePiece(piece: Uint8Array): Promise<void> {
    const bytes = piece.subarray(Math.max(0, piece.length - this.halfBytes));
    if (this.written > 0 && this.written + bytes.length > this.halfBytes) {
      await this.files.rename(this.file, `${this.file}.1`);
      this.written = 0;
    }
    await this.files.append(this.file, bytes);
    this.written += bytes.length;
    this.pendingBytes -= piece.length;
  }
}

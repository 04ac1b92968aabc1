/**
 * The output of a program in a file that cannot grow for ever: when half of what is allowed has been written, the file
 * becomes its own predecessor, `.1`, and a new one begins. Writing never holds the program up: what comes faster than
 * the disk takes it is left out and counted in its place. A disk that fails is told once, and nothing more is written.
 */
import type { LogFiles } from '../seams/log-files.ts';

/** What may wait for the disk. */
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

  /** Once everything that was taken is written, and how much was not. */
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
    // Whoever reads the output may use the memory again.
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

  /** A piece may be larger than half of what is allowed; then its end is what matters. */
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

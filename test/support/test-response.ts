// The response of a connection whose other end the test plays: it takes everything, or nothing until the test says so,
// or goes away. It remembers every write with the time it was made at.
import { EventEmitter } from 'node:events';
import type { StreamResponse } from '../../src/server/stream-log.ts';

export interface Write {
  readonly bytes: Uint8Array;
  readonly atMs: number;
}

export class TestResponse extends EventEmitter implements StreamResponse {
  readonly writes: Write[] = [];
  destroyed = false;
  ended = false;
  writableLength = 0;
  /** While it is stalled every write stays unsent. */
  stalled = false;
  private readonly nowMs: () => number;

  constructor(nowMs: () => number = () => 0) {
    super();
    this.nowMs = nowMs;
  }

  write(bytes: Uint8Array): boolean {
    if (this.destroyed || this.ended) throw new Error('Nothing may be written to a response that is over.');
    this.writes.push({ bytes, atMs: this.nowMs() });
    if (this.stalled) this.writableLength += bytes.length;
    return !this.stalled;
  }

  setTimeout(): void {}

  end(): void {
    this.ended = true;
  }

  /** The connection is gone, on either side's initiative. */
  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }

  /** The other end has read everything, and stays as it is. */
  drain(): void {
    this.writableLength = 0;
    this.emit('drain');
  }

  get text(): string {
    return Buffer.concat(this.writes.map(({ bytes }) => bytes)).toString();
  }

  /** The entries of an NDJSON stream. */
  get entries(): { seq: number; type: string; [field: string]: unknown }[] {
    const lines = this.text.split('\n').filter((line) => line.trim() !== '');
    return lines.map((line) => JSON.parse(line));
  }

  get seqs(): number[] {
    return this.entries.map(({ seq }) => seq);
  }
}

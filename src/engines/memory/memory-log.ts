/**
 * A log in memory: frames in an array, encoded as the file engine encodes them. It keeps the promises of a log within
 * one process: the disk outlives the log opened on it, and a newer writer fences the older one out.
 */
import { crc32 } from 'node:zlib';
import type { Entry } from '../../core/entries.ts';
import type { Opaque } from '../../core/opaque.ts';
import { areaOf, FILE_SPAN, FrameBuilder, KIND_BATCH, readHead } from '../frame.ts';
import { FrameReader } from '../frame-reader.ts';
import type { Log, LoggedEntry, LogPosition, LogSize, LogSnapshot, Relocation, Replay } from '../log.ts';
import { LogClosedError } from '../log.ts';
import type { MemoryDisk } from './memory-disk.ts';

const BATCH_BYTES_MAX = 4 * 1024 * 1024;

export class MemoryLog implements Log {
  readonly epoch: number;
  readonly full = false;
  readonly mayAnswer = true;
  readonly lost = new Promise<Error>(() => {});
  readonly batchBytesMax = BATCH_BYTES_MAX;
  readonly wantsCompaction = false;
  readonly #disk: MemoryDisk;
  readonly #writer: number;
  readonly #builder = new FrameBuilder();
  readonly #reader = new FrameReader();
  #building = false;
  #firstSeq = 0;
  #atMs = 0;
  #lastSeq = 0;
  #lastAtMs = 0;
  #checksum = 0;
  #fault: Error | null = null;
  #pending: Promise<unknown> = Promise.resolve();

  constructor(disk: MemoryDisk, replay: Replay) {
    this.#disk = disk;
    disk.writer += 1;
    this.#writer = disk.writer;
    let epoch = 0;
    for (const frame of disk.frames) {
      const head = readHead(frame, 0)!;
      this.#reader.entries(frame, head, 0, (entry, seq, atMs) => replay.entry(entry, seq, atMs));
      epoch = head.epoch;
      this.#lastSeq = head.firstSeq + head.count - 1;
      this.#lastAtMs = head.atMs;
      this.#checksum = head.checksum;
    }
    this.epoch = epoch + 1;
  }

  get position(): LogPosition {
    const first = this.#disk.frames[0];
    const firstSeq = first ? readHead(first, 0)!.firstSeq : this.#lastSeq + 1;
    return { lastSeq: this.#lastSeq, firstSeq, lastAtMs: this.#lastAtMs };
  }

  get size(): LogSize {
    return { bytes: this.#disk.bytes, files: 1 };
  }

  get batchBytes(): number {
    return this.#building ? this.#builder.bytes : 0;
  }

  nowMs(): null {
    return null;
  }

  seekSpace(): void {}

  past(): null {
    return null;
  }

  get areaAt(): number {
    return areaOf(this.#disk.frames.length, 0);
  }

  begin(firstSeq: number, atMs: number): void {
    if (this.#fault) throw this.#fault;
    this.#building = true;
    this.#firstSeq = firstSeq;
    this.#atMs = atMs;
    this.#builder.begin(this.#disk.frames.length, 0, null);
  }

  add(entry: Entry): void {
    this.#builder.add(entry);
  }

  async append(): Promise<void> {
    if (this.#fault) throw this.#fault;
    const count = this.#building ? this.#builder.count : 0;
    this.#building = false;
    if (count === 0) return;
    const frame = this.#builder.finish(KIND_BATCH, this.epoch, this.#firstSeq, this.#atMs, this.#checksum);
    const synced = this.#disk.sync();
    this.#pending = synced.catch(() => {});
    try {
      await synced;
      if (this.#disk.writer !== this.#writer) throw new LogClosedError('A newer writer has opened the log.');
    } catch (fault) {
      this.#fault = fault as Error;
      throw fault;
    }
    this.#disk.keep(Buffer.from(frame));
    this.#checksum = this.#builder.checksum;
    this.#lastSeq = this.#firstSeq + count - 1;
    this.#lastAtMs = this.#atMs;
  }

  async mark(): Promise<void> {
    if (this.#fault) throw this.#fault;
  }

  read(reference: Opaque): Uint8Array | null {
    if (reference.length === 0) return new Uint8Array(0);
    const frame = this.#disk.frames[Math.floor(reference.at / FILE_SPAN)];
    if (!frame) return null;
    const offset = reference.at % FILE_SPAN;
    const bytes = Buffer.from(frame.subarray(offset, offset + reference.length));
    return bytes.length === reference.length && crc32(bytes) === reference.crc ? bytes : null;
  }

  async *entries(fromSeq: number, limit: number): AsyncGenerator<LoggedEntry> {
    const durable = this.#lastSeq;
    let left = limit;
    for (const frame of [...this.#disk.frames]) {
      const head = readHead(frame, 0)!;
      if (head.firstSeq > durable) return;
      if (head.firstSeq + head.count <= fromSeq) continue;
      const found: LoggedEntry[] = [];
      this.#reader.entries(frame, head, 0, (entry, seq, atMs) => found.push({ seq, atMs, entry }));
      for (const logged of found) {
        if (left === 0) return;
        if (logged.seq < fromSeq) continue;
        left -= 1;
        yield logged;
      }
    }
  }

  async snapshot(): Promise<LogSnapshot | null> {
    return null;
  }

  async compact(): Promise<Relocation | null> {
    return null;
  }

  async dropOld(): Promise<void> {}

  async close(): Promise<void> {
    await this.#pending;
    this.#fault ??= new LogClosedError('The log is closed.');
  }
}

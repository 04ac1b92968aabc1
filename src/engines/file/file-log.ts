/**
 * The log of one data directory, open for writing. A batch is one frame, written by one write to a descriptor opened
 * for durable writes. After a failed write the log accepts nothing more: what reached the disk is unknown.
 *
 * The segment of a batch is chosen at `begin`, so that positions are known while the batch is built: the current one,
 * or the next one when a batch of the largest size would no longer fit.
 */
import { join } from 'node:path';
import type { Entry } from '../../core/entries.ts';
import type { Opaque } from '../../core/opaque.ts';
import type { Files, HeldLock } from '../../seams/files.ts';
import type { Threads } from '../../seams/threads.ts';
import type { Chain } from '../chain.ts';
import { areaOf, FRAME_HEAD_BYTES, FrameBuilder, KIND_BATCH, KIND_MARK } from '../frame.ts';
import { FrameReader } from '../frame-reader.ts';
import type { Log, LoggedEntry, LogPosition, LogSize, LogSnapshot, Relocation } from '../log.ts';
import { LogClosedError } from '../log.ts';
import { OpaqueStore } from '../opaque-store.ts';
import type { FilePast, LogPast } from '../past.ts';
import { RESTORE_JUMP } from '../restored-seq.ts';
import type { CheckpointOnDisk } from './checkpoint.ts';
import type { FileHead } from './file-head.ts';
import { encodeFileHead, FILE_HEAD_BYTES } from './file-head.ts';
import { fileName } from './file-names.ts';
import type { KeptHistory } from './kept-history.ts';
import type { LogFile } from './log-file.ts';
import { pastOf } from './past-of.ts';
import { isFull, Preallocation } from './preallocation.ts';
import type { RunningCompaction } from './running-compaction.ts';
import { startCompaction } from './running-compaction.ts';
import { Segment } from './segment.ts';
import { entriesOf } from './segment-entries.ts';
import { snapshotOf } from './snapshot.ts';
import { encodeSpareHead } from './spare-segment-head.ts';

export interface FileLogOptions {
  readonly files: Files;
  readonly dir: string;
  readonly segmentBytes: number;
  /** The size limit of a batch before its last operation … */
  readonly batchBytesMax: number;
  /** … and how much that operation may add. */
  readonly operationBytesMax: number;
  readonly recentBytesMax: number;
  readonly cacheBytesMax: number;
  readonly threads: Threads | null;
  readonly compactionBytesMin: number;
  readonly partBytesMax: number;
}

export interface FileLogStart {
  readonly lock: HeldLock;
  readonly checkpoint: CheckpointOnDisk | null;
  /** In order. The last one is written to. */
  readonly segments: Segment[];
  /** Allocated, at least in part, and not yet used. */
  readonly spare: Segment[];
  readonly history: KeptHistory;
  readonly chain: Chain;
  readonly lastNumber: number;
}

/** The files that a compaction replaced, until they are deleted. */
interface Replaced {
  readonly checkpoint: CheckpointOnDisk;
  readonly sealed: readonly Segment[];
}

/**
 * A compaction at idle priority may never finish. With this many times the threshold sealed, it runs at normal
 * priority.
 */
const URGENT_COMPACTIONS = 4;
/** The next segment is allocated when the current one is filled to this share. */
const AHEAD = 1 / 4;

export class FileLog implements Log {
  readonly epoch: number;
  readonly mayAnswer = true;
  readonly lost: Promise<Error>;
  #tellLost: (fault: Error) => void = () => undefined;
  readonly #options: FileLogOptions;
  readonly #lock: HeldLock;
  readonly #segments: Segment[];
  readonly #spare: Segment[];
  readonly #history: KeptHistory;
  readonly #chain: Chain;
  readonly #preallocation: Preallocation;
  readonly #store: OpaqueStore;
  readonly #builder = new FrameBuilder();
  readonly #markBuilder = new FrameBuilder();
  readonly #reader = new FrameReader();
  #checkpoint: CheckpointOnDisk | null;
  #compaction: RunningCompaction | null = null;
  /** The newest checkpoint and the files it replaced, until they are deleted. */
  #replaced: Replaced | null = null;
  #dropping: Promise<void> | null = null;
  #lastNumber: number;
  #target: Segment;
  #batchLimit: number | null = null;
  #firstSeq = 0;
  #atMs = 0;
  #marked = true;
  #writing: Promise<void> | null = null;
  #fault: Error | null = null;

  constructor(options: FileLogOptions, start: FileLogStart) {
    this.#options = options;
    this.#lock = start.lock;
    this.#checkpoint = start.checkpoint;
    this.#segments = start.segments;
    this.#spare = start.spare;
    this.#history = start.history;
    this.#chain = start.chain;
    this.#lastNumber = start.lastNumber;
    this.#target = this.#current;
    this.epoch = start.chain.epoch + 1;
    this.lost = new Promise((resolve) => {
      this.#tellLost = resolve;
    });
    this.#preallocation = new Preallocation(
      options.files,
      () => this.#wantsSpace(),
      (segment) => this.#leadOf(segment),
      async () => this.#isInPlace() && (await this.#history.dropOldest()),
    );
    this.#store = new OpaqueStore({ ...options, sourceOf: (number) => this.#sourceOf(number) });
    this.#preallocation.seek();
  }

  get position(): LogPosition {
    const { lastSeq, lastAtMs } = this.#chain;
    const first = this.#kept.find((segment) => segment.firstSeq !== 0);
    return { lastSeq, firstSeq: first?.firstSeq ?? lastSeq + 1, lastAtMs };
  }

  get size(): LogSize {
    const parts = this.#checkpoint?.parts ?? [];
    return {
      bytes:
        this.#history.bytes +
        this.#segments.reduce((sum, { end }) => sum + end, 0) +
        parts.reduce((sum, part) => sum + part.durable, 0),
      files: this.#segments.length + this.#spare.length + parts.length,
    };
  }

  get full(): boolean {
    return this.#preallocation.fault !== null;
  }

  get missingBytes(): number {
    const segment = this.#wantsSpace();
    return segment === null ? 0 : segment.capacity - segment.allocated;
  }

  get batchBytes(): number {
    return this.#batchLimit === null ? 0 : this.#builder.bytes;
  }

  get batchBytesMax(): number {
    return this.#batchLimit ?? this.#limitOf(this.#choose());
  }

  get wantsCompaction(): boolean {
    if (this.#options.threads === null || this.#compaction !== null || this.#replaced !== null) return false;
    return this.#compactionsWorth >= 1;
  }

  /** Sealed bytes as a multiple of the compaction threshold. */
  get #compactionsWorth(): number {
    const sealed = this.#segments.slice(0, -1).reduce((sum, { end }) => sum + end, 0);
    const checkpoint = this.#checkpoint?.parts.reduce((sum, { durable }) => sum + durable, 0) ?? 0;
    return sealed / Math.max(1, this.#options.compactionBytesMin, checkpoint);
  }

  nowMs(): null {
    return null;
  }

  seekSpace(): void {
    this.#preallocation.seek();
  }

  get areaAt(): number {
    const target = this.#choose();
    return areaOf(target.number, target.frameOffset);
  }

  begin(firstSeq: number, atMs: number): void {
    if (this.#fault) throw this.#fault;
    const { lastSeq } = this.#chain;
    if (firstSeq !== lastSeq + 1 && firstSeq < lastSeq + RESTORE_JUMP) {
      throw new Error(`A batch cannot begin at seq ${firstSeq} after seq ${lastSeq}.`);
    }
    const target = this.#choose();
    this.#target = target;
    this.#batchLimit = this.#limitOf(target);
    this.#firstSeq = firstSeq;
    this.#atMs = atMs;
    if (target.end === 0) target.head = this.#headOf(target);
    const lead = target.end === 0 ? encodeFileHead('seg', target.head!) : null;
    this.#builder.begin(target.number, target.frameOffset, lead);
    this.#preallocation.seek();
  }

  add(entry: Entry): void {
    this.#builder.add(entry);
  }

  append(isDirect = false): Promise<void> {
    if (this.#fault) return Promise.reject(this.#fault);
    const isBuilding = this.#batchLimit !== null;
    this.#batchLimit = null;
    if (!isBuilding || this.#builder.count === 0) return Promise.resolve();
    const { checksum } = this.#chain;
    const frame = this.#builder.finish(KIND_BATCH, this.epoch, this.#firstSeq, this.#atMs, checksum);
    const written = this.#append(this.#writing, frame, isDirect);
    this.#follow(written);
    return written;
  }

  mark(): Promise<void> {
    if (this.#fault) return Promise.reject(this.#fault);
    if (!this.#isInPlace()) return Promise.reject(this.#fault);
    // A batch that is being built or written also marks the one before it.
    if (this.#marked || this.#batchLimit !== null || this.#writing) return this.#writing ?? Promise.resolve();
    const segment = this.#current;
    const offset = segment.end;
    // Nothing may be written where the allocation still writes zeros. The mark can wait for the next call.
    if (segment.allocated < offset + FRAME_HEAD_BYTES && segment.allocated < segment.capacity) {
      return Promise.resolve();
    }
    const { checksum, lastSeq, lastAtMs } = this.#chain;
    this.#markBuilder.begin(segment.number, offset, null);
    const frame = this.#markBuilder.finish(KIND_MARK, this.epoch, lastSeq + 1, lastAtMs, checksum);
    // From here on the next batch is built after the mark and will be written after it.
    this.#chain.checksum = this.#markBuilder.checksum;
    segment.end += frame.length;
    this.#marked = true;
    const written = this.#write(segment, frame, offset).then(() => {
      segment.durable = offset + frame.length;
    });
    this.#follow(written);
    return written;
  }

  read(reference: Opaque): Uint8Array | null | Promise<Uint8Array | null> {
    return this.#store.read(reference);
  }

  async *entries(fromSeq: number, limit: number): AsyncGenerator<LoggedEntry> {
    const durable = this.#chain.lastSeq;
    const segments = this.#kept.filter(({ firstSeq, lastSeq }) => firstSeq !== 0 && lastSeq >= fromSeq);
    for (const segment of segments) segment.retain();
    try {
      let left = limit;
      for (const segment of segments) {
        for await (const found of entriesOf(segment, this.#reader, fromSeq)) {
          for (const logged of found) {
            if (left === 0 || logged.seq > durable) return;
            if (logged.seq < fromSeq) continue;
            left -= 1;
            yield logged;
          }
        }
      }
    } finally {
      for (const segment of segments) await segment.release();
    }
  }

  past(): LogPast<FilePast> {
    return pastOf(this.#options.dir, this.#history.bases, this.#checkpoint, this.#kept);
  }

  async snapshot(): Promise<LogSnapshot> {
    if (this.#fault) throw this.#fault;
    // A mark that is being written is already part of the chain but not yet durable.
    while (this.#current.durable < this.#current.end) await this.#writing;
    return snapshotOf(this.#checkpoint, this.#segments, this.#chain);
  }

  async compact(): Promise<Relocation | null> {
    if (this.#fault) throw this.#fault;
    this.#assertInPlace();
    const { files, dir, threads, partBytesMax } = this.#options;
    const sealed = this.#segments.slice(0, -1);
    if (threads === null || sealed.length === 0) return null;
    if (this.#compaction !== null || this.#replaced !== null) return null;
    this.#compaction = startCompaction(
      { files, dir, threads, partBytesMax },
      {
        checkpoint: this.#checkpoint,
        sealed,
        next: this.#current.head!,
        takeNumber: () => ++this.#lastNumber,
        isUrgent: this.#compactionsWorth >= URGENT_COMPACTIONS,
        assertInPlace: () => this.#assertInPlace(),
      },
    );
    try {
      const { checkpoint, relocation } = await this.#compaction.result;
      this.#replaced = { checkpoint, sealed };
      return relocation;
    } catch (fault) {
      if (isFull(fault) && this.#isInPlace()) await this.#history.dropOldest();
      throw fault;
    } finally {
      this.#compaction = null;
    }
  }

  /** Does nothing once the log is closed: the next writer removes the files. */
  async dropOld(): Promise<void> {
    if (this.#replaced === null) return;
    if (this.#fault) throw this.#fault;
    this.#assertInPlace();
    this.#dropping = this.#drop(this.#replaced);
    await this.#dropping;
  }

  async #drop({ checkpoint, sealed }: Replaced): Promise<void> {
    const old = this.#checkpoint;
    this.#checkpoint = checkpoint;
    this.#replaced = null;
    this.#segments.splice(0, sealed.length);
    this.#store.forget(new Set([...sealed, ...(old?.parts ?? [])].map(({ number }) => number)));
    // Dropped at once when no history is kept.
    await this.#history.add(old, sealed, checkpoint.head.atMs);
    await this.#history.trim(this.#chain.lastAtMs);
  }

  /** Resolves when there is a file to write to and it is known whether the disk is full. */
  async ready(): Promise<void> {
    const current = this.#current;
    if (current.file === null) await this.#preallocation.room(current, 1);
    if (this.#limitOf(current) > 0) return;
    // The reserve is used up. If no more is available, the log is `full`; the remaining space takes the first entry.
    await this.#preallocation.room(this.#next(), 1).catch(() => {});
  }

  async close(): Promise<void> {
    // A failure here was already reported to its caller, or is found again at the next opening.
    await this.#writing?.catch(() => {});
    if (!this.#fault) await this.mark().catch(() => {});
    this.#fault ??= new LogClosedError('The log is closed.');
    await this.#preallocation.stop();
    await this.#compaction?.stop();
    await this.#dropping?.catch(() => {});
    const parts = [...(this.#checkpoint?.parts ?? []), ...(this.#replaced?.checkpoint.parts ?? [])];
    for (const file of [...this.#segments, ...this.#spare, ...parts]) await file.drop();
    // A full disk leaves an empty segment, and at the next start that would look like a file that was cut.
    const empty = this.#spare.filter(({ allocated }) => allocated === 0);
    for (const { path } of empty) await this.#options.files.remove(path).catch(() => {});
    await this.#history.close();
    await this.#lock.release();
  }

  /** In order, those of the history included. */
  get #kept(): readonly Segment[] {
    return [...this.#history.segments, ...this.#segments];
  }

  get #current(): Segment {
    return this.#segments.at(-1)!;
  }

  async #append(before: Promise<void> | null, frame: Buffer, isDirect: boolean): Promise<void> {
    if (before !== null) await before;
    const target = this.#target;
    const start = target.end;
    const end = start + frame.length;
    // A batch that is larger than announced extends the file, which only costs time.
    const needed = Math.min(end, target.capacity);
    if (target.allocated < needed)
      await this.#preallocation.room(target, needed).catch((fault) => this.#die(fault));
    await this.#write(target, frame, start, isDirect);
    if (target !== this.#current) {
      this.#spare.splice(this.#spare.indexOf(target), 1);
      this.#segments.push(target);
    }
    const count = this.#builder.count;
    target.end = end;
    target.durable = end;
    target.note(this.#firstSeq, count, start === 0 ? FILE_HEAD_BYTES : start, this.#atMs);
    this.#chain.checksum = this.#builder.checksum;
    this.#chain.lastSeq = this.#firstSeq + count - 1;
    this.#chain.lastAtMs = this.#atMs;
    this.#chain.epoch = this.epoch;
    this.#marked = false;
    this.#store.recent.put(target.number, start, frame);
  }

  /** Writes all of the frame durably, or ends this log. */
  async #write(segment: Segment, frame: Buffer, offset: number, isDirect = false): Promise<void> {
    try {
      const file = segment.file!;
      const written = isDirect ? file.writeSync(frame, offset) : await file.write(frame, offset);
      if (written !== frame.length) throw new Error(`Only ${written} of ${frame.length} bytes were written.`);
    } catch (fault) {
      this.#die(fault);
    }
  }

  #die(fault: unknown): never {
    this.#fault ??= fault as Error;
    throw this.#fault;
  }

  /** Tracks the write until it settles. Its failure is reported to the caller that asked for it. */
  #follow(written: Promise<void>): void {
    const done = () => {
      if (this.#writing === written) this.#writing = null;
    };
    this.#writing = written;
    written.then(done, done);
  }

  #choose(): Segment {
    const current = this.#current;
    const { batchBytesMax, operationBytesMax } = this.#options;
    const wanted = FRAME_HEAD_BYTES * 2 + batchBytesMax + operationBytesMax;
    if (current.capacity - current.end >= wanted) return current;
    const next = this.#next();
    if (next.allocated >= Math.min(next.capacity, FILE_HEAD_BYTES + wanted)) return next;
    // The next segment is not ready. While this one takes any operation, smaller batches are better than waiting.
    if (this.#limitOf(current) > 0 || this.full) return current;
    return next;
  }

  /** How large a batch in this segment may get before its last operation, so that this operation still fits. */
  #limitOf(segment: Segment): number {
    const { batchBytesMax, operationBytesMax } = this.#options;
    const room = (this.full ? segment.allocated : segment.capacity) - segment.end;
    // Room for the file head, the frame head and the mark that may follow.
    const fixed = FILE_HEAD_BYTES + FRAME_HEAD_BYTES * 2;
    return Math.max(0, Math.min(batchBytesMax, room - operationBytesMax - fixed));
  }

  /** The segment after the current one. It may not be allocated yet. */
  #next(): Segment {
    const spare = this.#spare[0];
    if (spare) return spare;
    this.#lastNumber += 1;
    const { dir, segmentBytes } = this.#options;
    const name = fileName(this.#lastNumber, 'seg');
    const next = new Segment(this.#lastNumber, join(dir, name), segmentBytes);
    this.#spare.push(next);
    return next;
  }

  #wantsSpace(): Segment | null {
    const current = this.#current;
    if (current.allocated < current.capacity) return current;
    if (current.end < current.capacity * AHEAD) return null;
    const next = this.#next();
    return next.allocated < next.capacity ? next : null;
  }

  /**
   * Checked before anything is created, renamed or removed in the directory. If the directory was moved away, another
   * process may have started a new log at its path, and writing there would destroy it. So this log ends.
   */
  #isInPlace(): boolean {
    if (this.#lock.isInPlace()) return true;
    const { dir } = this.#options;
    this.#fault ??= new Error(`The data directory ${dir} was removed or replaced; nothing more is written.`);
    this.#tellLost(this.#fault);
    return false;
  }

  #assertInPlace(): void {
    if (!this.#isInPlace()) throw this.#fault;
  }

  /** The head of a spare segment, written when it is allocated. The first segment of a log has none. */
  #leadOf({ number }: Segment): Buffer | null {
    this.#assertInPlace();
    const after = this.#current.number;
    return number === after ? null : encodeSpareHead({ number, after, seq: this.#chain.lastSeq + 1 });
  }

  #headOf({ number }: Segment): FileHead {
    const { checksum, lastSeq, lastAtMs, epoch } = this.#chain;
    const sealed = { sealedThrough: 0, firstPart: 0 };
    return { ...sealed, number, seq: lastSeq + 1, previous: checksum, epoch, atMs: lastAtMs };
  }

  #sourceOf(number: number): LogFile | null {
    const isIt = (file: LogFile) => file.number === number;
    return (
      this.#kept.find(isIt) ??
      this.#checkpoint?.parts.find(isIt) ??
      this.#replaced?.checkpoint.parts.find(isIt) ??
      null
    );
  }
}

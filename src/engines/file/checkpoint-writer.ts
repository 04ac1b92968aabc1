/**
 * Writes a checkpoint (format: `checkpoint.ts`) as parts with temporary names. Syncs every megabyte, so that one
 * large sync never delays the log. The log renames the parts when all of them are durable.
 */
import { join } from 'node:path';
import type { ImageRecord } from '../../core/image.ts';
import { NOWHERE, type Opaque } from '../../core/opaque.ts';
import type { Files, OpenFile } from '../../seams/files.ts';
import { FrameBuilder, KIND_IMAGE, KIND_IMAGE_END } from '../frame.ts';
import type { OpaqueArea } from '../record-parts.ts';
import { RelocationList } from '../relocation-list.ts';
import type { FileHead } from './file-head.ts';
import { encodeFileHead } from './file-head.ts';
import { fileName } from './file-names.ts';
import type { SourceBlocks } from './source-blocks.ts';

const FRAME_BYTES = 1024 * 1024;
const SYNC_BYTES = 1024 * 1024;

export interface CheckpointWriterOptions {
  readonly files: Files;
  readonly dir: string;
  /** File numbers for the parts, at least as many as it can need. */
  readonly numbers: readonly number[];
  readonly partBytesMax: number;
  /** What the checkpoint covers. Each part fills in its own number. */
  readonly head: FileHead;
  readonly sourceBlocks: SourceBlocks;
}

export class CheckpointWriter implements OpaqueArea {
  readonly relocations = new RelocationList();
  readonly #options: CheckpointWriterOptions;
  readonly #builder = new FrameBuilder();
  /**
   * Offsets of the opaque bytes already in this frame, by their old position: names taken together share metadata.
   */
  readonly #taken = new Map<number, number>();
  readonly #parts: { readonly number: number; readonly file: OpenFile }[] = [];
  #offset = 0;
  #synced = 0;
  #previous = 0;

  constructor(options: CheckpointWriterOptions) {
    this.#options = options;
  }

  /** Returns the numbers of the parts. They are durable and still have temporary names. */
  async write(records: Iterable<ImageRecord>): Promise<number[]> {
    const { partBytesMax } = this.#options;
    const frameBytes = Math.min(FRAME_BYTES, partBytesMax);
    await this.#beginPart();
    for (const record of records) {
      this.#builder.addImage(record, this);
      if (this.#builder.bytes < frameBytes) continue;
      await this.#endFrame(KIND_IMAGE, 0);
      if (this.#offset >= partBytesMax) {
        await this.#endPart(0);
        await this.#beginPart();
      } else {
        this.#beginFrame();
      }
    }
    if (this.#builder.count > 0) await this.#endFrame(KIND_IMAGE, 0);
    await this.#endPart(this.#parts.length);
    return this.#parts.map(({ number }) => number);
  }

  /** Copies the referenced bytes into the frame and records the relocation. */
  take(opaque: Opaque): number {
    if (opaque.length === 0) return NOWHERE;
    const taken = this.#taken.get(opaque.at);
    if (taken !== undefined) return taken;
    const offset = this.#builder.copy(this.#options.sourceBlocks.read(opaque));
    this.relocations.add(opaque.at, this.#builder.positionOf(offset));
    this.#taken.set(opaque.at, offset);
    return offset;
  }

  async close(): Promise<void> {
    for (const { file } of this.#parts) await file.close();
  }

  async #beginPart(): Promise<void> {
    const { files, dir, numbers, head } = this.#options;
    const number = numbers[this.#parts.length];
    if (number === undefined)
      throw new Error('The checkpoint needs more parts than it was given numbers for.');
    const file = await files.open(join(dir, fileName(number, 'ckpt.tmp')), { create: true });
    this.#parts.push({ number, file });
    this.#offset = 0;
    this.#synced = 0;
    await this.#put(encodeFileHead('ckpt', { ...head, number, firstPart: this.#parts[0]!.number }));
    this.#beginFrame();
  }

  #beginFrame(): void {
    this.#taken.clear();
    this.#builder.begin(this.#parts.at(-1)!.number, this.#offset, null);
  }

  async #endFrame(kind: number, partsCount: number): Promise<void> {
    const { epoch, atMs } = this.#options.head;
    const frame = this.#builder.finish(kind, epoch, partsCount, atMs, this.#previous);
    this.#previous = this.#builder.checksum;
    await this.#put(frame);
  }

  async #endPart(partsCount: number): Promise<void> {
    this.#beginFrame();
    await this.#endFrame(KIND_IMAGE_END, partsCount);
    await this.#parts.at(-1)!.file.sync();
  }

  async #put(bytes: Buffer): Promise<void> {
    const { file } = this.#parts.at(-1)!;
    const written = await file.write(bytes, this.#offset);
    if (written !== bytes.length) throw new Error(`Only ${written} of ${bytes.length} bytes were written.`);
    this.#offset += written;
    if (this.#offset - this.#synced < SYNC_BYTES) return;
    await file.sync();
    this.#synced = this.#offset;
  }
}

export async function nameParts(files: Files, dir: string, numbers: readonly number[]): Promise<void> {
  for (const number of numbers) {
    await files.rename(join(dir, fileName(number, 'ckpt.tmp')), join(dir, fileName(number, 'ckpt')));
  }
  await files.syncDir(dir);
}

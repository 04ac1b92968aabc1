/**
 * A frame: one batch, as every engine stores it. All numbers are little-endian. A frame starts at a multiple of eight
 * bytes and is padded with zeros to the next one.
 *
 *    0  8 bytes  magic. 0xFF and 0xFE occur in no UTF-8 text, so no user data can look like a frame
 *    8  u32      checksum: CRC-32 of bytes 12…55, then of the records
 *   12  u32      checksum of the previous frame, in whichever file; 0 for the first frame of the log
 *   16  u32      length of the opaque area       20  u32  length of the records
 *   24  u32      number of records               28  u32  epoch of the writer
 *   32  f64      `seq` of the first record       40  f64  time of the batch
 *   48  u32      number of the file              52  u32  kind: 1 batch, 2 commit mark, 3 image, 4 end of image
 *   56           the opaque area: bytes whose checksums are in the records
 *                the records (`entry-encoder.ts`, `image-encoder.ts`)
 *
 * To change it: raise FORMAT_VERSION, give the new frame its own magic, and keep reading this one.
 */
import { crc32 } from 'node:zlib';
import type { Entry } from '../core/entries.ts';
import type { ImageRecord } from '../core/image.ts';
import { NOWHERE, type Opaque } from '../core/opaque.ts';
import { ByteWriter } from './byte-writer.ts';
import { encodeEntry } from './entry-encoder.ts';
import { encodeImage } from './image-encoder.ts';
import type { OpaqueArea } from './record-parts.ts';

export const FORMAT_VERSION = 1;
export const FRAME_HEAD_BYTES = 56;
export const FRAME_MAGIC = Buffer.from([0xff, 0x4c, 0x48, 0xfe, 0x66, 0x72, 0x31, 0xff]);

export const KIND_BATCH = 1;
export const KIND_MARK = 2;
export const KIND_IMAGE = 3;
export const KIND_IMAGE_END = 4;

/** A position is the file number times this, plus the offset in the file. */
export const FILE_SPAN = 2 ** 32;

export interface FrameHead {
  readonly offset: number;
  readonly bytes: number;
  readonly checksum: number;
  readonly previous: number;
  readonly recordsAt: number;
  readonly recordsEnd: number;
  readonly count: number;
  readonly epoch: number;
  readonly firstSeq: number;
  readonly atMs: number;
  readonly file: number;
  readonly kind: number;
}

const aligned = (bytes: number): number => Math.ceil(bytes / 8) * 8;

/** The head of a possible frame at `offset`, or null. Only the magic is checked. */
export function readHead(buffer: Buffer, offset: number): FrameHead | null {
  if (offset + FRAME_HEAD_BYTES > buffer.length) return null;
  if (FRAME_MAGIC.compare(buffer, offset, offset + 8) !== 0) return null;
  const opaqueBytes = buffer.readUInt32LE(offset + 16);
  const recordsBytes = buffer.readUInt32LE(offset + 20);
  const recordsAt = offset + FRAME_HEAD_BYTES + opaqueBytes;
  return {
    offset,
    bytes: aligned(FRAME_HEAD_BYTES + opaqueBytes + recordsBytes),
    checksum: buffer.readUInt32LE(offset + 8),
    previous: buffer.readUInt32LE(offset + 12),
    recordsAt,
    recordsEnd: recordsAt + recordsBytes,
    count: buffer.readUInt32LE(offset + 24),
    epoch: buffer.readUInt32LE(offset + 28),
    firstSeq: buffer.readDoubleLE(offset + 32),
    atMs: buffer.readDoubleLE(offset + 40),
    file: buffer.readUInt32LE(offset + 48),
    kind: buffer.readUInt32LE(offset + 52),
  };
}

/** Whether the checksum is right. The whole frame must be in the buffer. */
export function isWhole(buffer: Buffer, head: FrameHead): boolean {
  const fields = crc32(buffer.subarray(head.offset + 12, head.offset + FRAME_HEAD_BYTES));
  return crc32(buffer.subarray(head.recordsAt, head.recordsEnd), fields) === head.checksum;
}

/** A whole frame of file `file` at `offset`, or null. */
export function wholeFrame(buffer: Buffer, offset: number, file: number): FrameHead | null {
  const head = readHead(buffer, offset);
  if (head === null || head.file !== file || head.recordsEnd > buffer.length) return null;
  return isWhole(buffer, head) ? head : null;
}

/** Where the opaque area of a frame lies. */
export function areaOf(file: number, offset: number): number {
  return file * FILE_SPAN + offset + FRAME_HEAD_BYTES;
}

/** Builds frames one at a time in reused memory. A finished frame is valid until the next `begin`. */
export class FrameBuilder implements OpaqueArea {
  readonly #frame = new ByteWriter(64 * 1024);
  readonly #records = new ByteWriter(64 * 1024);
  #lead = 0;
  #areaAt = 0;
  #file = 0;
  #count = 0;
  checksum = 0;

  /** Starts a frame at `offset` of file `file`, written together with the `lead` bytes before it. */
  begin(file: number, offset: number, lead: Uint8Array | null): void {
    this.#frame.length = 0;
    this.#records.length = 0;
    this.#count = 0;
    this.#file = file;
    this.#areaAt = areaOf(file, offset);
    if (lead !== null) this.#frame.bytes(lead);
    this.#lead = this.#frame.length;
    this.#frame.reserve(FRAME_HEAD_BYTES);
    this.#frame.length += FRAME_HEAD_BYTES;
  }

  get count(): number {
    return this.#count;
  }

  /** The size of the frame without padding. */
  get bytes(): number {
    return this.#frame.length - this.#lead + this.#records.length;
  }

  add(entry: Entry): void {
    encodeEntry(this.#records, this, entry);
    this.#count += 1;
  }

  /** `area` supplies the bytes of opaques: the record does not carry them. */
  addImage(record: ImageRecord, area: OpaqueArea): void {
    encodeImage(this.#records, area, record);
    this.#count += 1;
  }

  /** Copies the referenced bytes into the opaque area, to the position that the reference names. */
  take(opaque: Opaque): number {
    const bytes = opaque.bytes;
    if (bytes === null) throw new Error('An entry refers to bytes that it does not carry.');
    const offset = bytes.length === 0 ? 0 : this.copy(bytes);
    const at = bytes.length === 0 ? NOWHERE : this.#areaAt + offset;
    if (opaque.at !== at)
      throw new Error(`Bytes expected at ${opaque.at} of the log would be written at ${at}.`);
    return offset;
  }

  /** Copies bytes into the opaque area and returns their offset in it. */
  copy(bytes: Uint8Array): number {
    const offset = this.#frame.length - this.#lead - FRAME_HEAD_BYTES;
    this.#frame.bytes(bytes);
    return offset;
  }

  /** The position of an offset in the opaque area. */
  positionOf(offset: number): number {
    return this.#areaAt + offset;
  }

  finish(kind: number, epoch: number, firstSeq: number, atMs: number, previous: number): Buffer {
    const frame = this.#frame;
    const records = this.#records;
    const opaqueEnd = frame.length;
    frame.bytes(records.buffer.subarray(0, records.length));
    const end = frame.length;
    frame.zeros(aligned(end - this.#lead) - (end - this.#lead));
    const total = frame.length;
    frame.length = this.#lead;
    frame.bytes(FRAME_MAGIC);
    frame.u32(0);
    frame.u32(previous);
    frame.u32(opaqueEnd - this.#lead - FRAME_HEAD_BYTES);
    frame.u32(records.length);
    frame.u32(this.#count);
    frame.u32(epoch);
    frame.f64(firstSeq);
    frame.f64(atMs);
    frame.u32(this.#file);
    frame.u32(kind);
    const fields = crc32(frame.buffer.subarray(this.#lead + 12, this.#lead + FRAME_HEAD_BYTES));
    this.checksum = crc32(frame.buffer.subarray(opaqueEnd, end), fields);
    frame.setU32(this.#lead + 8, this.checksum);
    frame.length = total;
    return frame.buffer.subarray(0, total);
  }
}

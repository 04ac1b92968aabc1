/**
 * The first 64 bytes of every file. Little-endian:
 *
 *    0  8 bytes  magic: one each for segments, checkpoints and spare segments
 *    8  u32      CRC-32 of bytes 12…63         12  u32  version of the format
 *   16  f64      number of the file
 *   24  f64      segment: the `seq` after the previous frame. Checkpoint: the last `seq` it covers.
 *                Spare: the next `seq` of the log when the spare was created
 *   32  u32      checksum of the previous frame (checkpoint: of the last frame it covers; spare: 0)
 *   36  u32      epoch of that frame           40  f64  time of that frame; spare: 0
 *   48  f64      checkpoint: number of the newest segment it covers. Spare: of the segment in use. Else 0
 *   56  f64      checkpoint: number of its first part; else 0
 *
 * The head of a segment is written together with its first frame. Until then the segment holds the head of a spare
 * (`spare-segment-head.ts`, absent in the first segment) and zeros. To change the format, see `frame.ts`: the version
 * is the same.
 */
import { crc32 } from 'node:zlib';
import { FORMAT_VERSION } from '../frame.ts';
import { LogTooNewError } from '../log.ts';

export const FILE_HEAD_BYTES = 64;

const SEGMENT_MAGIC = Buffer.from([0xff, 0x4c, 0x48, 0xfe, 0x73, 0x65, 0x67, 0xff]);
const CHECKPOINT_MAGIC = Buffer.from([0xff, 0x4c, 0x48, 0xfe, 0x63, 0x6b, 0x70, 0xff]);
const SPARE_MAGIC = Buffer.from([0xff, 0x4c, 0x48, 0xfe, 0x73, 0x70, 0x72, 0xff]);
/** All kinds begin with these. */
const COMMON_BYTES = 4;
const MAGIC = { seg: SEGMENT_MAGIC, ckpt: CHECKPOINT_MAGIC, spare: SPARE_MAGIC };

export type HeadKind = keyof typeof MAGIC;

export interface FileHead {
  readonly number: number;
  readonly seq: number;
  readonly previous: number;
  readonly epoch: number;
  readonly atMs: number;
  readonly sealedThrough: number;
  readonly firstPart: number;
}

export function encodeFileHead(kind: HeadKind, head: FileHead): Buffer {
  const bytes = Buffer.alloc(FILE_HEAD_BYTES);
  MAGIC[kind].copy(bytes);
  bytes.writeUInt32LE(FORMAT_VERSION, 12);
  bytes.writeDoubleLE(head.number, 16);
  bytes.writeDoubleLE(head.seq, 24);
  bytes.writeUInt32LE(head.previous, 32);
  bytes.writeUInt32LE(head.epoch, 36);
  bytes.writeDoubleLE(head.atMs, 40);
  bytes.writeDoubleLE(head.sealedThrough, 48);
  bytes.writeDoubleLE(head.firstPart, 56);
  bytes.writeUInt32LE(crc32(bytes.subarray(12)), 8);
  return bytes;
}

/** Whether these bytes begin a head of this kind and of no other. */
export function isBeginningOfHead(kind: HeadKind, bytes: Buffer): boolean {
  const magic = bytes.subarray(0, SEGMENT_MAGIC.length);
  return magic.length > COMMON_BYTES && MAGIC[kind].subarray(0, magic.length).equals(magic);
}

/** The head of a file, or null when the bytes are not a head. */
export function decodeFileHead(kind: HeadKind, name: string, bytes: Buffer): FileHead | null {
  if (bytes.length < FILE_HEAD_BYTES) return null;
  if (MAGIC[kind].compare(bytes, 0, 8) !== 0) return null;
  if (crc32(bytes.subarray(12, FILE_HEAD_BYTES)) !== bytes.readUInt32LE(8)) return null;
  const version = bytes.readUInt32LE(12);
  if (version > FORMAT_VERSION) {
    throw new LogTooNewError(
      `${name} has format ${version}; this version of leasehold reads up to ${FORMAT_VERSION}.`,
    );
  }
  return {
    number: bytes.readDoubleLE(16),
    seq: bytes.readDoubleLE(24),
    previous: bytes.readUInt32LE(32),
    epoch: bytes.readUInt32LE(36),
    atMs: bytes.readDoubleLE(40),
    sealedThrough: bytes.readDoubleLE(48),
    firstPart: bytes.readDoubleLE(56),
  };
}

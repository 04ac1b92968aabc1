/**
 * Reads a data directory without locking it, for `leasehold wal verify`, `stat` and `cat`. Changes nothing. A server
 * may be writing to the directory; then a torn tail is most likely the batch it is writing, and the report names the
 * process.
 */
import { crc32 } from 'node:zlib';
import type { Opaque } from '../../core/opaque.ts';
import type { Files } from '../../seams/files.ts';
import type { FrameHead } from '../frame.ts';
import { FILE_SPAN, KIND_BATCH, KIND_IMAGE } from '../frame.ts';
import { FrameReader } from '../frame-reader.ts';
import { LogDamagedError, type LoggedEntry } from '../log.ts';
import { OpaqueStore } from '../opaque-store.ts';
import { assertComplete, readManifest } from './backup-manifest.ts';
import { ownerOf } from './data-dir.ts';
import { numberedNames } from './file-names.ts';
import { EVERYTHING, KeptHistory } from './kept-history.ts';
import type { LogFile } from './log-file.ts';
import type { Recovered } from './recovery.ts';
import { recover } from './recovery.ts';
import { SEGMENT_BYTES } from './segment.ts';
import { entriesOf } from './segment-entries.ts';
import { truncatedView } from './truncated-view.ts';
import { assertFinished } from './unfinished-copy.ts';

interface FileReport {
  readonly name: string;
  readonly kind: 'segment' | 'checkpoint';
  /** Bytes in use, and the size of the file. */
  readonly bytes: number;
  readonly allocatedBytes: number;
  /** 0 when the file holds no entries. */
  readonly firstSeq: number;
  readonly lastSeq: number;
}

interface DamagedOpaque {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
}

interface HistoryReport {
  readonly firstSeq: number;
  readonly firstAtMs: number;
  /** On disk, with the checkpoints in between. */
  readonly bytes: number;
}

export interface LogReport {
  readonly dir: string;
  /**
   * The content of the lock file; null when the last writer closed the log. After a crash it names a dead process.
   */
  readonly inUseBy: string | null;
  /** Whether that process still holds the directory; null when unknown. */
  readonly isInUse: boolean | null;
  readonly epoch: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly lastAtMs: number;
  /** Entries that can be read one by one, and records of the checkpoint before them. */
  readonly entries: number;
  readonly imageRecords: number;
  /** The last `seq` that the checkpoint covers; null without one. */
  readonly checkpointSeq: number | null;
  readonly files: readonly FileReport[];
  /** The offset of a torn write. The next writer cuts it. */
  readonly torn: { readonly file: string; readonly offset: number } | null;
  /** What is kept before the checkpoint for the time machine; a writer without `--history` removes it. Null: nothing. */
  readonly history: HistoryReport | null;
  /** Files that the next writer will remove. */
  readonly leftovers: readonly string[];
  /** Opaque bytes with a wrong checksum; empty unless they were checked. No other data is affected. */
  readonly damagedOpaques: readonly DamagedOpaque[];
}

export interface LogInspection {
  readonly report: LogReport;
  entries(fromSeq: number, limit: number): AsyncGenerator<LoggedEntry>;
  read(reference: Opaque): Uint8Array | null | Promise<Uint8Array | null>;
  close(): Promise<void>;
}

/** What opening the log would find, without opaque checksums. Throws LogDamagedError in the same cases. */
export async function statLog(files: Files, dir: string): Promise<LogReport> {
  return reportAndClose(await inspectLog(files, dir, { opaques: false }));
}

/** The same, with every opaque checksum. A backup must also match its manifest. */
export async function verifyLog(files: Files, dir: string): Promise<LogReport> {
  const report = await reportAndClose(await inspectLog(files, dir, { opaques: true }));
  const manifest = await readManifest(files, dir);
  if (manifest !== null) assertComplete(manifest, report);
  return report;
}

async function reportAndClose(inspection: LogInspection): Promise<LogReport> {
  await inspection.close();
  return inspection.report;
}

export async function inspectLog(
  files: Files,
  dir: string,
  { opaques }: { readonly opaques: boolean },
): Promise<LogInspection> {
  const names = (await files.list(dir)) ?? [];
  assertFinished(dir, names);
  if (numberedNames(names).length === 0) throw new Error(`There is no log in ${dir}.`);
  const reader = new FrameReader();
  const damagedOpaques: DamagedOpaque[] = [];
  let entries = 0;
  let imageRecords = 0;
  const frame = (file: LogFile, buffer: Buffer, head: FrameHead, shift: number) => {
    if (head.kind === KIND_BATCH) entries += head.count;
    if (head.kind === KIND_IMAGE) imageRecords += head.count;
    if (opaques) damagedOpaques.push(...damagedIn(reader, file, buffer, head, shift));
  };
  const replay = { image() {}, entry() {} };
  const recovered = await readMoving(files, (view) => {
    entries = 0;
    imageRecords = 0;
    damagedOpaques.length = 0;
    return recover({ files: view, dir, replay, segmentBytes: SEGMENT_BYTES, frame });
  });
  const { chain, checkpoint, segments, torn } = recovered;
  const kept = await keptIn(files, dir, recovered);
  const all: readonly LogFile[] = [...segments, ...recovered.blank, ...(checkpoint?.parts ?? [])];
  const store = new OpaqueStore({
    recentBytesMax: 0,
    cacheBytesMax: 4 * 1024 * 1024,
    sourceOf: (number) => all.find((file) => file.number === number) ?? null,
  });
  const owner = await ownerOf(files, dir);
  const report: LogReport = {
    dir,
    inUseBy: owner?.name ?? null,
    isInUse: owner === null ? false : owner.isRunning,
    epoch: chain.epoch,
    firstSeq: segments[0]?.firstSeq ?? chain.lastSeq + 1,
    lastSeq: chain.lastSeq,
    lastAtMs: chain.lastAtMs,
    entries,
    imageRecords,
    checkpointSeq: checkpoint?.head.seq ?? null,
    files: filesOf(recovered),
    torn,
    ...kept,
    damagedOpaques,
  };
  return {
    report,
    async *entries(fromSeq, limit) {
      let left = limit;
      for (const segment of segments) {
        if (segment.lastSeq < fromSeq) continue;
        for await (const found of entriesOf(segment, reader, fromSeq)) {
          for (const logged of found) {
            if (left === 0) return;
            if (logged.seq < fromSeq) continue;
            left -= 1;
            yield logged;
          }
        }
      }
    },
    read: (reference) => store.read(reference),
    async close() {
      for (const file of all) await file.drop();
    },
  };
}

/**
 * Reads a log that may be written at the same time. A frame can look damaged because it was read before it was
 * written, and the frames after it later. Damage is permanent: what a second read does not find was the tail of the
 * log.
 */
async function readMoving(files: Files, read: (files: Files) => Promise<Recovered>): Promise<Recovered> {
  try {
    return await read(files);
  } catch (first) {
    if (!(first instanceof LogDamagedError)) throw first;
    try {
      return await read(files);
    } catch (second) {
      if (!(second instanceof LogDamagedError)) throw second;
      if (second.file === first.file && second.offset === first.offset) throw second;
    }
    return await read(truncatedView(files, first.file, first.offset));
  }
}

/** Finds the history as the next writer would, and reads only the heads of its files. */
async function keptIn(
  files: Files,
  dir: string,
  { leftovers, checkpoint }: Recovered,
): Promise<Pick<LogReport, 'history' | 'leftovers'>> {
  const kept = new KeptHistory(files, dir, EVERYTHING);
  try {
    const others = await kept.find(leftovers, checkpoint);
    const { bytes, segments } = kept;
    const [first] = segments;
    const history =
      first === undefined ? null : { firstSeq: first.firstSeq, firstAtMs: first.firstAtMs, bytes };
    return { history, leftovers: others };
  } finally {
    await kept.close();
  }
}

function damagedIn(
  reader: FrameReader,
  file: LogFile,
  buffer: Buffer,
  head: FrameHead,
  shift: number,
): DamagedOpaque[] {
  const kind = head.kind === KIND_IMAGE ? 'image' : 'entries';
  return reader
    .opaques(buffer, head, shift, kind)
    .map(({ at, length, crc }) => ({ offset: at - file.number * FILE_SPAN, length, crc }))
    .filter(({ offset, length, crc }) => {
      const start = offset - shift;
      return length > 0 && crc32(buffer.subarray(start, start + length)) !== crc;
    })
    .map(({ offset, length }) => ({ file: file.path, offset, length }));
}

function filesOf({ checkpoint, segments, blank }: Recovered): FileReport[] {
  const parts = (checkpoint?.parts ?? []).map(
    ({ name, durable }): FileReport => ({
      name,
      kind: 'checkpoint',
      bytes: durable,
      allocatedBytes: durable,
      firstSeq: 0,
      lastSeq: checkpoint!.head.seq,
    }),
  );
  const used = [...segments, ...blank].map(
    ({ name, end, allocated, firstSeq, lastSeq }): FileReport => ({
      name,
      kind: 'segment',
      bytes: end,
      allocatedBytes: allocated,
      firstSeq,
      lastSeq,
    }),
  );
  return [...parts, ...used];
}

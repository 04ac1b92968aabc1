/**
 * Opens the log of a data directory: creates the directory, takes the lock, recovers, and repairs what a crash left
 * behind before the first append. A torn tail is overwritten with zeros, so that unacknowledged bytes cannot
 * reappear. The newest frame is written again unless something proves that it was durable: it may have been read from
 * a page cache that never reached the disk. A spare segment without a head gets one.
 */
import { join, resolve } from 'node:path';
import type { Files } from '../../seams/files.ts';
import type { Threads } from '../../seams/threads.ts';
import type { Engine, Log, Replay } from '../log.ts';
import { MANIFEST_NAME } from './backup-manifest.ts';
import { assertLocal, makeDirs, takeLock } from './data-dir.ts';
import { FILE_HEAD_BYTES } from './file-head.ts';
import { FileLog } from './file-log.ts';
import { fileName } from './file-names.ts';
import { type HistoryLimits, KeptHistory } from './kept-history.ts';
import type { Recovered } from './recovery.ts';
import { recover } from './recovery.ts';
import { SEGMENT_BYTES, Segment } from './segment.ts';
import { encodeSpareHead } from './spare-segment-head.ts';
import { assertNoRestoreBegun } from './unfinished-copy.ts';
import { writeZeros } from './zeroed-space.ts';

const MIB = 1024 * 1024;

export interface FileEngineOptions {
  readonly dir: string;
  readonly files: Files;
  /** Size of a segment; 64 MiB. */
  readonly segmentBytes?: number;
  /** Size of a batch before its last operation; 4 MiB, and at most a sixteenth of a segment. */
  readonly batchBytesMax?: number;
  /** What one operation may add to a batch at most; 1.5 MiB, and at most an eighth of a segment. */
  readonly operationBytesMax?: number;
  /** How many of the newest bytes stay in memory; 32 MiB. */
  readonly recentBytesMax?: number;
  /** Cache for blocks read from older files; 16 MiB. */
  readonly cacheBytesMax?: number;
  /** Where compaction runs; without it the log is never compacted. */
  readonly threads?: Threads;
  /** Sealed bytes that make a compaction worthwhile, unless the checkpoint is larger; 256 MiB. */
  readonly compactionBytesMin?: number;
  /** Size of one part of a checkpoint; 1 GiB, and it must stay below 4 GiB. */
  readonly partBytesMax?: number;
  /** What is kept for the time machine besides what the log needs; without it nothing. */
  readonly history?: HistoryLimits;
  /** Opens a directory on a network file system, where the lock may be unreliable. */
  readonly allowNetworkFileSystem?: boolean;
  /** Called when an unfinished tail was cut at the opening. */
  readonly onTornTail?: (tail: { readonly file: string; readonly offset: number }) => void;
}

export function fileEngine(options: FileEngineOptions): Engine {
  const dir = resolve(options.dir);
  return {
    open: (replay) => openLog({ ...options, dir }, replay),
    assertFree: () => assertFree(options.files, dir),
  };
}

async function assertFree(files: Files, dir: string): Promise<void> {
  if ((await files.list(dir)) === null) return;
  const lock = await takeLock(files, dir);
  await lock.release();
}

async function openLog(options: FileEngineOptions, replay: Replay): Promise<Log> {
  const { files, dir, segmentBytes = SEGMENT_BYTES } = options;
  await assertNoRestoreBegun(files, dir);
  await makeDirs(files, dir);
  if ((await files.list(dir))?.includes(MANIFEST_NAME)) {
    throw new Error(
      `${dir} is a backup (it has a ${MANIFEST_NAME}): a server on it would issue numbers that were already issued. ` +
        `Restore it into another directory with "leasehold wal restore".`,
    );
  }
  if (!options.allowNetworkFileSystem) await assertLocal(files, dir);
  const lock = await takeLock(files, dir);
  let recovered: Recovered | null = null;
  let history: KeptHistory | null = null;
  try {
    recovered = await recover({ files, dir, replay, segmentBytes });
    history = new KeptHistory(files, dir, options.history ?? null);
    await repair(files, dir, recovered, history);
    if (recovered.torn) options.onTornTail?.(recovered.torn);
    await history.trim(recovered.chain.lastAtMs);
    const { checkpoint, segments, blank, chain } = recovered;
    const lastNumber = Math.max(recovered.lastNumber, 1);
    if (segments.length === 0) {
      segments.push(
        blank.shift() ?? new Segment(lastNumber, join(dir, fileName(lastNumber, 'seg')), segmentBytes),
      );
    }
    const log = new FileLog(
      {
        files,
        dir,
        segmentBytes,
        batchBytesMax: options.batchBytesMax ?? Math.min(4 * MIB, segmentBytes / 16),
        operationBytesMax: options.operationBytesMax ?? Math.min(1.5 * MIB, segmentBytes / 8),
        recentBytesMax: options.recentBytesMax ?? 32 * MIB,
        cacheBytesMax: options.cacheBytesMax ?? 16 * MIB,
        threads: options.threads ?? null,
        compactionBytesMin: options.compactionBytesMin ?? 256 * MIB,
        partBytesMax: options.partBytesMax ?? 1024 * MIB,
      },
      { lock, checkpoint, segments, spare: blank, history, chain, lastNumber },
    );
    await log.ready();
    return log;
  } catch (fault) {
    if (recovered) await closeAll(recovered);
    await history?.close();
    await lock.release();
    throw fault;
  }
}

async function repair(files: Files, dir: string, recovered: Recovered, history: KeptHistory): Promise<void> {
  const { segments, blank, chain, unproven, checkpoint } = recovered;
  // The previous process may have created or renamed files and died before syncing the directory.
  await files.syncDir(dir);
  const current = segments.at(-1);
  for (const segment of current ? [current, ...blank] : blank) {
    await segment.file?.close();
    segment.file = await files.open(segment.path, { durable: true });
    await writeZeros(segment.file, segment.spareHead ? FILE_HEAD_BYTES : segment.end, segment.allocated);
  }
  if (unproven) await write(unproven.segment, unproven.bytes, unproven.offset);
  // Only now the whole log is known to be durable, which is what the head of a spare states.
  for (const spare of current ? blank : []) {
    if (spare.spareHead || spare.allocated < FILE_HEAD_BYTES) continue;
    const { number } = spare;
    await write(spare, encodeSpareHead({ number, after: current!.number, seq: chain.lastSeq + 1 }), 0);
  }
  const leftovers = await history.find(recovered.leftovers, checkpoint);
  for (const name of leftovers) await files.remove(join(dir, name));
  if (leftovers.length > 0) await files.syncDir(dir);
}

async function write(segment: Segment, bytes: Buffer, offset: number): Promise<void> {
  const written = await segment.file!.write(bytes, offset);
  if (written !== bytes.length) throw new Error(`Only ${written} of ${bytes.length} bytes were written.`);
}

async function closeAll({ segments, blank, checkpoint }: Recovered): Promise<void> {
  for (const file of [...segments, ...blank, ...(checkpoint?.parts ?? [])]) await file.drop();
}

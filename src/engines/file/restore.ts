/**
 * Restores a backup, which is a copy of a data directory, into an empty directory. The restored log starts a new
 * epoch at least 2^40 above everything in the backup and above all earlier restores. Entries after the backup are
 * lost, but no fence issued in them is ever issued again.
 *
 * Until the log is complete, the directory is marked as unfinished (`restore-target.ts`). The new epoch is written
 * into the copy of the newest segment before that file is renamed to its final name, and files are renamed from the
 * newest to the oldest. So a version that does not know the marker, or an operator who removes it, finds a log
 * without its beginning, never an old log that looks complete.
 *
 * A directory in use by a writer is not a backup: bytes read at different moments need not be consistent.
 */
import { join, resolve } from 'node:path';
import type { Files, OpenFile } from '../../seams/files.ts';
import type { Chain } from '../chain.ts';
import { FrameBuilder, KIND_BATCH } from '../frame.ts';
import { LogHeldError } from '../log.ts';
import { restoredEpoch } from '../restored-epoch.ts';
import { restoredSeq } from '../restored-seq.ts';
import { ownerOf } from './data-dir.ts';
import type { FileHead } from './file-head.ts';
import { encodeFileHead, FILE_HEAD_BYTES } from './file-head.ts';
import { fileName } from './file-names.ts';
import type { LogReport } from './inspect.ts';
import { verifyLog } from './inspect.ts';
import type { Recovered } from './recovery.ts';
import { recover } from './recovery.ts';
import { claimTarget, clearTarget, unmark } from './restore-target.ts';
import { SEGMENT_BYTES } from './segment.ts';
import { assertSeparate } from './separate-dirs.ts';
import { isDiskFull, writeFully } from './write-fully.ts';

const PIECE_BYTES = 1024 * 1024;

export interface RestoreOptions {
  readonly files: Files;
  readonly backupDir: string;
  readonly dir: string;
  readonly nowMs: number;
  /** 32 random bits. */
  readonly seed: number;
  /** A number known to have been issued, which the backup may not contain. */
  readonly aboveSeq?: number | undefined;
  /** The format that `EpochStarted` records. */
  readonly format: string;
  readonly version: number;
}

export interface Restored {
  readonly backup: LogReport;
  /** The `seq` at which the new epoch starts. */
  readonly seq: number;
  readonly epoch: number;
}

export async function restoreLog(options: RestoreOptions): Promise<Restored> {
  const { files, backupDir, nowMs, aboveSeq } = options;
  const dir = resolve(options.dir);
  await assertSeparate(files, backupDir, options.dir);
  await assertUnused(files, backupDir);
  const backup = await verifyLog(files, backupDir);
  const replay = { image() {}, entry() {} };
  const recovered = await recover({ files, dir: backupDir, replay, segmentBytes: SEGMENT_BYTES });
  try {
    // A writer may have opened it while it was read.
    await assertUnused(files, backupDir);
    // Before anything is created: too few numbers may be left.
    const seq = restoredSeq({ lastSeq: recovered.chain.lastSeq, nowMs, aboveSeq });
    const lock = await claimTarget(files, dir);
    try {
      const epoch = await copyAll({ ...options, dir }, recovered, seq).catch((fault: unknown) =>
        giveUp(files, dir, fault),
      );
      await unmark(files, dir);
      return { backup, seq, epoch };
    } finally {
      await lock.release();
    }
  } finally {
    const { segments, blank, checkpoint } = recovered;
    for (const file of [...segments, ...blank, ...(checkpoint?.parts ?? [])]) await file.drop();
  }
}

/** Frees the space, reports the failure, and leaves the directory marked. */
async function giveUp(files: Files, dir: string, fault: unknown): Promise<never> {
  const isCleared = await clearTarget(files, dir).then(
    () => true,
    // The next restore removes the rest.
    () => false,
  );
  const cleared = `What it had copied ${isCleared ? 'was' : 'could not be'} removed.`;
  throw new Error(
    `The restore into ${dir} failed: ${reasonOf(fault)}. ${cleared} Run it again, or remove the directory; until then it is not opened.`,
    { cause: fault },
  );
}

function reasonOf(fault: unknown): string {
  const { code, message } = Object(fault) as { readonly code?: unknown; readonly message?: unknown };
  if (isDiskFull(fault)) return `the disk is full (${code})`;
  return String(message ?? fault).replace(/\.$/, '');
}

async function assertUnused(files: Files, backupDir: string): Promise<void> {
  const owner = await ownerOf(files, backupDir);
  if (owner?.isRunning !== true) return;
  throw new LogHeldError(
    owner.name,
    `${backupDir} is in use by ${owner.name}: make a backup of it with "leasehold backup" and restore that, or stop this process first.`,
  );
}

/** Copies the files, adds a new epoch at the end, and returns its number. */
async function copyAll(options: RestoreOptions, recovered: Recovered, seq: number): Promise<number> {
  const { files, dir, seed } = options;
  await clearTarget(files, dir);
  const { chain, checkpoint, segments } = recovered;
  const newest = segments.at(-1);
  const number = newest?.number ?? Math.max(1, recovered.lastNumber);
  const end = newest?.end ?? 0;
  const epoch = restoredEpoch(chain.epoch, seed);
  const frame = restoredFrame(options, chain, { number, end, seq, epoch });
  const target = await files.open(join(dir, fileName(number, 'seg.tmp')), { create: true });
  try {
    if (newest) await copyBytes(newest.file!, target, newest.end);
    await writeFully(target, frame, end);
    await target.sync();
  } finally {
    await target.close();
  }
  await name(files, dir, fileName(number, 'seg'));
  const older = [...(checkpoint?.parts ?? []), ...segments.slice(0, -1)].reverse();
  for (const { name: fileNamed, file, durable } of older) {
    const copy = await files.open(join(dir, `${fileNamed}.tmp`), { create: true });
    try {
      await copyBytes(file!, copy, durable);
      await copy.sync();
    } finally {
      await copy.close();
    }
    await name(files, dir, fileNamed);
  }
  return epoch;
}

interface RestoredEpoch {
  /** The segment that the epoch is written to, and where its frames end. */
  readonly number: number;
  readonly end: number;
  readonly seq: number;
  readonly epoch: number;
}

function restoredFrame(
  { format, version, nowMs }: RestoreOptions,
  chain: Chain,
  { number, end, seq, epoch }: RestoredEpoch,
): Buffer {
  const head: FileHead = {
    number,
    seq: chain.lastSeq + 1,
    previous: chain.checksum,
    epoch: chain.epoch,
    atMs: chain.lastAtMs,
    sealedThrough: 0,
    firstPart: 0,
  };
  const builder = new FrameBuilder();
  const lead = end === 0 ? encodeFileHead('seg', head) : null;
  builder.begin(number, end === 0 ? FILE_HEAD_BYTES : end, lead);
  builder.add({ type: 'EpochStarted', epoch, format, version, restored: true });
  return builder.finish(KIND_BATCH, epoch, seq, Math.max(nowMs, chain.lastAtMs), chain.checksum);
}

async function copyBytes(from: OpenFile, to: OpenFile, bytes: number): Promise<void> {
  const piece = Buffer.alloc(Math.min(PIECE_BYTES, bytes));
  for (let at = 0; at < bytes; at += piece.length) {
    const length = Math.min(piece.length, bytes - at);
    const count = await from.read(piece, 0, length, at);
    if (count !== length) throw new Error('The backup became shorter while it was being copied.');
    await writeFully(to, piece.subarray(0, length), at);
  }
}

async function name(files: Files, dir: string, fileNamed: string): Promise<void> {
  await files.rename(join(dir, `${fileNamed}.tmp`), join(dir, fileNamed));
  await files.syncDir(dir);
}

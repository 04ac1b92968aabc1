/**
 * Restores a backup, a copy of a data directory, into an empty one. The restored log begins a new epoch 2^40 and
 * more above everything the backup knows, and above whatever was restored before: what happened after the backup was
 * made is lost, but no fence that was given out then can ever be given out again.
 *
 * The new epoch is written into the copy of the newest segment before that gets its name, and files get their
 * names from the newest to the oldest. So a restore that was cut short is a log without its beginning,
 * which nobody will open, and never an old log that looks whole.
 *
 * A directory that somebody writes to is no backup: what is read of it at different moments need not fit together.
 */
import { join } from 'node:path';
import { FrameBuilder, KIND_BATCH } from '../frame.ts';
import { LogHeldError } from '../log.ts';
import { restoredSeq } from '../restored-seq.ts';
import { assertApart } from './apart.ts';
import { MANIFEST_NAME } from './backup-manifest.ts';
import { makeDirs, ownerOf, takeLock } from './data-dir.ts';
import type { FileHead } from './file-head.ts';
import { encodeFileHead, FILE_HEAD_BYTES } from './file-head.ts';
import { fileName, numberedNames } from './file-names.ts';
import type { Files, OpenFile } from './files.ts';
import type { LogReport } from './inspect.ts';
import { verifyLog } from './inspect.ts';
import type { Chain, Recovered } from './recovery.ts';
import { recover } from './recovery.ts';
import { isPart } from './unfinished.ts';

const PIECE_BYTES = 1024 * 1024;

export interface RestoreOptions {
  readonly files: Files;
  readonly backupDir: string;
  readonly dir: string;
  readonly nowMs: number;
  /** A number that is known to have been given out, and that the backup may not know of. */
  readonly aboveSeq?: number | undefined;
  /** What `EpochStarted` says about the format. */
  readonly format: string;
  readonly version: number;
}

export interface Restored {
  /** What was found in the backup. */
  readonly backup: LogReport;
  /** The `seq` of the new epoch. */
  readonly seq: number;
  readonly epoch: number;
}

export async function restoreLog(options: RestoreOptions): Promise<Restored> {
  const { files, backupDir, dir, nowMs, aboveSeq } = options;
  await assertApart(files, backupDir, dir);
  await assertUnused(files, backupDir);
  const backup = await verifyLog(files, backupDir);
  const replay = { image() {}, entry() {} };
  const recovered = await recover({ files, dir: backupDir, replay, segmentBytes: 0 });
  try {
    // Somebody may have begun to write while it was read.
    await assertUnused(files, backupDir);
    // Before anything is made: there may be no number left to go on with.
    const seq = restoredSeq({ lastSeq: recovered.chain.lastSeq, nowMs, aboveSeq });
    await makeDirs(files, dir);
    const lock = await takeLock(files, dir);
    try {
      const names = (await files.list(dir)) ?? [];
      if (numberedNames(names).length > 0 || names.includes(MANIFEST_NAME) || names.some(isPart)) {
        throw new Error(`${dir} already holds a log. Restore into an empty directory.`);
      }
      return { backup, seq, epoch: await copyAll(options, recovered, seq) };
    } finally {
      await lock.release();
    }
  } finally {
    const { segments, blank, checkpoint } = recovered;
    for (const file of [...segments, ...blank, ...(checkpoint?.parts ?? [])]) await file.drop();
  }
}

async function assertUnused(files: Files, backupDir: string): Promise<void> {
  const owner = await ownerOf(files, backupDir);
  if (owner?.isRunning !== true) return;
  throw new LogHeldError(
    owner.name,
    `${backupDir} is in use by ${owner.name}: make a backup of it with "leasehold backup" and restore that, or stop this process first.`,
  );
}

/** Copies what was found, with a new epoch at its end, and says which. */
async function copyAll(options: RestoreOptions, recovered: Recovered, seq: number): Promise<number> {
  const { files, dir } = options;
  const { chain, checkpoint, segments } = recovered;
  const newest = segments.at(-1);
  const number = newest?.number ?? Math.max(1, recovered.lastNumber);
  const end = newest?.end ?? 0;
  const epoch = chain.epoch + 1;
  const frame = restoredFrame(options, chain, { number, end, seq, epoch });
  const target = await files.open(join(dir, fileName(number, 'seg.tmp')), { create: true });
  try {
    if (newest) await copyBytes(newest.file!, target, newest.end);
    await writeAll(target, frame, end);
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
  /** The segment it is written to, and where its frames end. */
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
    await writeAll(to, piece.subarray(0, length), at);
  }
}

async function writeAll(file: OpenFile, bytes: Buffer, at: number): Promise<void> {
  const written = await file.write(bytes, at);
  if (written !== bytes.length) throw new Error(`Only ${written} of ${bytes.length} bytes were written.`);
}

async function name(files: Files, dir: string, fileNamed: string): Promise<void> {
  await files.rename(join(dir, `${fileNamed}.tmp`), join(dir, fileNamed));
  await files.syncDir(dir);
}

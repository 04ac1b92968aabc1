/**
 * `backup.json` lists what a backup consists of. It is written last, so an interrupted copy has no manifest or does
 * not match it:
 *
 *   {"seq": 812, "epoch": 3, "at": "2026-01-01T00:00:00.000Z",
 *    "files": [{"name": "0000000000000001.seg", "bytes": 120384, "crc32": 3735928559}, …]}
 *
 * `seq` and `epoch` are those of the newest entry; `at` is the time of the backup. A directory with a manifest is a
 * backup and must not be opened for writing: the original log may already have issued the numbers that follow.
 */
import { join } from 'node:path';
import type { Files } from '../../seams/files.ts';
import { LogDamagedError } from '../log.ts';
import type { LogReport } from './inspect.ts';

export const MANIFEST_NAME = 'backup.json';

export interface ManifestFile {
  readonly name: string;
  readonly bytes: number;
  readonly crc32: number;
}

export interface BackupManifest {
  readonly seq: number;
  readonly epoch: number;
  readonly at: string;
  readonly files: readonly ManifestFile[];
}

export const encodeManifest = (manifest: BackupManifest): Uint8Array =>
  Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);

export function decodeManifest(bytes: Uint8Array): BackupManifest {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    throw new LogDamagedError(MANIFEST_NAME, 0, 'it is not valid JSON');
  }
  if (isManifest(value)) return value;
  throw new LogDamagedError(MANIFEST_NAME, 0, 'it is not a valid backup manifest');
}

export async function readManifest(files: Files, dir: string): Promise<BackupManifest | null> {
  if (!(await files.list(dir))?.includes(MANIFEST_NAME)) return null;
  const file = await files.open(join(dir, MANIFEST_NAME), { readOnly: true });
  try {
    const bytes = Buffer.alloc(await file.size());
    const count = await file.read(bytes, 0, bytes.length, 0);
    return decodeManifest(bytes.subarray(0, count));
  } finally {
    await file.close();
  }
}

/** Compares the files with the manifest: a log that ends too early can still be valid up to its end. */
export function assertComplete(manifest: BackupManifest, found: LogReport): void {
  for (const { name, bytes } of manifest.files) {
    const there = found.files.find((file) => file.name === name);
    if (there?.allocatedBytes === bytes) continue;
    const offset = Math.min(bytes, there?.allocatedBytes ?? 0);
    throw new LogDamagedError(name, offset, `${MANIFEST_NAME} says that it has ${bytes} bytes`);
  }
  const stranger = found.files.find(({ name }) => !manifest.files.some((file) => file.name === name));
  if (stranger) throw new LogDamagedError(stranger.name, 0, `it is not in ${MANIFEST_NAME}`);
  if (found.lastSeq === manifest.seq && found.epoch === manifest.epoch) return;
  throw new LogDamagedError(
    MANIFEST_NAME,
    0,
    `it says seq ${manifest.seq} and epoch ${manifest.epoch}, but the log ends at seq ${found.lastSeq} and epoch ${found.epoch}`,
  );
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function isManifest(value: unknown): value is BackupManifest {
  if (typeof value !== 'object' || value === null) return false;
  const { seq, epoch, at, files } = value as Record<string, unknown>;
  return (
    isCount(seq) && isCount(epoch) && typeof at === 'string' && Array.isArray(files) && files.every(isFile)
  );
}

function isFile(value: unknown): value is ManifestFile {
  if (typeof value !== 'object' || value === null) return false;
  const { name, bytes, crc32 } = value as Record<string, unknown>;
  return typeof name === 'string' && isCount(bytes) && isCount(crc32);
}

/**
 * Unpacks a backup that arrives as a tar archive into its own directory. Files get their final names only when all of
 * them have arrived, are durable and match `backup.json`; then the log is verified as a whole. So an incomplete backup
 * is never taken for a log, and its files are removed if possible.
 */
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { BackupManifest, ManifestFile } from '../engines/file/backup-manifest.ts';
import { decodeManifest, MANIFEST_NAME } from '../engines/file/backup-manifest.ts';
import { makeDirs, missingDirs } from '../engines/file/data-dir.ts';
import { numberedNames, PART } from '../engines/file/file-names.ts';
import type { LogReport } from '../engines/file/inspect.ts';
import { verifyLog } from '../engines/file/inspect.ts';
import { writeFully } from '../engines/file/write-fully.ts';
import type { Files } from '../seams/files.ts';
import type { ArchiveMember } from './untar.ts';
import { ArchiveError, untar } from './untar.ts';

const MANIFEST_BYTES_MAX = 16 * 1024 * 1024;

export interface Received {
  readonly manifest: BackupManifest;
  readonly report: LogReport;
}

/** `download` is called once the directory is known to be empty, and before anything is created. */
export async function receiveBackup(
  files: Files,
  dir: string,
  download: () => Promise<AsyncIterable<Uint8Array>>,
): Promise<Received> {
  const names = await files.list(dir);
  if (names !== null && names.length > 0) {
    throw new Error(`${dir} is not empty; a backup needs a directory of its own.`);
  }
  const archive = await download();
  const written: string[] = [];
  const missing = await missingDirs(files, dir);
  try {
    await makeDirs(files, dir);
    const manifest = await unpack(files, dir, archive, written);
    for (const name of [...manifest.files.map((file) => file.name), MANIFEST_NAME]) {
      await files.rename(join(dir, name + PART), join(dir, name));
      written.splice(written.indexOf(name + PART), 1, name);
    }
    await files.syncDir(dir);
    return { manifest, report: await verifyLog(files, dir) };
  } catch (fault) {
    await removeAll(files, dir, written, missing).catch((cause: unknown) => {
      const why = fault instanceof Error ? fault.message : String(fault);
      throw new Error(`${why} What had been written to ${dir} could not be removed again.`, { cause });
    });
    throw fault;
  }
}

/** Writes all files under temporary names, syncs them, and checks them against the manifest. */
async function unpack(
  files: Files,
  dir: string,
  archive: AsyncIterable<Uint8Array>,
  written: string[],
): Promise<BackupManifest> {
  const found: ManifestFile[] = [];
  let manifest: BackupManifest | null = null;
  for await (const member of untar(archive)) {
    const isFitting =
      member.name === MANIFEST_NAME ? member.bytes <= MANIFEST_BYTES_MAX : isLogFile(member.name);
    const isThere = found.some(({ name }) => name === member.name);
    if (manifest !== null || isThere || !isFitting) {
      throw new ArchiveError(`The archive holds ${member.name} where a backup has none.`);
    }
    const name = member.name + PART;
    written.push(name);
    const kept: Uint8Array[] | null = member.name === MANIFEST_NAME ? [] : null;
    const crc = await store(files, join(dir, name), member, kept);
    if (kept === null) found.push({ name: member.name, bytes: member.bytes, crc32: crc });
    else manifest = decodeManifest(Buffer.concat(kept));
  }
  if (manifest === null) throw new ArchiveError(`The archive ends without ${MANIFEST_NAME}.`);
  assertSame(manifest, found);
  return manifest;
}

function isLogFile(name: string): boolean {
  return numberedNames([name]).some(({ kind }) => kind === 'seg' || kind === 'ckpt');
}

/** Writes one member and syncs it; returns its checksum. */
async function store(
  files: Files,
  path: string,
  { content }: ArchiveMember,
  kept: Uint8Array[] | null,
): Promise<number> {
  const file = await files.open(path, { create: true });
  try {
    let at = 0;
    let crc = 0;
    for await (const piece of content) {
      await writeFully(file, piece, at);
      at += piece.length;
      crc = crc32(piece, crc);
      kept?.push(piece);
    }
    await file.sync();
    return crc;
  } finally {
    await file.close();
  }
}

/** The files that arrived must be those that were sent, in the same order. */
function assertSame(manifest: BackupManifest, found: readonly ManifestFile[]): void {
  const isSame = (a: ManifestFile, b: ManifestFile | undefined): boolean =>
    a.name === b?.name && a.bytes === b.bytes && a.crc32 === b.crc32;
  const other = manifest.files.find((file, i) => !isSame(file, found[i]));
  if (other) throw new ArchiveError(`${other.name} did not arrive as ${MANIFEST_NAME} says it was sent.`);
  if (found.length === manifest.files.length) return;
  throw new ArchiveError(`${found.at(-1)!.name} is not in ${MANIFEST_NAME}.`);
}

async function removeAll(
  files: Files,
  dir: string,
  written: readonly string[],
  missing: readonly string[],
): Promise<void> {
  const there = (await files.list(dir)) ?? [];
  for (const name of written) if (there.includes(name)) await files.remove(join(dir, name));
  for (const path of missing.toReversed()) {
    if ((await files.list(path)) !== null) await files.removeDir(path);
  }
}

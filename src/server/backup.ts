/**
 * Streams a backup: the files of a snapshot as a tar archive, and `backup.json` as its last member, which lists the
 * size and checksum of each. The snapshot is released when its reader stops.
 */
import { crc32 } from 'node:zlib';
import type { Authority } from '../authority/authority.ts';
import type { ManifestFile } from '../engines/file/backup-manifest.ts';
import { encodeManifest, MANIFEST_NAME } from '../engines/file/backup-manifest.ts';
import type { LogSnapshot, SnapshotFile } from '../engines/log.ts';
import { instant } from '../protocol/instant.ts';
import type { Clock } from '../seams/clock.ts';
import type { TarMember } from './tar.ts';
import { tarArchive } from './tar.ts';

/** The log of this authority is not in files. Thrown before the first byte. */
export class NoBackupError extends Error {
  override readonly name = 'NoBackupError';
}

/** Takes the snapshot when the first piece is read. Faults of the log are thrown before that piece. */
export async function* backupStream(
  { log }: Pick<Authority, 'log'>,
  clock: Pick<Clock, 'wallMs'>,
): AsyncGenerator<Uint8Array> {
  const snapshot = await log.snapshot();
  if (snapshot === null)
    throw new NoBackupError(
      'The log of this server is not stored in files, so it cannot be copied like this. A log in a Postgres is backed up ' +
        'with its database, for example by pg_dump of its schema: docs/guides/postgres-log.md, "Backup and restore".',
    );
  try {
    const atMs = clock.wallMs();
    yield* tarArchive(membersOf(snapshot, atMs), atMs);
  } finally {
    await snapshot.release();
  }
}

async function* membersOf(snapshot: LogSnapshot, atMs: number): AsyncGenerator<TarMember> {
  const sums = snapshot.files.map((file) => ({ file, crc: 0 }));
  for (const sum of sums) {
    const { name, bytes } = sum.file;
    yield { name, bytes, content: summed(sum) };
  }
  const files = sums.map(({ file: { name, bytes }, crc }): ManifestFile => ({ name, bytes, crc32: crc }));
  const manifest = encodeManifest({ seq: snapshot.seq, epoch: snapshot.epoch, at: instant(atMs), files });
  yield { name: MANIFEST_NAME, bytes: manifest.length, content: [manifest] };
}

async function* summed(sum: { readonly file: SnapshotFile; crc: number }): AsyncGenerator<Uint8Array> {
  for await (const piece of sum.file.read()) {
    sum.crc = crc32(piece, sum.crc);
    yield piece;
  }
}

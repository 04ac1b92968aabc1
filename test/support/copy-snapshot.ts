// Writes the files of a snapshot into a directory, as they come.
import { join } from 'node:path';
import { makeDirs } from '../../src/engines/file/data-dir.ts';
import type { LogSnapshot } from '../../src/engines/log.ts';
import type { Files } from '../../src/seams/files.ts';

export async function copySnapshot(snapshot: LogSnapshot, files: Files, dir: string): Promise<void> {
  await makeDirs(files, dir);
  for (const { name, bytes, read } of snapshot.files) {
    const file = await files.open(join(dir, name), { create: true });
    let at = 0;
    for await (const piece of read()) at += await file.write(piece, at);
    if (at !== bytes) throw new Error(`${name} was to have ${bytes} bytes, and has ${at}.`);
    await file.sync();
    await file.close();
  }
  await files.syncDir(dir);
}

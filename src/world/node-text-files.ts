/** Small files for the command line: the TextFiles seam on `node:fs`. */
import fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TextFiles } from '../seams/text-files.ts';

export const nodeTextFiles: TextFiles = {
  read: (path) => fs.readFile(path, 'utf8'),

  async write(path, text) {
    const file = await fs.open(path, 'w', 0o600);
    try {
      // An existing file keeps its mode, which may be readable by all users.
      await file.chmod(0o600);
      await file.writeFile(text);
    } finally {
      await file.close();
    }
  },

  makeTemporary: (prefix, within = tmpdir()) => fs.mkdtemp(join(within, prefix)),

  async openReplaceable(path) {
    // Kept open, so that no other file can get its inode number.
    let current = await fs.open(path, 'r');
    let { ino } = await current.stat();
    return {
      async replacement() {
        const file = await openIfThere(path);
        if (file === null) return null;
        const found = await file.stat();
        if (found.ino === ino) {
          await file.close();
          return null;
        }
        await current.close();
        current = file;
        ({ ino } = found);
        return textOf(file);
      },
      text: () => textOf(current),
      close: () => current.close(),
    };
  },

  remove: (path) => fs.rm(path, { recursive: true, force: true }),
};

/** Reads from the beginning, regardless of earlier reads. */
async function textOf(file: fs.FileHandle): Promise<string> {
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size), position: 0 });
  return buffer.toString('utf8', 0, bytesRead);
}

async function openIfThere(path: string): Promise<fs.FileHandle | null> {
  try {
    return await fs.open(path, 'r');
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw fault;
  }
}

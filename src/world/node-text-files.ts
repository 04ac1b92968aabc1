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
  remove: (path) => fs.rm(path, { recursive: true, force: true }),
};

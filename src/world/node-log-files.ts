/** Log files of pipelines, readable by their owner only. The writer bounds their size. */
import fs from 'node:fs/promises';
import type { LogDirectory, LogFiles } from '../seams/log-files.ts';

export const nodeLogFiles: LogFiles & LogDirectory & { makeDirectory(dir: string): Promise<void> } = {
  append: (path, bytes) => fs.appendFile(path, bytes, { mode: 0o600 }),
  rename: (from, to) => fs.rename(from, to),
  list: (dir) => fs.readdir(dir),
  remove: (path) => fs.rm(path, { recursive: true, force: true }),

  async makeDirectory(dir) {
    await fs.mkdir(dir, { recursive: true, mode: 0o700 });
    await fs.access(dir, fs.constants.W_OK);
  },
};

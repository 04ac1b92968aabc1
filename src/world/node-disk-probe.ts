/** Measures a disk for `leasehold doctor`: free space, and the time until bytes are durable. */
import fs from 'node:fs';
import { join } from 'node:path';
import type { DiskProbe } from '../seams/probes.ts';

const BLOCK_BYTES = 4096;

export const nodeDiskProbe: DiskProbe = {
  async freeBytes(dir) {
    const { bavail, bsize } = await fs.promises.statfs(dir);
    return bavail * bsize;
  },

  async syncMs(dir, count) {
    const path = join(dir, `doctor-${process.pid}.tmp`);
    const file = await fs.promises.open(path, 'wx', 0o600);
    try {
      const block = Buffer.alloc(BLOCK_BYTES, 1);
      const took: number[] = [];
      for (let round = 0; round < count; round++) {
        const from = performance.now();
        await file.write(block, 0, BLOCK_BYTES, round * BLOCK_BYTES);
        await file.datasync();
        took.push(performance.now() - from);
      }
      return took;
    } finally {
      await file.close();
      await fs.promises.unlink(path);
    }
  },
};

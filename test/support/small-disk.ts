// A directory that is soon full: a few hundred kilobytes of memory, mounted. Only root can mount; for any other user a hook
// in the process says what the system says then.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

export interface SmallDisk {
  /** For the process that is to find the disk full. */
  readonly env: Record<string, string>;
  dispose(): void;
}

export const DISK_HOOK = new URL('../e2e/disk-hook.mjs', import.meta.url).href;

export function smallDisk(dir: string, bytes: number): SmallDisk {
  mkdirSync(dir);
  if (process.getuid?.() !== 0) {
    return { env: { NODE_OPTIONS: `--import=${DISK_HOOK}`, DISK_BYTES: String(bytes) }, dispose() {} };
  }
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'tmpfs', dir]);
  return { env: {}, dispose: () => void execFileSync('umount', ['--lazy', dir]) };
}

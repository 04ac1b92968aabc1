// A wall clock that a test can set for one program, while the clocks of everything else on the machine go on: libfaketime
// is loaded into that program alone. Where it is missing root installs it; otherwise the run fails and says how.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const INSTALL = 'apt-get update && apt-get install -y --no-install-recommends faketime';
export const INSTALL_MS_MAX = 180_000;

export class SteppedClock {
  /** What the program must have in its environment. */
  readonly env: Record<string, string>;
  private readonly folder: string;
  private readonly file: string;

  constructor() {
    const library = installedLibrary();
    this.folder = mkdtempSync(join(tmpdir(), 'leasehold-clock-'));
    // The program may run as another user.
    chmodSync(this.folder, 0o755);
    this.file = join(this.folder, 'clock');
    this.setAhead(0);
    this.env = {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Sets the clock so far ahead of the true time, or behind it; in one step, because half a file would be another time. */
  setAhead(seconds: number): void {
    const next = join(this.folder, 'next');
    writeFileSync(next, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}\n`, { mode: 0o644 });
    renameSync(next, this.file);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function installedLibrary(): string {
  const found = library();
  if (found !== null) return found;
  if (process.getuid?.() === 0) {
    execFileSync('sh', ['-c', INSTALL], { stdio: 'ignore', timeout: INSTALL_MS_MAX });
  }
  const installed = library();
  if (installed === null) throw new Error(`libfaketime is missing. Install it, as root: ${INSTALL}`);
  return installed;
}

/** Debian keeps it in a folder named after the architecture. */
function library(): string | null {
  for (const folder of readdirSync('/usr/lib')) {
    const file = join('/usr/lib', folder, 'faketime', 'libfaketime.so.1');
    if (existsSync(file)) return file;
  }
  return null;
}

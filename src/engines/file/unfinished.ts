/** A directory into which a restore or a backup was cut short. It is no log, and no directory for a new one. */
import { LogDamagedError } from '../log.ts';
import { MANIFEST_NAME } from './backup-manifest.ts';
import { numberedNames, PART } from './file-names.ts';

export function assertFinished(names: readonly string[]): void {
  const restored = numberedNames(names).find(({ kind }) => kind === 'seg.tmp');
  if (restored) {
    throw new LogDamagedError(
      restored.name,
      0,
      'a restore into this directory was cut short; empty it first',
    );
  }
  const received = names.find(isPart);
  if (received === undefined) return;
  throw new LogDamagedError(
    received,
    0,
    'a backup into this directory was cut short; empty it and make the backup again',
  );
}

/** Whether a name is one that `leasehold backup` gives to what it has not yet received as a whole. */
export function isPart(name: string): boolean {
  if (!name.endsWith(PART)) return false;
  const whole = name.slice(0, -PART.length);
  return whole === MANIFEST_NAME || numberedNames([whole]).length > 0;
}

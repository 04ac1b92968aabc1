/**
 * What is wrong with a disk at the moment: errors that wait for the next step of a kind, a lack of space, slowness, a
 * write that will land elsewhere, and the points at which a process is to die. A fault of the disk is thrown as Node
 * throws it; a process that is killed here never comes back from the step.
 */
import type { Kernel } from './kernel.ts';
import type { Random } from './random.ts';
import type { Inode } from './sim-disk.ts';
import type { SimProcess } from './sim-process.ts';

/** Thrown into a process that was killed in the middle of a synchronous call. It is never reported. */
export class KilledError extends Error {
  override readonly name = 'KilledError';
}

export function diskError(code: 'EIO' | 'ENOSPC' | 'ENOENT'): Error {
  return Object.assign(new Error(`${code}: simulated`), { code });
}

/** During: the step has begun, and the disk has not said that it is done. */
type When = 'before' | 'during' | 'after';

export interface KillPoint {
  /** `write`, `sync`, `syncDir`, `rename`, `remove`, `open`, `lock`. */
  readonly step: string;
  readonly when: When;
  /** 1 for the next one. */
  countdown: number;
  readonly kill: (process: SimProcess) => void;
}

export interface Misplaced {
  readonly bytes: Buffer;
  readonly meantFor: number;
  readonly landedAt: number;
}

export const SECTOR_BYTES = 512;

export class DiskTrouble {
  capacityBytes = Number.POSITIVE_INFINITY;
  killPoint: KillPoint | null = null;
  /** Steps of this kind fail, this often. */
  failing: { readonly step: 'read' | 'write'; times: number } | null = null;
  /** So many syncs, or durable writes, fail; what they were about stays in the cache and nowhere else. */
  failingSyncs = 0;
  /** The next durable write lands elsewhere in its file. */
  isMisdirecting = false;
  /** Called for a misplaced write. */
  onMisplaced: (misplaced: Misplaced) => void = () => {};
  #slowUntilMs = 0;
  #slowMs = 0;
  readonly #kernel: Kernel;
  readonly #random: Random;

  constructor(kernel: Kernel, random: Random) {
    this.#kernel = kernel;
    this.#random = random;
  }

  slowDown(stepMs: number, forMs: number): void {
    this.#slowMs = stepMs;
    this.#slowUntilMs = this.#kernel.nowMs + forMs;
  }

  get isSlow(): boolean {
    return this.#kernel.nowMs < this.#slowUntilMs;
  }

  latencyMs(): number {
    if (this.isSlow) return this.#random.span(this.#slowMs / 2, this.#slowMs * 2);
    return this.#random.chance(0.01) ? this.#random.span(2, 20) : this.#random.span(0.05, 0.9);
  }

  /** Ends every trouble; what is lost stays lost. */
  clear(): void {
    this.capacityBytes = Number.POSITIVE_INFINITY;
    this.killPoint = null;
    this.failing = null;
    this.failingSyncs = 0;
    this.isMisdirecting = false;
    this.#slowUntilMs = 0;
  }

  check(process: SimProcess, step: string, path: string, when: When): void {
    const point = this.killPoint;
    if (point !== null && point.step === step && point.when === when) {
      point.countdown -= 1;
      if (point.countdown <= 0) {
        this.killPoint = null;
        point.kill(process);
      }
    }
    if (process.isDead) throw new KilledError(`The process died at ${step} of ${path}.`);
    const { failing } = this;
    if (when === 'before' && failing !== null && failing.step === step) {
      failing.times -= 1;
      if (failing.times <= 0) this.failing = null;
      throw diskError('EIO');
    }
  }

  assertSpace(bytes: number): void {
    if (bytes > this.capacityBytes) throw diskError('ENOSPC');
  }

  assertSynced(_path: string): void {
    if (this.failingSyncs === 0) return;
    this.failingSyncs -= 1;
    throw diskError('EIO');
  }

  /** Where a durable write goes: where it was meant to, unless it is the one that goes astray. */
  misplace(inode: Inode, bytes: Uint8Array, position: number): number {
    if (!this.isMisdirecting || inode.mirror !== null || inode.content.length < SECTOR_BYTES * 2)
      return position;
    this.isMisdirecting = false;
    const sectors = Math.floor(inode.content.length / SECTOR_BYTES);
    const own = Math.floor(position / SECTOR_BYTES);
    let sector = this.#random.below(sectors - 1);
    if (sector >= own) sector += 1;
    const landedAt = sector * SECTOR_BYTES;
    this.onMisplaced({ bytes: Buffer.from(bytes), meantFor: position, landedAt });
    return landedAt;
  }
}

/**
 * Compaction, as the loop sees it: a thread writes the checkpoint, then the state's references move to it
 * some rows at a time between batches, and only then the old files are deleted. A reference never
 * points to missing bytes.
 */
import { relocateRows, rowsToRelocate } from '../core/relocate.ts';
import type { State } from '../core/state.ts';
import { FILE_SPAN } from '../engines/frame.ts';
import type { Log, Relocation } from '../engines/log.ts';
import { lowerBound } from '../engines/lower-bound.ts';
import type { Timer, Timers } from '../seams/clock.ts';
import type { Stats } from './stats.ts';

const ROWS_A_SLICE = 20_000;
const RETRY_MS = 60_000;

export class Compactor {
  private readonly log: Log;
  private readonly state: State;
  private readonly timers: Timers;
  private readonly stats: Stats;
  private running: Promise<void> | null = null;
  private stopped = false;
  private pause: Timer | null = null;
  private readonly onFault: (fault: unknown) => void;

  constructor(log: Log, state: State, timers: Timers, stats: Stats, onFault: (fault: unknown) => void) {
    this.log = log;
    this.state = state;
    this.timers = timers;
    this.stats = stats;
    this.onFault = onFault;
  }

  afterBatch(): void {
    if (this.running !== null || this.stopped || this.pause !== null || !this.log.wantsCompaction) return;
    this.running = this.compact()
      .catch((fault: unknown) => {
        // A compaction that was aborted by closing the log has not failed.
        if (this.stopped) return;
        this.stats.compactionFaults += 1;
        // An immediate retry would fail again; until then the log only grows.
        this.pause = this.timers.after(RETRY_MS, () => {
          this.pause = null;
        });
        this.onFault(fault);
      })
      .finally(() => {
        this.running = null;
      });
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.pause?.cancel();
    await this.running;
  }

  private async compact(): Promise<void> {
    const relocation = await this.log.compact();
    if (relocation === null) return;
    const move = mover(relocation);
    for (let from = 1; from <= rowsToRelocate(this.state); from += ROWS_A_SLICE) {
      relocateRows(this.state, from, from + ROWS_A_SLICE, move);
      await new Promise<void>((resolve) => this.timers.soon(resolve));
    }
    await this.log.dropOld();
    this.stats.compactions += 1;
  }
}

/** Rows are mostly in the order of their bytes, so the entry after the last match is nearly always the next one. */
function mover({ oldAt, newAt, gone }: Relocation): (at: number) => number {
  let next = 0;
  return (at) => {
    if (!gone.has(Math.floor(at / FILE_SPAN))) return at;
    if (oldAt[next] !== at) next = lowerBound(at, oldAt);
    if (oldAt[next] !== at) throw new Error(`INV-RELOCATE: no new place for the bytes at ${at}.`);
    next += 1;
    return newAt[next - 1]!;
  };
}

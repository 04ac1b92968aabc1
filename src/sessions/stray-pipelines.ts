/**
 * Ends orphaned pipelines, which have no keeper any more. They are found by variables of their environment, which
 * every process inherits: the ids of the authority and of the session. Not found are processes that cleared their
 * environment, run as another user, on another machine or in another PID namespace, and all processes where the
 * system has no process table.
 */

import { sleep } from '../client/sleep.ts';
import type { Timers } from '../seams/clock.ts';
import type { LivingProcess, ProcessTable } from '../seams/process-table.ts';

/** The delay before the first check after a SIGKILL. It grows for a process that hangs in the kernel. */
const FIRST_LOOK_MS = 20;
const LOOK_MAX_MS = 500;

export interface StrayWorld {
  readonly timers: Timers;
  readonly processTable: Pick<ProcessTable, 'living' | 'killGroupOf'>;
}

export interface StraySearch {
  readonly mark: Readonly<Record<string, string>>;
  /** Selects among all processes; the marked ones by default. */
  readonly choose?: (living: readonly LivingProcess[]) => readonly LivingProcess[];
  /** Receives what was found each time. */
  readonly found?: (strays: readonly LivingProcess[]) => void;
  /** Checked between each look and its kills. Once true, nothing more is killed. */
  readonly isOver: () => boolean;
}

/** Kills until nothing is left, then returns true; false when that cannot be known. */
export async function endStrays({ timers, processTable }: StrayWorld, search: StraySearch): Promise<boolean> {
  const { mark, choose = marked, found, isOver } = search;
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(2 * lookMs, LOOK_MAX_MS)) {
    const living = await processTable.living(mark);
    if (living === null) return false;
    const strays = choose(living);
    if (strays.length === 0) return true;
    if (isOver()) return false;
    found?.(strays);
    for (const stray of strays) processTable.killGroupOf(stray);
    await sleep(timers, lookMs);
  }
}

function marked(living: readonly LivingProcess[]): readonly LivingProcess[] {
  return living.filter(({ isMarked }) => isMarked);
}

/** The rest of a program and of everything it started: its group, and processes with its mark. */
export function restOf(pid: number, startTime: string | null) {
  return (living: readonly LivingProcess[]): readonly LivingProcess[] => {
    const leader = living.find((process) => process.pid === pid);
    // A PID is reused only when no process and no group has it, so then nothing of the group is left.
    const isReused = leader !== undefined && startTime !== null && leader.startTime !== startTime;
    const hasGroup = pid !== 0 && !isReused;
    return living.filter(({ group, isMarked }) => isMarked || (hasGroup && group === pid));
  };
}

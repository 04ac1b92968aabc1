/**
 * Ends pipelines that no keeper keeps any more. They are found by what they carry in their environment, which every
 * process inherits from the one that started it: the id of the authority and of the session. What cleared its
 * environment, runs as another user, on another machine or in another PID namespace is not found; where the system
 * shows no processes, nothing is.
 */

import { pause } from '../client/pause.ts';
import type { Timers } from '../seams/clock.ts';
import type { LivingProcess, ProcessTable } from '../seams/process-table.ts';

/** How soon after a SIGKILL it is looked again; a process that hangs in the kernel is looked after less and less often. */
const FIRST_LOOK_MS = 20;
const LOOK_MAX_MS = 500;

export interface StrayWorld {
  readonly timers: Timers;
  readonly processTable: Pick<ProcessTable, 'living' | 'killGroupOf'>;
}

export interface StraySearch {
  readonly mark: Readonly<Record<string, string>>;
  /** Which of all processes are meant; the marked ones unless given. */
  readonly choose?: (living: readonly LivingProcess[]) => readonly LivingProcess[];
  /** Told what was found each time. */
  readonly found?: (strays: readonly LivingProcess[]) => void;
  /** Asked between each look and its kills: from then on nothing is killed any more. */
  readonly isOver: () => boolean;
}

/** Kills until nothing is left, and says so by true; false when nobody can know. */
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
    await pause(timers, lookMs);
  }
}

function marked(living: readonly LivingProcess[]): readonly LivingProcess[] {
  return living.filter(({ isMarked }) => isMarked);
}

/** What is left of a program and of all it has started: its group, and what carries its mark. */
export function restOf(pid: number, startTime: string | null) {
  return (living: readonly LivingProcess[]): readonly LivingProcess[] => {
    const leader = living.find((process) => process.pid === pid);
    // A number is given again only once neither a process nor a group has it, so then nothing of the group is left.
    const isReused = leader !== undefined && startTime !== null && leader.startTime !== startTime;
    const hasGroup = pid !== 0 && !isReused;
    return living.filter(({ group, isMarked }) => isMarked || (hasGroup && group === pid));
  };
}

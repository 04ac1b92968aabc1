/** The waiters for a name, as the leader sees them. */
import type { AcquireNames } from '../core/commands.ts';
import type { Waiter } from '../core/lines.ts';
import type { Machine } from '../core/machine.ts';

export interface WaitingFor {
  readonly holder: string;
  readonly names: readonly string[];
  readonly sinceMs: number;
  readonly deadlineMs: number;
  readonly blockedBy: readonly string[];
}

export interface LineOfName {
  readonly waiters: readonly WaitingFor[];
  /** Where to continue; null at the end. */
  readonly next: number | null;
  readonly nowMs: number;
}

/** The cursor is the arrival of the last waiter of a page, so that waiters leaving in between shift nothing. */
export function readWaiters(machine: Machine, name: string, limit: number, after: number): LineOfName {
  machine.expireName(name);
  const waiters: WaitingFor[] = [];
  let last = 0;
  for (const waiter of machine.lines.names.inLine(name)) {
    if (waiter.arrival <= after) continue;
    if (waiters.length === limit) return { waiters, next: last, nowMs: machine.batchAtMs };
    waiters.push(waitingFor(machine, waiter));
    last = waiter.arrival;
  }
  return { waiters, next: null, nowMs: machine.batchAtMs };
}

/** Names that callers wait for, and how many do. */
export function waitingNames({ lines }: Machine, limit: number): { name: string; waiters: number }[] {
  const found: { name: string; waiters: number }[] = [];
  for (const [name, waiters] of lines.names.lengths()) {
    if (found.length === limit) break;
    found.push({ name, waiters });
  }
  return found;
}

function waitingFor({ state, lines }: Machine, waiter: Waiter<AcquireNames>): WaitingFor {
  const { holder, names } = waiter.command;
  const { sinceMs, deadlineMs } = waiter;
  const blockedBy = names.filter((name) => {
    const row = state.names.find(name);
    const isHeld = row !== 0 && state.names.isLive(row) && !state.names.heldBy(row, holder);
    return isHeld || lines.names.first(name) !== waiter;
  });
  return { holder, names, sinceMs, deadlineMs, blockedBy };
}

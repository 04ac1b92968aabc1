/** The entries that touched a subject, read back from the log. For people: each read scans the range. */
import type { Entry } from '../core/entries.ts';
import { taskIdOfKey } from '../core/entry-json.ts';
import { opaquesOf } from '../core/entry-opaques.ts';
import type { TaskImage } from '../core/image.ts';
import { GUARD_PREFIX } from '../core/reserved-names.ts';
import type { Seq } from '../core/row-types.ts';
import { hasEnded } from '../core/sessions/session-table.ts';
import type { Log, LoggedEntry } from '../engines/log.ts';
import type { Timers } from '../seams/clock.ts';
import { BYTES_A_PAGE } from './reads.ts';

/** Whether an entry touched the subject; called in log order. */
export type Touches = (entry: Entry, seq: Seq) => boolean;

/** After this many entries the read yields to the event loop, and ends if its caller has gone. */
const ENTRIES_A_TURN = 2_048;

export interface HistoryOptions {
  readonly timers: Pick<Timers, 'soon'>;
  readonly signal: AbortSignal | undefined;
}

export interface HistoryRange {
  readonly fromSeq: Seq;
  readonly toSeq: Seq;
  /** How many entries at most. */
  readonly limit: number;
}

export interface HistoryPage {
  readonly entries: readonly LoggedEntry[];
  /** The position to continue from; null at the end. */
  readonly next: number | null;
}

export async function history(
  log: Log,
  { fromSeq, toSeq, limit }: HistoryRange,
  touches: Touches,
  { timers, signal }: HistoryOptions,
): Promise<HistoryPage> {
  const first = Math.max(fromSeq, log.position.firstSeq);
  const entries: LoggedEntry[] = [];
  let bytes = 0;
  for await (const logged of log.entries(first, Number.POSITIVE_INFINITY)) {
    if (logged.seq > toSeq) break;
    if (touches(logged.entry, logged.seq)) {
      entries.push(logged);
      bytes += bytesOf(logged.entry);
      const isFull = entries.length === limit || bytes >= BYTES_A_PAGE;
      if (isFull) return { entries, next: logged.seq < toSeq ? logged.seq + 1 : null };
    }
    if (logged.seq % ENTRIES_A_TURN !== 0) continue;
    await new Promise<void>((resolve) => timers.soon(resolve));
    signal?.throwIfAborted();
  }
  return { entries, next: null };
}

/** The approximate size of the shown entry, without what all entries have in common. */
function bytesOf(entry: Entry): number {
  const names = entry.type === 'NameLeased' ? entry.names : [];
  const namesBytes = names.reduce((sum, name) => sum + name.length, 0);
  return opaquesOf(entry).reduce((sum, opaque) => sum + (opaque?.length ?? 0), namesBytes);
}

/**
 * Some entries that touch a task do not name it: the intent that creates a start task, and a restore that ends a lease. The
 * entry that creates its successor names both.
 */
export function touchesTask({ task, createdSeq, leases }: TaskImage): Touches {
  const unnamed = new Set([createdSeq]);
  for (const { end, endedSeq } of leases) if (end === 'restored') unnamed.add(endedSeq);
  const id = taskIdOfKey(task);
  return (entry, seq) => {
    if (!('task' in entry)) return unnamed.has(seq);
    return entry.task === task || (entry.type === 'TaskCreated' && entry.requeuedFrom === id);
  };
}

/**
 * A name is touched by its leases, by sessions and restores that end them, and by writes to its object, wherever they occur.
 * `grantedSeq` is its newest grant before the range, if there was one. A wipe touches only names granted before it; when the
 * range begins after the start of the log this is unknown, and the wipe is shown. A restore touches only held names.
 */
export function touchesName(name: string, grantedSeq = 0, beginsWithLog = false): Touches {
  let leaseSeq = grantedSeq;
  let isHeld = grantedSeq !== 0;
  const ends = (isEnd: boolean): boolean => {
    if (isEnd) isHeld = false;
    return isEnd;
  };
  return (entry, seq) => {
    switch (entry.type) {
      case 'NameLeased':
        if (!entry.names.includes(name)) return false;
        leaseSeq = seq;
        isHeld = true;
        return true;
      case 'NameRenewed':
        if (entry.name !== name) return false;
        isHeld = true;
        return true;
      case 'SessionChanged':
        // The entry that makes a session terminal also ends its leases.
        return ends(leaseSeq !== 0 && entry.leaseSeq === leaseSeq && hasEnded(entry));
      case 'NameReleased':
      case 'NameExpired':
      case 'NameBroken':
        return ends(entry.name === name);
      case 'NamesWiped':
        if (beginsWithLog && leaseSeq === 0) return false;
        return ends(name.startsWith(entry.prefix) && !name.startsWith(GUARD_PREFIX));
      case 'EpochStarted':
        return entry.restored && isHeld && ends(true);
      case 'ObjectWritten':
      case 'ObjectDeleted':
        return entry.objectId === name;
      case 'TaskCompleted':
        return entry.writes.some((write) => write.objectId === name);
      default:
        return false;
    }
  };
}

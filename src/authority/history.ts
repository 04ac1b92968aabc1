/** Every entry that touched a subject, read back from the log. For people; it costs a pass over the range. */
import type { Entry, TaskKey } from '../core/entries.ts';
import { hasEnded } from '../core/session-table.ts';
import type { Log, LoggedEntry } from '../engines/log.ts';
import type { Timers } from './seams.ts';

/** Whether an entry touched the subject; asked in the order of the log. */
export type Touches = (entry: Entry, seq: number) => boolean;

/** After so many entries others get their turn, and it is asked whether anybody still wants to know. */
const ENTRIES_A_TURN = 2_048;

export interface Looking {
  readonly timers: Pick<Timers, 'soon'>;
  readonly signal: AbortSignal | undefined;
}

export async function history(
  log: Log,
  fromSeq: number,
  toSeq: number,
  touches: Touches,
  { timers, signal }: Looking,
): Promise<LoggedEntry[]> {
  const first = Math.max(fromSeq, log.position.firstSeq);
  const found: LoggedEntry[] = [];
  for await (const logged of log.entries(first, Number.POSITIVE_INFINITY)) {
    if (logged.seq > toSeq) break;
    if (touches(logged.entry, logged.seq)) found.push(logged);
    if (logged.seq % ENTRIES_A_TURN !== 0) continue;
    await new Promise<void>((resolve) => timers.soon(resolve));
    signal?.throwIfAborted();
  }
  return found;
}

/** A start task has no entry of its own that makes it: that is the intent. */
export function touchesTask(task: TaskKey, createdSeq: number): Touches {
  return (entry, seq) => ('task' in entry ? entry.task === task : seq === createdSeq);
}

/** A name is touched by its leases, by sessions that end with them, and by writes to its object, wherever they stand. */
export function touchesName(name: string): Touches {
  let leaseSeq = 0;
  return (entry, seq) => {
    switch (entry.type) {
      case 'NameLeased':
        if (!entry.names.includes(name)) return false;
        leaseSeq = seq;
        return true;
      case 'SessionChanged':
        // The entry that makes a session terminal also ends its leases.
        return leaseSeq !== 0 && entry.leaseSeq === leaseSeq && hasEnded(entry);
      case 'NameRenewed':
      case 'NameReleased':
      case 'NameExpired':
      case 'NameBroken':
        return entry.name === name;
      case 'NamesWiped':
        return name.startsWith(entry.prefix) && !name.startsWith('system:');
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

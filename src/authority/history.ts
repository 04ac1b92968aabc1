/** Every entry that touched a subject, read back from the log. For people; it costs a pass over the range. */
import type { Entry, TaskKey } from '../core/entries.ts';
import type { Log, LoggedEntry } from '../engines/log.ts';

export async function history(
  log: Log,
  fromSeq: number,
  toSeq: number,
  touches: (entry: Entry) => boolean,
): Promise<LoggedEntry[]> {
  const first = Math.max(fromSeq, log.position.firstSeq);
  const found: LoggedEntry[] = [];
  for await (const logged of log.entries(first, Number.POSITIVE_INFINITY)) {
    if (logged.seq > toSeq) break;
    if (touches(logged.entry)) found.push(logged);
  }
  return found;
}

export function touchesTask(task: TaskKey): (entry: Entry) => boolean {
  return (entry) => 'task' in entry && entry.task === task;
}

/** A name is touched by its leases and by writes to its object, wherever they stand. */
export function touchesName(name: string): (entry: Entry) => boolean {
  return (entry) => {
    switch (entry.type) {
      case 'NameLeased':
        return entry.names.includes(name);
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

/** Which opaque bytes an entry carries. */
import type { Entry } from './entries.ts';
import type { Opaque } from './opaque.ts';

export function opaquesOf(entry: Entry): (Opaque | null)[] {
  switch (entry.type) {
    case 'TaskCreated':
    case 'IntentAccepted':
      return [entry.payload];
    case 'TaskCompleted':
      return [entry.result, ...entry.writes.map((write) => write.value)];
    case 'TaskCancelled':
      return [entry.result];
    case 'NameLeased':
      return [entry.metadata];
    case 'ObjectWritten':
      return [entry.value];
    default:
      return [];
  }
}

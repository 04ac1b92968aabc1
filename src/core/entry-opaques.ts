// biome-ignore-all format: generated, one type a line
/** Which opaque bytes an entry carries, in the order in which its codec writes them. Generated from `src/core/entry-table.ts` by `npm run generate`; a test compares. */
import type { Entry } from './entries.ts';
import type { Opaque } from './opaque.ts';

const NONE: readonly Opaque[] = [];

export function opaquesOf(entry: Entry): readonly (Opaque | null)[] {
  switch (entry.type) {
    case 'TaskCreated':
      return [entry.payload];
    case 'TaskCompleted':
      return [entry.result, ...entry.writes.map((item) => item.value)];
    case 'TaskCancelled':
      return [entry.result];
    case 'TaskCheckpointed':
      return [entry.value];
    case 'NameLeased':
      return [entry.metadata];
    case 'ObjectWritten':
      return [entry.value];
    case 'IntentAccepted':
      return [entry.payload];
    case 'ScheduleSet':
      return [entry.payload];
    case 'ScheduleFired':
      return [entry.payload];
    default:
      return NONE;
  }
}

// biome-ignore-all format: generated, one type a line
/** Every type an entry of the log can have. Generated from `src/core/entry-table.ts` by `npm run generate`; a test compares. */
import type { Entry } from '../core/entries.ts';

export type EntryType = Entry['type'];

export const ENTRY_TYPES: readonly EntryType[] = [
  'TaskCreated',
  'LeaseGranted',
  'LeaseExtended',
  'LeaseExpired',
  'TaskCompleted',
  'TaskCancelled',
  'TaskFailed',
  'TaskReleased',
  'TaskDead',
  'TaskCancelRequested',
  'TaskCheckpointed',
  'TaskChanged',
  'NameLeased',
  'NameRenewed',
  'NameReleased',
  'NameExpired',
  'NamesWiped',
  'NameBroken',
  'ObjectWritten',
  'ObjectDeleted',
  'IntentAccepted',
  'SessionChanged',
  'ScheduleSet',
  'ScheduleRemoved',
  'ScheduleFired',
  'QueuePaused',
  'QueueResumed',
  'QueueLimited',
  'EpochStarted',
  'Forgotten',
];

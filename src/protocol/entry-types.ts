/** Every type an entry of the log can have, for those who want to hear of some only; the compiler holds it to the core. */
import type { Entry } from '../core/entries.ts';

const TYPES: Readonly<Record<Entry['type'], true>> = {
  TaskCreated: true,
  LeaseGranted: true,
  LeaseExtended: true,
  LeaseExpired: true,
  TaskCompleted: true,
  TaskCancelled: true,
  TaskFailed: true,
  TaskReleased: true,
  TaskDead: true,
  NameLeased: true,
  NameRenewed: true,
  NameReleased: true,
  NameExpired: true,
  NamesWiped: true,
  NameBroken: true,
  ObjectWritten: true,
  ObjectDeleted: true,
  IntentAccepted: true,
  SessionChanged: true,
  QueuePaused: true,
  QueueResumed: true,
  EpochStarted: true,
  Forgotten: true,
};

export type EntryType = Entry['type'];

export const ENTRY_TYPES = Object.keys(TYPES) as readonly EntryType[];

/**
 * What is true: tasks, names and how far the log has come. Derived from the log and from nothing else;
 * `apply` is the only function that changes it.
 */
import { NameTable } from './name-table.ts';
import { StringSlab } from './tables/string-slab.ts';
import { TaskTable } from './task-table.ts';

export interface State {
  readonly tasks: TaskTable;
  readonly names: NameTable;
  /** The newest entry applied; 0 before the first. */
  lastSeq: number;
  lastAtMs: number;
  epoch: number;
  /** When the present writer began; what fell due earlier fell due while nobody was there. */
  epochStartedAtMs: number;
}

/** `seed` only spreads hashes; it changes no answer. */
export function createState(seed = 0): State {
  const strings = new StringSlab();
  return {
    tasks: new TaskTable(strings, seed),
    names: new NameTable(strings, seed),
    lastSeq: 0,
    lastAtMs: 0,
    epoch: 0,
    epochStartedAtMs: 0,
  };
}

/** Names that begin so are guards: they outlive a wipe. */
export const GUARD_PREFIX = 'system:';

/** The one guard whose holder may wipe. */
export const ORCHESTRATOR_GUARD = 'system:orchestrator:guard_lock';

/** What every epoch says about the log it writes; a log of a newer version is refused by name. */
export const LOG_FORMAT = 'leasehold';
export const LOG_VERSION = 1;

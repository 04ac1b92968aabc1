/**
 * The workloads by name. They share names and queues, so any of them can be combined. Each is a file of its own, and a line
 * in this table and in `plan.ts`.
 */
import type { WorkloadName } from '../plan.ts';
import type { Program } from '../world/client-program.ts';
import { adminBreaks } from './admin-breaks.ts';
import { allOrNone } from './all-or-none.ts';
import { bulkOperators } from './bulk-operators.ts';
import { crowd } from './crowd.ts';
import { fencedWriters } from './fenced-writers.ts';
import { followers } from './followers.ts';
import { guardsAndWipes } from './guards-and-wipes.ts';
import { handOvers } from './hand-overs.ts';
import { hostile } from './hostile.ts';
import { limited } from './limited.ts';
import { massExpiry } from './mass-expiry.ts';
import { operators } from './operators.ts';
import { retries } from './retries.ts';
import { scheduled } from './scheduled.ts';
import { sessionFollowers } from './session-followers.ts';
import { sessions } from './sessions.ts';
import { tasks } from './tasks.ts';
import { waiters } from './waiters.ts';
import { workerLoop } from './worker-loop.ts';

export const PROGRAMS: Readonly<Record<WorkloadName, Program>> = {
  tasks,
  'worker-loop': workerLoop,
  waiters,
  'fenced-writers': fencedWriters,
  'all-or-none': allOrNone,
  'guards-and-wipes': guardsAndWipes,
  'mass-expiry': massExpiry,
  'admin-breaks': adminBreaks,
  crowd,
  retries,
  hostile,
  followers,
  sessions,
  'session-followers': sessionFollowers,
  operators,
  'bulk-operators': bulkOperators,
  limited,
  'hand-overs': handOvers,
  scheduled,
};

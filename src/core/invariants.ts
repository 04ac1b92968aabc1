/**
 * The invariants, each with an id, in the words of the seeds. `checkInvariants` reads one state; `checkStep`
 * compares two neighbours, for what must never be undone. Tests call them after every apply;
 * `docs/invariants.md` says where each is enforced.
 *
 * To add one: an id and its sentence in `INVARIANTS`, its check in `CHECKS` or `STEPS` (the compiler asks for
 * one of them), a row in `docs/invariants.md`, and a broken state for it in `invariants.test.ts`.
 */
import * as limits from './limit-invariants.ts';
import * as names from './name-invariants.ts';
import * as queues from './queue-invariants.ts';
import * as schedules from './schedules/schedule-invariants.ts';
import * as sessions from './sessions/session-invariants.ts';
import type { State } from './state.ts';
import * as states from './state-invariants.ts';
import type { StateSummary } from './step-invariants.ts';
import * as steps from './step-invariants.ts';
import * as tables from './table-invariants.ts';

export const INVARIANTS = {
  'INV-TASK-ONE-LEASE': 'A task has at most one active lease.',
  'INV-LEASE-ONE-TASK': 'A lease always refers to exactly one task.',
  'INV-WAITING-NO-LEASE': 'A task in WAITING has no lease.',
  'INV-LEASED-VALID-LEASE': 'A task in LEASED has exactly one valid lease.',
  'INV-TERMINAL-ENDED': 'A task has an end if and only if it is COMPLETED, FAILED or DEAD.',
  'INV-ENDED-BY-KIND':
    'Failed tasks are kept apart from those that ended as they should, each kind in the order of its end.',
  'INV-REQUEUE-ONE-SUCCESSOR': 'A requeued task has ended and has one successor, and they name each other.',
  'INV-TASK-ONE-PLACE': 'Every task is in exactly one place, the one that follows from its state.',
  'INV-LEASE-IN-HEAP': 'A lease is among those that can run out if and only if it is live.',
  'INV-QUEUE-COUNTS':
    'A queue counts exactly its tasks, delayed and backing off ones apart, and is kept while it has some or is paused.',
  'INV-QUEUE-ORDER':
    'Next in a queue is the highest priority that no limit holds back, and within a key the first that came.',
  'INV-ROWS-EXACT': 'A row is either in use or free, never both, and none is lost.',
  'INV-LISTS-EXACT': 'Every list holds what a scan of all rows would find, in the order it promises.',
  'INV-KEYS-EXACT':
    'A key counts exactly its tasks, leases and grants, and is held back if and only if a limit of its own is reached.',
  'INV-INDEX-EXACT': 'The indexes find everything there is, and hold nothing else.',
  'INV-STRINGS-EXACT': 'Every string kept belongs to exactly one field.',
  'INV-MEMORY-BOUNDED': 'A task remembers its last 16 leases, a name the tokens of its last 16 grants.',
  'INV-ATTEMPTS-COUNTED':
    'No task has more counted attempts or failures than attempts, nor more than its limits.',
  'INV-CHECKPOINT-UNFINISHED': 'A task that is COMPLETED has no checkpoint.',
  'INV-TIMES-PAST': 'What has happened lies at or before the end of the log.',
  'INV-NAME-ONE-HOLDER': 'A name has at most one live lease, and that has a holder and a token.',
  'INV-NAME-IDLE': 'A name is idle if and only if it has neither lease nor object.',
  'INV-FENCE-LINKED': 'Each lease is linked to exactly one object; names taken together share one grant.',
  'INV-FENCE-REJECT-UNFENCED': 'No object was ever written without a lease of its own name.',
  'INV-FENCE-REJECT-STALE': 'No object was written by a lease older than the fence of that moment.',
  'INV-SESSION-HOLDS': 'A session that runs holds its service and its slot, and shares neither.',
  'INV-SESSION-START-TASK': 'A session is NEW exactly while its start task waits or is leased.',
  'INV-SESSION-FOUND':
    'A session is found by its key while it can be shared, and by its lease while it runs.',
  'INV-SCHEDULE-DUE':
    'The next due time of a schedule lies after every one that fired or was skipped; a paused one has none.',
  'INV-SCHEDULE-UNFINISHED': 'The unfinished tasks of a schedule are counted exactly.',
  'INV-FENCE-MONOTONIC': 'Lease numbers grow strictly, over all subjects; a fence never goes down.',
  'INV-TERMINAL-FOR-EVER': 'COMPLETED, FAILED and DEAD tasks never transition again.',
  'INV-CANCELLED-NEVER-LEASED': 'A cancelled task is never leased again.',
  'INV-SESSION-FOR-EVER':
    'STOPPED, FAILED and CANCELLED sessions never change again; the first reason stays.',
  'INV-SCHEDULE-ONCE': 'No due time of a schedule fires twice or is taken back.',
  'INV-ATTEMPT-MONOTONIC': 'The attempt of a task never goes down and grows only by a grant.',
  'INV-NEVER-SHORTENED': 'A renewal or extension never shortens a lease.',
  'INV-NEVER-RESURRECTED': 'A lease that is over never comes back.',
  'INV-WRITE-WHILE-HELD':
    'An object changes only while the lease that writes it is live and has not run out.',
  'INV-LIMIT-LEASED': 'No grant gives a queue or a key more live leases than its limit.',
  'INV-LIMIT-RATE': 'No grant gives any interval of a rate more grants than its count.',
  'INV-KEYS-TAKE-TURNS': 'After a grant its key stands behind all others of its priority.',
  'INV-LOG-FORWARD': 'Positions have no gaps but at a restore; time and epochs never go backwards.',
  'INV-APPLY': 'An entry that does not fit the state is refused, whatever its origin.',
} as const;

export type InvariantId = keyof typeof INVARIANTS;

export type Fail = (why: string) => never;

/** Enforced in `check.ts` at every apply, so there is nothing left to check afterwards. */
type EnforcedAtApply = 'INV-APPLY';

/** About one state. */
const CHECKS = {
  'INV-TASK-ONE-LEASE': states.checkOneLease,
  'INV-LEASE-ONE-TASK': states.checkLeaseOfOneTask,
  'INV-WAITING-NO-LEASE': states.checkWaiting,
  'INV-LEASED-VALID-LEASE': states.checkLeased,
  'INV-TERMINAL-ENDED': states.checkEnds,
  'INV-ENDED-BY-KIND': states.checkEndedKinds,
  'INV-REQUEUE-ONE-SUCCESSOR': states.checkSuccessors,
  'INV-TASK-ONE-PLACE': states.checkPlaces,
  'INV-LEASE-IN-HEAP': states.checkHeaps,
  'INV-QUEUE-COUNTS': queues.checkQueueCounts,
  'INV-QUEUE-ORDER': queues.checkQueueOrder,
  'INV-ROWS-EXACT': tables.checkRows,
  'INV-LISTS-EXACT': tables.checkLists,
  'INV-KEYS-EXACT': queues.checkKeys,
  'INV-INDEX-EXACT': tables.checkIndexes,
  'INV-STRINGS-EXACT': tables.checkStrings,
  'INV-MEMORY-BOUNDED': tables.checkMemory,
  'INV-ATTEMPTS-COUNTED': states.checkAttempts,
  'INV-CHECKPOINT-UNFINISHED': states.checkCheckpoints,
  'INV-TIMES-PAST': states.checkTimes,
  'INV-NAME-ONE-HOLDER': names.checkHolders,
  'INV-NAME-IDLE': names.checkIdle,
  'INV-FENCE-LINKED': names.checkLinked,
  'INV-FENCE-REJECT-UNFENCED': names.checkFenced,
  'INV-FENCE-REJECT-STALE': names.checkNotStale,
  'INV-SESSION-HOLDS': sessions.checkSessionLeases,
  'INV-SESSION-START-TASK': sessions.checkStartTasks,
  'INV-SESSION-FOUND': sessions.checkSessionIndexes,
  'INV-SCHEDULE-DUE': schedules.checkDueTimes,
  'INV-SCHEDULE-UNFINISHED': schedules.checkUnfinished,
} as const satisfies { [Id in InvariantId]?: (state: State, fail: Fail) => void };

/** About a state and the one before it. */
const STEPS = {
  'INV-FENCE-MONOTONIC': steps.checkFencesGrow,
  'INV-TERMINAL-FOR-EVER': steps.checkTerminalStays,
  'INV-CANCELLED-NEVER-LEASED': steps.checkCancelledStay,
  'INV-SESSION-FOR-EVER': steps.checkSessionsStay,
  'INV-SCHEDULE-ONCE': steps.checkDueTimesPass,
  'INV-ATTEMPT-MONOTONIC': steps.checkAttemptsGrow,
  'INV-NEVER-SHORTENED': steps.checkNotShortened,
  'INV-NEVER-RESURRECTED': steps.checkNotResurrected,
  'INV-WRITE-WHILE-HELD': steps.checkWrites,
  'INV-LIMIT-LEASED': limits.checkLeased,
  'INV-LIMIT-RATE': limits.checkRate,
  'INV-KEYS-TAKE-TURNS': limits.checkTurns,
  'INV-LOG-FORWARD': steps.checkForward,
} as const satisfies {
  [Id in Exclude<InvariantId, keyof typeof CHECKS | EnforcedAtApply>]: (
    before: StateSummary,
    after: StateSummary,
    fail: Fail,
  ) => void;
};

/** Throws with the id of the first invariant that does not hold. */
export function checkInvariants(state: State): void {
  for (const [id, holds] of Object.entries(CHECKS)) holds(state, failWith(id as InvariantId));
}

/** Throws when something was undone between two states, one entry apart or many. */
export function checkStep(before: StateSummary, after: StateSummary): void {
  for (const [id, holds] of Object.entries(STEPS)) holds(before, after, failWith(id as InvariantId));
}

function failWith(id: InvariantId): Fail {
  return (why) => {
    throw new Error(`${id}: ${INVARIANTS[id]} But ${why}.`);
  };
}

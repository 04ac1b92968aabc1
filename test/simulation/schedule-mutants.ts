// Deliberate bugs in schedules; see `mutants.ts`, which lists them with the others.
import type { Mutant } from './mutants.ts';

const FIRE = 'src/core/schedules/fire-schedules.ts';
const COMMANDS = 'src/core/schedules/schedule-commands.ts';
const APPLY = 'src/core/schedules/apply-schedules.ts';

export const SCHEDULE_MUTANTS: readonly Mutant[] = [
  {
    name: 'overlap-unseen',
    does: 'A due time fires while a task of its schedule runs.',
    seed: 130_002,
    checker: 'schedules',
    edits: [
      {
        file: FIRE,
        from: "schedule.overlap === 'skip' && tasks.unfinishedOf(schedule.name) > 0;",
        to: 'false;',
      },
    ],
  },
  {
    name: 'late-batch-loses-due-times',
    does: 'The due time after a firing is the first after now, so what fell due while the authority was busy is lost.',
    seed: 130_002,
    checker: 'schedules',
    edits: [
      {
        file: FIRE,
        from: '? nextOf(schedule, lastMs, calendar)',
        to: '? nextOf(schedule, Math.max(lastMs, arguments[1].nowMs), calendar)',
      },
    ],
  },
  {
    name: 'one-is-none',
    does: 'After downtime the latest missed due time is skipped with the others.',
    seed: 130_009,
    checker: 'schedules',
    edits: [
      {
        file: FIRE,
        from: "policy === 'none' ? 0 : policy === 'one' ? 1 : CATCH_UP_MAX",
        to: "policy === 'all' ? CATCH_UP_MAX : 0",
      },
    ],
  },
  {
    name: 'downtime-unseen',
    does: 'A new epoch takes nothing for missed, and fires it whatever the schedule says of catching up.',
    seed: 130_022,
    checker: 'schedules',
    edits: [
      {
        file: COMMANDS,
        from: 'Math.max(this.movedSinceMs, state.epochStartedAtMs)',
        to: 'this.movedSinceMs',
      },
    ],
  },
  {
    name: 'resumed-fires-again',
    does: 'A schedule that is resumed is due again at its last due time.',
    seed: 130_022,
    checker: 'schedules',
    edits: [
      {
        file: 'src/core/schedules/decide-schedules.ts',
        from: 'const next = nextOf({ ...plan, paused }, nowMs, calendar);',
        to: 'const next = nextOf({ ...plan, paused }, (schedule.lastDueAtMs || nowMs + 1) - 1, calendar);',
      },
      {
        file: APPLY,
        from: "check(nextDueAtMs === null || nextDueAtMs > atMs, entry, seq, 'it fires only times after its entry');",
        to: '',
      },
      {
        file: APPLY,
        from: "check(dueAtMs > schedule.lastDueAtMs && lastMs >= dueAtMs, entry, seq, 'a due time fires once');",
        to: '',
      },
    ],
  },
];

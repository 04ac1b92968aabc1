// Deliberate bugs in schedules; see `mutants.ts`, which lists them with the others.
import type { Mutant } from './mutants.ts';

const FIRE = 'src/core/schedules/fire-schedules.ts';
const COMMANDS = 'src/core/schedules/schedule-commands.ts';
const APPLY = 'src/core/schedules/apply-schedules.ts';
const LEADERSHIP = 'src/authority/leadership.ts';

/** What a server does to the schedules that it takes over from another. */
const takingOver = (change: string): Mutant['edits'] => [
  {
    file: LEADERSHIP,
    from: "import { Standby } from './standby.ts';",
    to: `import { Standby } from './standby.ts';
import { calendar } from './calendar.ts';
import { nextOf } from '../core/schedules/schedule-times.ts';`,
  },
  {
    file: LEADERSHIP,
    from: 'const { clock, timers, retention, onLead, onCompactionFault } = this.options;',
    to: `const { clock, timers, retention, onLead, onCompactionFault } = this.options;
    for (const schedule of state.schedules.all()) if (schedule.nextDueAtMs !== null) { ${change} }
    state.schedules.changed();`,
  },
];

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
    seed: 130_009,
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
    seed: 130_002,
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
  {
    name: 'take-over-from-the-wall-clock',
    does: 'A server that takes over goes on with the first due time after its wall clock, not after the last one that was written.',
    seed: 140_000,
    checker: 'schedules',
    edits: takingOver('Object.assign(schedule, nextOf(schedule, clock.wallMs(), calendar));'),
  },
  {
    name: 'take-over-forgets-the-next',
    does: 'A server that takes over knows the last due time of a schedule and not the next, and begins with the last.',
    seed: 140_000,
    checker: 'schedules',
    edits: [
      ...takingOver(
        'if (schedule.lastDueAtMs > 0) Object.assign(schedule, nextOf(schedule, schedule.lastDueAtMs - 1, calendar));',
      ),
      {
        file: APPLY,
        from: "check(dueAtMs > schedule.lastDueAtMs && lastMs >= dueAtMs, entry, seq, 'a due time fires once');",
        to: '',
      },
    ],
  },
];

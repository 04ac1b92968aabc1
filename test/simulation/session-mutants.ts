// Deliberate bugs in sessions and in the orchestrator; see `mutants.ts`, which lists them with the others.
import type { Mutant } from './mutants.ts';

const SESSION_COMMANDS = 'src/core/sessions/session-commands.ts';

export const SESSION_MUTANTS: readonly Mutant[] = [
  {
    name: 'change-without-guard',
    does: 'A caller that names the guard may change sessions, even after it lost the guard.',
    seed: 10_107,
    checker: 'asked-for',
    edits: [
      {
        file: SESSION_COMMANDS,
        from: `        return this.holds(command.guard)
          ? this.happen(command.sessionId, command.event, command.detail)`,
        to: `        return this.holds(command.guard) || command.guard.name !== ''
          ? this.happen(command.sessionId, command.event, command.detail)`,
      },
    ],
  },
  {
    name: 'renewal-without-guard',
    does: 'A caller that names the guard may renew the leases of sessions.',
    seed: 10_032,
    checker: 'asked-for',
    edits: [
      {
        file: SESSION_COMMANDS,
        from: 'return this.holds(command.guard) ? this.renew(command) : NOT_HELD;',
        to: "return this.holds(command.guard) || command.guard.name !== '' ? this.renew(command) : NOT_HELD;",
      },
    ],
  },
  {
    name: 'session-outlives-lease',
    does: 'A session goes on when a lease of it was broken.',
    seed: 10_000,
    checker: 'sessions',
    edits: [
      {
        file: 'src/core/sessions/session-consequences.ts',
        from: "return lost(state, sessions.findByLease(entry.leaseSeq), 'broken');",
        to: 'return NOTHING;',
      },
    ],
  },
  {
    name: 'slot-kept',
    does: 'A session that ends gives its service back, and its slot only when the lease runs out.',
    seed: 10_000,
    checker: 'one-holder',
    edits: [
      {
        file: 'src/core/sessions/apply-sessions.ts',
        from: `  for (const name of namesOf(session)) {
    const row = names.find(name);
    if (row === 0 ||`,
        to: `  for (const name of namesOf(session).slice(0, 1)) {
    const row = names.find(name);
    if (row === 0 ||`,
      },
    ],
  },
  {
    name: 'key-kept',
    does: 'The key of a session that has ended still stands for it.',
    seed: 10_007,
    checker: 'sessions',
    edits: [
      {
        file: 'src/core/sessions/session-table.ts',
        from: 'if (this.byKey.get(session.key) === session) this.byKey.delete(session.key);',
        to: 'void session.key;',
      },
    ],
  },
  {
    name: 'wipe-skipped',
    does: 'An orchestrator leaves the leases of its predecessor alone.',
    seed: 10_008,
    checker: 'sessions',
    edits: [
      {
        file: 'src/sessions/orchestrator.ts',
        from: "world.client.call('lease.wipe', { prefix: SESSION_LEASES, guard: guard.claim });",
        to: "world.client.call('lease.wipe', { prefix: 'nothing:', guard: guard.claim });",
      },
    ],
  },
  {
    name: 'no-handover',
    does: 'An orchestrator neither waits for the pipelines of its predecessor nor ends them.',
    seed: 10_018,
    checker: 'pipelines',
    edits: [
      {
        file: 'src/sessions/orchestrator.ts',
        from: 'this.othersGone ??= sleep(this.world.timers, HANDOVER_MS);',
        to: 'this.othersGone ??= sleep(this.world.timers, 0);',
      },
      {
        file: 'src/sessions/stray-pipelines.ts',
        from: 'return living.filter(({ isMarked }) => isMarked);',
        to: 'return living.filter(({ isMarked }) => isMarked && living.length < 0);',
      },
    ],
  },
  {
    name: 'keeper-stays-alone',
    does: 'A keeper goes on with its pipeline when the orchestrator is dead, until the time is up.',
    seed: 30_003,
    checker: 'pipelines',
    edits: [
      {
        file: 'src/keeper/keeper.ts',
        from: `    this.isAlone = true;
    for (const program of this.programs.values()) this.stop(program);`,
        to: '    this.isAlone = true;',
      },
    ],
  },
  {
    name: 'writes-after-loss',
    does: 'An orchestrator that has lost its guard still asks for what it was about to ask for.',
    seed: 30_295,
    checker: 'deposed',
    edits: [
      {
        file: 'src/sessions/orchestrator.ts',
        from: '    if (!guard.isHeld) return null;\n    const reply',
        to: '    void guard.isHeld;\n    const reply',
      },
    ],
  },
  {
    name: 'limits-without-guard',
    does: 'A pipeline may run for as long as its own leases last, whatever becomes of the guard.',
    seed: 30_052,
    checker: 'pipelines',
    edits: [
      {
        file: 'src/sessions/timing.ts',
        from: 'killBy: sooner(guard.killBy, lease.killBy),',
        to: 'killBy: lease.killBy,',
      },
      {
        file: 'src/sessions/timing.ts',
        from: 'terminateBy: sooner(guard.terminateBy, lease.terminateBy),',
        to: 'terminateBy: lease.terminateBy ?? guard.terminateBy,',
      },
    ],
  },
  {
    name: 'end-before-process',
    does: 'The end of a stopped session is told while its pipeline is still leaving.',
    seed: 10_007,
    checker: 'pipelines',
    edits: [
      {
        file: 'src/sessions/session-run.ts',
        from: "this.pipeline?.stop(wanted === 'GONE' ? LOST_GRACE_MS : this.host.timing.graceMs);",
        to: "this.pipeline?.stop(wanted === 'GONE' ? LOST_GRACE_MS : this.host.timing.graceMs);\n    if (wanted === 'STOP') void this.report('stopped', null);",
      },
    ],
  },
  {
    name: 'orphan-runs-on',
    does: 'A pipeline whose keeper is killed runs on, and no process is told.',
    seed: 30_007,
    checker: 'pipelines',
    edits: [
      {
        file: 'src/sessions/kept-pipelines.ts',
        from: '    void this.endRest();\n',
        to: '    void this.endRest;\n',
      },
    ],
  },
  {
    name: 'orphan-not-awaited',
    does: 'A pipeline whose keeper is killed is said to have ended before it has.',
    seed: 30_007,
    checker: 'pipelines',
    edits: [
      {
        file: 'src/sessions/kept-pipelines.ts',
        from: 'const isKnown = await this.killRest();',
        to: 'const isKnown = true;\n    void this.killRest();',
      },
    ],
  },
  {
    name: 'stopped-keeper-trusted',
    does: 'A keeper that does not answer is left to itself, and the guard is given back while its pipeline runs.',
    seed: 80_085,
    checker: 'pipelines',
    edits: [
      {
        file: 'src/sessions/kept-pipelines.ts',
        from: 'if (this.unanswered > 0) return this.giveUpKeeper();',
        to: 'if (this.unanswered > 0) return;',
      },
      {
        file: 'src/sessions/orchestrator.ts',
        from: 'if (left === 0) return this.giveBack();',
        to: 'if (left >= 0) return this.giveBack();',
      },
    ],
  },
  {
    name: 'strays-left',
    does: 'An orchestrator leaves pipelines without a keeper alone, and starts others beside them.',
    seed: 80_010,
    checker: 'pipelines',
    edits: [
      {
        file: 'src/sessions/stray-pipelines.ts',
        from: 'return living.filter(({ isMarked }) => isMarked);',
        to: 'return living.filter(({ isMarked }) => isMarked && living.length < 0);',
      },
    ],
  },
  {
    name: 'recording-as-service',
    does: 'A recording is held as a whole, under the name of the live service that is called like it.',
    seed: 10_000,
    checker: 'sessions',
    edits: [
      {
        file: 'src/core/sessions/session-names.ts',
        from: "return intent.type === 'live'\n",
        to: "return intent.type === 'live' || intent.type === 'vod'\n",
      },
    ],
  },
  {
    name: 'last-id-again',
    does: 'Who goes on after an id is told of that one again.',
    seed: 30_003,
    checker: 'heard',
    edits: [
      {
        file: 'src/server/pages.ts',
        from: 'return { fromSeq: Number(lastId) + 1 };',
        to: 'return { fromSeq: Number(lastId) };',
      },
    ],
  },
  {
    name: 'end-unheard',
    does: 'Who was cut off before the end of a session is told that there is nothing more to hear.',
    seed: 30_003,
    checker: 'heard',
    edits: [
      {
        file: 'src/operations/sessions.ts',
        from: 'const hasAll = fromSeq === null || session.seq < begin;',
        to: 'const hasAll = begin > 0;',
      },
    ],
  },
  {
    name: 'others-heard',
    does: 'Who follows a session is told of those that came after it as well.',
    seed: 30_003,
    checker: 'heard',
    edits: [
      {
        file: 'src/server/follow-slices.ts',
        from: 'takes: ({ session }) => session === seq, stopsAtEnd: true',
        to: 'takes: ({ session }) => session >= seq, stopsAtEnd: true',
      },
    ],
  },
  {
    name: 'begins-again',
    does: 'A client that connects again to follow a session begins where it began first.',
    seed: 30_161,
    checker: 'heard',
    edits: [
      {
        file: 'src/client/log-reader.ts',
        from: 'nextSeq = entry.seq + 1;',
        to: 'if (session === undefined) nextSeq = entry.seq + 1;',
      },
    ],
  },
];

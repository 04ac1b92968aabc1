// Random histories: few subjects and many collisions, times that tie, creep and jump, restarts and restores in between.
// A history is data, so that fast-check can make it smaller; what it does is decided when it is played.
import fc from 'fast-check';
import type { Guard, ReleaseName, RenewName } from '../../src/core/commands.ts';
import { sessionIdOfSeq } from '../../src/core/ids.ts';
import { ORCHESTRATOR_GUARD } from '../../src/core/reserved-names.ts';
import type { TaskRow } from '../../src/core/row-types.ts';
import { isRunning, type Session } from '../../src/core/sessions/session-table.ts';
import type { State } from '../../src/core/state.ts';
import { RESTORE_JUMP } from '../../src/engines/restored-seq.ts';
import {
  acceptIntent,
  acquireGuard,
  acquireNames,
  breakName,
  bulkTasks,
  type CommandBuilder,
  cancelTask,
  changeSession,
  changeTask,
  checkpointTask,
  completeTask,
  createTask,
  deleteObject,
  extendLease,
  failTask,
  fireSchedule,
  heartbeat,
  killTask,
  leaseStarts,
  leaseTasks,
  limitQueue,
  newestLease,
  pauseQueue,
  pauseSchedule,
  releaseName,
  releaseTask,
  removeSchedule,
  renewName,
  renewSessions,
  requeueTask,
  resumeQueue,
  resumeSchedule,
  setSchedule,
  startSession,
  stopSession,
  tokenHashOf,
  wipeNames,
  writeObject,
} from './commands.ts';
import type { Scenario } from './scenario.ts';
import { seed } from './seed.ts';

/** Runs of all properties begin with this seed; `LEASEHOLD_SEED` chooses another. A failure prints seed and path. */
export const SEED = seed;

export interface HistoryStep {
  readonly afterMs: number;
  readonly act: CommandBuilder | 'restart' | 'restore' | 'hang up' | 'leave';
  /** Which of those who wait, for the acts that concern one. */
  readonly pick: number;
  readonly says: string;
  /** Histories are printed when they fail. */
  toString(): string;
}

const taskIds = fc.constantFrom('t1', 't2', 't3');
const queues = fc.constantFrom('a', 'b');
const schedules = fc.constantFrom('s1', 's2');
const workers = fc.constantFrom('w1', 'w2');
const names = fc.constantFrom('n1', 'n2', 'n3', 'lease:x');
const holders = fc.constantFrom('h1', 'h2');
const tokens = fc.oneof(
  fc.constantFrom('k1', 'k2', 'k3'),
  fc.nat(999).map((number) => `fresh ${number}`),
);
const ttls = fc.constantFrom(10, 20, 50, 1_000, 5_000);
const sessionNames = fc.constantFrom('lease:service:s1', 'lease:vod:s1:0', 'lease:tuner:0');
const reasons = fc.constantFrom('it broke', 'ä\u{1f512}');
const maybeRequest = fc.constantFrom(null, null, 'r1', 'r2');

/** What is left out stays, and null goes. */
const limits = fc.record(
  {
    maxLeased: fc.constantFrom(null, 1, 2),
    maxLeasedPerKey: fc.constantFrom(null, 1, 2),
    rate: fc.option(
      fc.record({
        count: fc.integer({ min: 1, max: 3 }),
        perMs: fc.constantFrom(1, 10, 50, 2_000),
        perKey: fc.boolean(),
      }),
      { freq: 3 },
    ),
  },
  { requiredKeys: [] },
);

/** Mostly the newest lease, else any number that ever was or never will be. */
const presentedLease = fc.oneof(
  { weight: 4, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.nat(500) },
);

/** Usually a held task, else one by name, which may not exist. */
const target = fc.record({ taskId: taskIds, held: fc.option(fc.nat(9), { freq: 4 }), lease: presentedLease });
type Target = typeof target extends fc.Arbitrary<infer T> ? T : never;

function at(
  { taskId, held, lease }: Target,
  make: (taskId: string, leaseSeq: number) => CommandBuilder,
): CommandBuilder {
  return (state) => {
    const { expiring } = state.tasks;
    const row =
      held === null
        ? undefined
        : [...expiring.all()].sort((a, b) => a - b)[held % Math.max(1, expiring.size)];
    const id = row === undefined ? taskId : state.tasks.idOf(row);
    return make(id, lease === null ? newestLease(state, id) : lease % (state.lastSeq + 2))(state);
  };
}

/** The same command with the proof of the current holder of the name. */
function asHolder<C extends RenewName | ReleaseName>(
  isHolder: boolean,
  build: CommandBuilder<C>,
): CommandBuilder<C> {
  return (state) => {
    const command = build(state);
    const row = state.names.find(command.name);
    if (!isHolder || row === 0) return command;
    return { ...command, holder: state.names.holderOf(row), tokenHash: state.names.tokens.hashOf(row) };
  };
}

/** The position of the current or last holder of the name. */
function supersede({ name, holder, token }: { name: string; holder: string; token: string }): CommandBuilder {
  return (state) => {
    const row = state.names.find(name);
    const supersedes = row === 0 ? 1 : state.names.leaseSeq.get(row);
    return acquireNames({ names: [name], holder, token, supersedes })(state);
  };
}

/** The same command with the proof of the current holder of the guard, or of the one it names. */
function asGuard<C extends { readonly guard?: Guard }>(
  isHolder: boolean,
  build: (state: State) => C,
): (state: State) => C {
  return (state) => {
    const command = build(state);
    const row = state.names.find(ORCHESTRATOR_GUARD);
    if (!isHolder || row === 0) return command;
    const holder = state.names.holderOf(row);
    const guard = { name: ORCHESTRATOR_GUARD, holder, tokenHash: state.names.tokens.hashOf(row) };
    return { ...command, guard };
  };
}

/** One of the sessions in this state if there is one, else any, which may refuse the command. */
function sessionAt({ sessions }: State, pick: number, isWanted = (_: Session): boolean => true): string {
  const known = [...sessions.open.values(), ...sessions.ended.values()];
  const wanted = known.filter(isWanted);
  const from = pick > 0 && wanted.length > 0 ? wanted : known;
  return sessionIdOfSeq(from[pick % Math.max(1, from.length)]?.seq ?? 1);
}

/** One of the ended tasks if there is one, else the one named. */
function endedAt({ tasks }: State, pick: number, taskId: string): string {
  const ended = [...tasks.inOrderOfEnd()];
  const row = ended[pick % Math.max(1, ended.length)];
  return row === undefined ? taskId : tasks.idOf(row);
}

function isLeased({ tasks }: State): (session: Session) => boolean {
  return ({ seq, state }) =>
    state === 'NEW' && tasks.stateOf(tasks.find(sessionIdOfSeq(seq)) as TaskRow) === 'LEASED';
}

function commands(
  waitMs: fc.Arbitrary<number>,
  groupKey: fc.Arbitrary<string | null>,
): fc.Arbitrary<{ says: string; act: CommandBuilder }> {
  const say = <T>(
    says: string,
    fields: { [K in keyof T]: fc.Arbitrary<T[K]> },
    make: (given: T) => CommandBuilder,
  ) =>
    fc.record(fields).map((given) => ({ says: `${says} ${JSON.stringify(given)}`, act: make(given as T) }));
  const isHolder = fc.constantFrom(true, true, false);
  const fence = fc.oneof(
    { weight: 8, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 2, arbitrary: fc.record({ leaseSeq: fc.nat(60) }) },
    { weight: 1, arbitrary: fc.record({ holderId: holders }) },
  );
  const presenting = (given: { lease: object | null | undefined }) =>
    given.lease === undefined ? {} : { lease: given.lease };
  const weighted: [number, fc.Arbitrary<{ says: string; act: CommandBuilder }>][] = [
    [
      8,
      say(
        'create',
        {
          taskId: fc.option(taskIds),
          queue: queues,
          priority: fc.constantFrom(0, 0, 1, -128),
          delayMs: fc.constantFrom(0, 0, 0, 10, 20),
          maxFailures: fc.integer({ min: 1, max: 3 }),
          maxAttempts: fc.integer({ min: 1, max: 4 }),
          backoffMs: fc.constantFrom(0, 10),
          dedupKey: fc.constantFrom(null, null, 'd1'),
          groupKey,
          trace: fc.constantFrom(null, null, { traceparent: '00-1-2-01', tracestate: null }),
          payload: fc.constantFrom('x', 'yy'),
        },
        createTask,
      ),
    ],
    [
      10,
      say(
        'lease',
        {
          workerId: workers,
          queues: fc.constantFrom(['a'], ['b'], ['a', 'b']),
          max: fc.integer({ min: 1, max: 2 }),
          ttlMs: ttls,
          waitMs,
          requestId: maybeRequest,
        },
        leaseTasks,
      ),
    ],
    [
      2,
      say('extend', { target, ttlMs: ttls }, ({ target, ttlMs }) =>
        at(target, (taskId, leaseSeq) => extendLease({ taskId, leaseSeq, ttlMs })),
      ),
    ],
    [
      5,
      say(
        'complete',
        { target, writes: fc.array(fc.record({ objectId: names, lease: fence }), { maxLength: 1 }) },
        ({ target, writes }) =>
          at(target, (taskId, leaseSeq) =>
            completeTask({
              taskId,
              leaseSeq,
              result: 'done',
              writes: writes.map((write) => ({ objectId: write.objectId, ...presenting(write) })),
            }),
          ),
      ),
    ],
    [
      3,
      say(
        'fail',
        {
          target,
          reason: reasons,
          retry: fc.constantFrom(true, true, true, false),
          delayMs: fc.constantFrom(null, 0, 10),
        },
        ({ target, ...given }) => at(target, (taskId, leaseSeq) => failTask({ taskId, leaseSeq, ...given })),
      ),
    ],
    [
      2,
      say('release', { target, delayMs: fc.constantFrom(0, 10) }, ({ target, delayMs }) =>
        at(target, (taskId, leaseSeq) => releaseTask({ taskId, leaseSeq, delayMs })),
      ),
    ],
    [
      2,
      say('cancel', { target, reason: reasons }, ({ target, reason }) =>
        at(target, (taskId) => cancelTask({ taskId, reason })),
      ),
    ],
    [
      3,
      say('checkpoint', { target, value: fc.constantFrom('1', '22') }, ({ target, value }) =>
        at(target, (taskId, leaseSeq) => checkpointTask({ taskId, leaseSeq, value })),
      ),
    ],
    [
      2,
      say(
        'change',
        {
          taskId: taskIds,
          queue: fc.constantFrom(null, 'a', 'b'),
          priority: fc.constantFrom(null, 0, 1),
          delayMs: fc.constantFrom(null, 0, 10),
        },
        changeTask,
      ),
    ],
    [1, say('kill', { taskId: taskIds, reason: fc.oneof(reasons, fc.constant('CANCELLED')) }, killTask)],
    [
      4,
      say(
        'requeue',
        {
          taskId: taskIds,
          pick: fc.option(fc.nat(9), { freq: 4 }),
          newTaskId: fc.option(taskIds, { freq: 3 }),
          queue: fc.option(queues, { freq: 3 }),
          delayMs: fc.constantFrom(0, 10),
        },
        ({ taskId, pick, ...given }) =>
          (state) =>
            requeueTask({ taskId: pick === null ? taskId : endedAt(state, pick, taskId), ...given })(state),
      ),
    ],
    [
      3,
      say(
        'bulk',
        {
          action: fc.constantFrom('requeue', 'cancel', 'kill', 'change', 'purge'),
          filter: fc.record({
            queue: fc.option(queues),
            state: fc.constantFrom(null, null, 'WAITING', 'LEASED', 'FAILED', 'DEAD'),
            key: fc.option(fc.constant('k1'), { freq: 2 }),
          }),
          queue: fc.option(queues),
          priority: fc.constantFrom(null, 1),
          delayMs: fc.constantFrom(null, 0, 10),
          reason: reasons,
          dryRun: fc.constantFrom(false, false, true),
        },
        bulkTasks,
      ),
    ],
    [
      1,
      say('beat', { ttlMs: ttls }, (g) => heartbeat({ ...g, leases: [{ taskId: 't1' }, { taskId: 't2' }] })),
    ],
    [
      10,
      say(
        'acquire',
        {
          names: fc.uniqueArray(names, { minLength: 1, maxLength: 2 }),
          holder: holders,
          token: tokens,
          ttlMs: ttls,
          waitMs,
        },
        acquireNames,
      ),
    ],
    [
      2,
      say('supersede', { name: fc.oneof(names, sessionNames), holder: holders, token: tokens }, (given) =>
        supersede(given),
      ),
    ],
    [3, say('guard', { holder: holders, token: fc.constantFrom('g1', 'g2') }, acquireGuard)],
    [
      3,
      say(
        'renew',
        { isHolder, name: names, holder: holders, token: tokens, ttlMs: ttls },
        ({ isHolder, ...given }) => asHolder(isHolder, renewName(given)),
      ),
    ],
    [
      4,
      say('let go', { isHolder, name: names, holder: holders, token: tokens }, ({ isHolder, ...given }) =>
        asHolder(isHolder, releaseName(given)),
      ),
    ],
    [1, say('break', { name: names, leaseSeq: fc.constantFrom(null, 3) }, breakName)],
    [
      1,
      say(
        'wipe',
        { prefix: fc.constantFrom('', 'lease:'), holder: holders, token: fc.constantFrom('g1', 'g2') },
        wipeNames,
      ),
    ],
    [
      5,
      say('write', { objectId: names, lease: fence, version: fc.option(fc.nat(3)) }, (g) =>
        writeObject({
          objectId: g.objectId,
          ...presenting(g),
          ...(g.version === null ? {} : { ifVersion: g.version }),
        }),
      ),
    ],
    [
      2,
      say('delete', { objectId: names, lease: fence }, (g) =>
        deleteObject({ objectId: g.objectId, ...presenting(g) }),
      ),
    ],
    [
      6,
      say(
        'intent',
        {
          type: fc.constantFrom('live', 'live', 'vod'),
          target: fc.constantFrom('s1', 's2'),
          startMs: fc.constantFrom(0, 999, 1_000),
          profileId: fc.constantFrom('p1', 'p2'),
          serviceLease: fc.constantFrom(null, null, { tokenHash: tokenHashOf('api'), ttlMs: 20 }),
        },
        acceptIntent,
      ),
    ],
    [
      8,
      say('take a start', { isHolder, ttlMs: fc.constantFrom(20, 1_000), waitMs }, ({ isHolder, ...given }) =>
        asGuard(isHolder, leaseStarts(given)),
      ),
    ],
    [
      10,
      say(
        'start',
        { isHolder, pick: fc.nat(3), ttlMs: ttls, isPatient: fc.boolean(), startToken: tokens },
        ({ isHolder, pick, ...given }) =>
          asGuard(isHolder, (state) =>
            startSession({ sessionId: sessionAt(state, pick, isLeased(state)), slots: ['0', '1'], ...given })(
              state,
            ),
          ),
      ),
    ],
    [
      4,
      say(
        'happen to a session',
        {
          isHolder,
          pick: fc.nat(3),
          event: fc.constantFrom(
            'ready' as const,
            'start_failed' as const,
            'process_ended' as const,
            'shutdown' as const,
            'idle' as const,
            'stopped' as const,
          ),
        },
        ({ isHolder, pick, event }) =>
          asGuard(isHolder, (state) =>
            changeSession({ sessionId: sessionAt(state, pick, isRunning), event, detail: 'said so' })(state),
          ),
      ),
    ],
    [
      2,
      say(
        'stop',
        { pick: fc.nat(3) },
        ({ pick }) =>
          (state) =>
            stopSession(sessionAt(state, pick, isRunning))(state),
      ),
    ],
    [
      2,
      say('renew a session', { isHolder, pick: fc.nat(3), ttlMs: ttls }, ({ isHolder, pick, ttlMs }) =>
        asGuard(isHolder, (state) =>
          renewSessions({ sessionIds: [sessionAt(state, pick, isRunning)], ttlMs })(state),
        ),
      ),
    ],
    [1, say('break a session', { name: sessionNames }, (given) => breakName(given))],
    [1, say('pause', { queue: queues }, (g) => pauseQueue(g.queue))],
    [
      2,
      say('limit', { queue: queues, limits, applies: fc.boolean() }, (g) =>
        limitQueue(g.limits, g.queue, g.applies),
      ),
    ],
    [1, say('resume', { queue: queues }, (g) => resumeQueue(g.queue))],
    [
      4,
      say(
        'schedule',
        {
          name: schedules,
          everyMs: fc.constantFrom(1_000, 20_000, 40_000, 40_000),
          queue: queues,
          overlap: fc.constantFrom('skip' as const, 'allow' as const),
          catchUp: fc.constantFrom('one' as const, 'one' as const, 'none' as const, 'all' as const),
          jitterMs: fc.constantFrom(0, 0, 20),
          maxAttempts: fc.integer({ min: 1, max: 2 }),
          paused: fc.constantFrom(false, false, true),
          applied: fc.boolean(),
        },
        setSchedule,
      ),
    ],
    [1, say('schedule by cron', { name: schedules, cron: fc.constant('*/20 * * * * *') }, setSchedule)],
    [1, say('pause schedule', { name: schedules }, (g) => pauseSchedule(g.name))],
    [1, say('resume schedule', { name: schedules }, (g) => resumeSchedule(g.name))],
    [1, say('remove schedule', { name: schedules }, (g) => removeSchedule(g.name))],
    [2, say('fire', { name: schedules, requestId: maybeRequest }, fireSchedule)],
  ];
  return fc.oneof(...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

export interface HistoryShape {
  readonly maxLength: number;
  /** Whether calls wait. Lines are soft state, which some properties leave out. */
  readonly waits: boolean;
  readonly restarts: boolean;
  /** The keys that tasks have. With one only there are no turns, which are soft state as well. */
  readonly keys?: readonly (string | null)[];
}

const KEYS = [null, null, 'k1', 'k2'];

export function histories({
  maxLength,
  waits,
  restarts,
  keys = KEYS,
}: HistoryShape): fc.Arbitrary<HistoryStep[]> {
  const waitMs = waits ? fc.constantFrom(0, 0, 10, 30, 2_000) : fc.constant(0);
  const act = fc.oneof(
    {
      weight: 40,
      arbitrary: commands(waitMs, fc.constantFrom(...keys)).map(({ says, act }) => ({ says, act })),
    },
    ...(restarts
      ? [
          { weight: 1, arbitrary: acts('restart') },
          { weight: 1, arbitrary: acts('restore') },
        ]
      : []),
    ...(waits
      ? [
          { weight: 1, arbitrary: acts('hang up') },
          { weight: 1, arbitrary: acts('leave') },
        ]
      : []),
  );
  const afterMs = fc.oneof(
    { weight: 12, arbitrary: fc.constant(0) },
    { weight: 4, arbitrary: fc.constantFrom(1, 5, 10, 20, 50) },
    { weight: 1, arbitrary: fc.constantFrom(-100, 999, 1_000, 100_000) },
  );
  const step = fc.record({ afterMs, act, pick: fc.nat(9) }).map(
    ({ afterMs, act, pick }): HistoryStep => ({
      afterMs,
      ...act,
      pick,
      toString: () => `+${afterMs} ms: ${act.says}`,
    }),
  );
  return fc.array(step, { maxLength, size: 'max' });
}

function acts(act: Exclude<HistoryStep['act'], CommandBuilder>) {
  return fc.constant({ says: act, act });
}

/** Plays one step of a history. A waiter is named `#` and the number of the step. */
export function play(story: Scenario, step: HistoryStep, number: number): void {
  const waiting = story.waiting();
  story.moveBy(step.afterMs);
  const who = waiting[step.pick % Math.max(1, waiting.length)];
  if (typeof step.act === 'function') story.run(step.act(story.state), `#${number}`);
  else if (step.act === 'restart') story.restart(step.pick * 10);
  else if (step.act === 'restore') story.restore(RESTORE_JUMP);
  else if (who !== undefined && step.act === 'hang up') story.hangUp(who);
  else if (who !== undefined && story.waiting().includes(who)) story.leave(who);
}

/** Plays the commands of a history several at a time. */
export function playTogether(story: Scenario, steps: readonly HistoryStep[], number: number): void {
  story.moveBy(Math.max(...steps.map(({ afterMs }) => afterMs)));
  story.runTogether(
    steps.flatMap(({ act }, place) =>
      typeof act === 'function' ? [[act, `#${number}.${place}`] as const] : [],
    ),
  );
}

// Every kind of fault, each alone in a small world: it does what it says, and the world goes on. A new kind does not
// compile until it stands in this table.
import { describe, expect, it } from 'vitest';
import type { History, HistoryEvent } from './history.ts';
import type { FaultKind, Plan, PlannedFault, WorkloadName } from './plan.ts';
import { FAULTS } from './plan.ts';
import { simulate } from './simulate.ts';

interface Trial {
  readonly fault: Omit<PlannedFault, 'fault' | 'atMs'>;
  /** A world in which its client is at work before and after. */
  readonly seed?: number;
  readonly atMs?: number;
  readonly workloads?: readonly WorkloadName[];
  readonly engine?: Plan['engine'];
  readonly shows: (history: History) => void;
}

const AT_MS = 4_000;

function planOf(
  fault: FaultKind,
  { fault: args, seed = 7, atMs = AT_MS, workloads = ['tasks', 'fenced-writers'], engine = 'file' }: Trial,
): Plan {
  return {
    seed,
    engine,
    durationMs: 12_000,
    graceMs: 200_000,
    segmentBytes: 65_536,
    compactionBytes: 1_048_576,
    forgetMs: 3_600_000,
    skewMs: 0,
    cutsStreams: false,
    workloads: workloads.map((name) => {
      const orchestrators = name === 'sessions' ? 1 : 0;
      return { name, clients: 2, rounds: 25, orchestrators };
    }),
    faults: [{ atMs, fault, ...args }],
  };
}

type Kind = HistoryEvent['kind'];
type Of<K extends Kind> = Extract<HistoryEvent, { kind: K }>;

function all<K extends Kind>({ events }: History, kind: K): Of<K>[] {
  return events.filter((event): event is Of<K> => event.kind === kind);
}

/** Boots and deaths of the authority, one after the other, and refused boots. */
function lives(history: History): string[] {
  return history.events.flatMap((event) => {
    if (event.kind === 'death' && event.node.startsWith('authority')) return [`death ${event.cause}`];
    if (event.kind === 'boot' && event.node.startsWith('authority')) return ['boot'];
    if (event.kind === 'refused-boot') return [event.error];
    return [];
  });
}

/** By how much the wall clock of c3 got ahead of its monotonic one. */
function wallLeads(history: History): number[] {
  return all(history, 'used')
    .filter(({ client }) => client === 'c3')
    .map(({ now }) => now.wallMs - now.monotonicMs);
}

const unanswered = (history: History): number =>
  all(history, 'unanswered').filter(({ effect }) => effect === 'unknown').length;

/** The longest time within which no call of c1 was answered. */
function silence(history: History, client = 'c1'): number {
  const calls = new Set(
    all(history, 'call')
      .filter((call) => call.client === client && call.layer === 'wire')
      .map(({ id }) => id),
  );
  let longest = 0;
  let lastMs = 0;
  for (const { id, simMs } of all(history, 'answer')) {
    if (!calls.has(id)) continue;
    longest = Math.max(longest, simMs - lastMs);
    lastMs = simMs;
  }
  return longest;
}

const ON_AUTHORITY = { target: 'authority', forMs: 0 };
const restarts = (history: History): void => expect(lives(history)).toEqual(['boot', 'death kill', 'boot']);
const losesPower = (history: History): void =>
  expect(lives(history)).toEqual(['boot', 'death power', 'boot']);

/** Damage that was found: refused, repaired, started. */
const isFound = (history: History): void => {
  expect(lives(history)).toEqual(['boot', 'death power', 'LogDamagedError', 'boot']);
  expect(all(history, 'fault').map(({ fault }) => fault)).toContain('repair');
};

const TRIALS: Readonly<Record<FaultKind, Trial>> = {
  'clock.jump': {
    seed: 3,
    fault: { target: 'c3', forMs: 0, args: { byMs: 60_000 } },
    shows: (history) => {
      const leads = wallLeads(history);
      expect(Math.max(...leads) - Math.min(...leads)).toBeCloseTo(60_000, -1);
      expect(all(history, 'lost').some(({ client, cause }) => client === 'c3' && cause === 'expired')).toBe(
        true,
      );
    },
  },
  'clock.drift': {
    fault: { target: 'c3', forMs: 8_000, args: { ppm: 10_000 } },
    shows: (history) => {
      const moments = all(history, 'used').filter(({ client, simMs }) => client === 'c3' && simMs > AT_MS);
      const [first, last] = [moments[0]!, moments.findLast(({ simMs }) => simMs < AT_MS + 8_000)!];
      const rate = (last.now.monotonicMs - first.now.monotonicMs) / (last.simMs - first.simMs);
      expect(rate).toBeCloseTo(1.01, 4);
    },
  },
  'clock.suspend': {
    seed: 3,
    fault: { target: 'c3', forMs: 3_000, args: {} },
    shows: (history) => {
      const leads = wallLeads(history);
      expect(Math.max(...leads) - Math.min(...leads)).toBeCloseTo(3_000, -1);
      expect(silence(history, 'c3')).toBeGreaterThan(2_900);
    },
  },
  'disk.torn': { fault: { ...ON_AUTHORITY, args: { nth: 3, downMs: 50 } }, shows: losesPower },
  'disk.misdirect': { fault: { ...ON_AUTHORITY, args: { afterMs: 1_500 } }, shows: isFound },
  'disk.flip': {
    fault: { ...ON_AUTHORITY, args: { downMs: 50 } },
    shows: (history) => {
      const [flip] = all(history, 'fault');
      expect(flip?.allows).toContainEqual({ may: 'refuse' });
      isFound(history);
    },
  },
  'disk.truncate': {
    fault: { ...ON_AUTHORITY, args: { downMs: 50 } },
    shows: (history) => {
      const [cut] = all(history, 'fault');
      // The only segment was cut within a frame, so no loss is allowed.
      expect(cut?.allows).toEqual([{ may: 'refuse' }, { may: 'unreadable' }]);
      isFound(history);
    },
  },
  'disk.stale': {
    fault: { ...ON_AUTHORITY, args: { downMs: 50 } },
    shows: isFound,
  },
  'disk.eio': {
    fault: { ...ON_AUTHORITY, args: { step: 'write', times: 1 } },
    shows: (history) => expect(lives(history)).toEqual(['boot', 'death fault', 'boot']),
  },
  'disk.full': {
    atMs: 500,
    fault: { target: 'authority', forMs: 11_000, args: { spareBytes: 0 } },
    workloads: ['retries', 'tasks'],
    shows: (history) => {
      expect(all(history, 'answer').some(({ body }) => body.code === 'DISK_FULL')).toBe(true);
      expect(lives(history)).toEqual(['boot']);
    },
  },
  'disk.sync': {
    fault: { ...ON_AUTHORITY, args: { times: 1 } },
    shows: (history) => expect(lives(history)).toEqual(['boot', 'death fault', 'boot']),
  },
  'disk.slow': {
    fault: { target: 'authority', forMs: 4_000, args: { stepMs: 2_000 } },
    shows: (history) => expect(silence(history)).toBeGreaterThan(1_000),
  },
  'disk.restore': {
    fault: { target: 'authority', forMs: 3_000, args: {} },
    shows: (history) => {
      const [, again] = all(history, 'boot').filter(({ node }) => node.startsWith('authority'));
      expect(again!.lastSeq).toBeGreaterThan(2 ** 40);
      const [restore] = all(history, 'fault');
      expect(restore?.allows[0]?.may).toBe('restore');
    },
  },
  'net.delay': {
    fault: { target: 'c1', forMs: 4_000, args: { byMs: 1_500 } },
    shows: (history) => expect(silence(history)).toBeGreaterThan(2_900),
  },
  'net.loss': {
    fault: { target: '*', forMs: 6_000, args: { chance: 0.7 } },
    shows: (history) => expect(unanswered(history)).toBeGreaterThan(0),
  },
  'net.duplicate': {
    fault: { target: '*', forMs: 6_000, args: { chance: 1 } },
    shows: (history) => {
      const echoes = all(history, 'call').filter(({ isEcho }) => isEcho);
      expect(echoes.length).toBeGreaterThan(10);
    },
  },
  'net.reorder': {
    fault: { target: '*', forMs: 6_000, args: { byMs: 800 } },
    shows: (history) => expect(silence(history)).toBeGreaterThan(300),
  },
  'net.reset': {
    fault: { target: '*', forMs: 6_000, args: { chance: 0.7 } },
    shows: (history) => expect(unanswered(history)).toBeGreaterThan(0),
  },
  'net.partition': {
    fault: { target: 'c1', forMs: 4_000, args: { direction: 'both' } },
    shows: (history) => expect(silence(history)).toBeGreaterThan(3_900),
  },
  'net.half-open': {
    seed: 12,
    fault: { target: '*', forMs: 0, args: {} },
    workloads: ['waiters', 'worker-loop'],
    shows: (history) => {
      const why = all(history, 'unanswered').map((event) => event.why);
      expect(why).toContain('The connection broke on one side.');
    },
  },
  'net.storm': {
    seed: 12,
    fault: { target: '*', forMs: 2_000, args: { times: 5 } },
    workloads: ['waiters', 'worker-loop'],
    shows: (history) => {
      const why = all(history, 'unanswered').map((event) => event.why);
      expect(why.filter((text) => text === 'The connection broke.').length).toBeGreaterThan(1);
    },
  },
  'process.kill': { fault: { ...ON_AUTHORITY, args: { downMs: 500 } }, shows: restarts },
  'process.kill-at': {
    fault: { ...ON_AUTHORITY, args: { step: 'write', when: 'after', nth: 3, cause: 'kill', downMs: 50 } },
    shows: restarts,
  },
  'process.power': { fault: { ...ON_AUTHORITY, args: { downMs: 500 } }, shows: losesPower },
  'process.pause': {
    fault: { target: 'authority', forMs: 3_000, args: {} },
    shows: (history) => {
      expect(silence(history)).toBeGreaterThan(2_900);
      expect(lives(history)).toEqual(['boot']);
    },
  },
  'process.block': {
    fault: { target: 'c1', forMs: 3_000, args: {} },
    shows: (history) => expect(silence(history)).toBeGreaterThan(2_900),
  },
  'process.crash-loop': {
    fault: { ...ON_AUTHORITY, args: { times: 3, afterMs: 20 } },
    shows: (history) => expect(lives(history).filter((life) => life === 'death kill')).toHaveLength(4),
  },
  'process.rival': {
    fault: { ...ON_AUTHORITY, args: {} },
    shows: (history) => expect(lives(history)).toEqual(['boot', 'LogHeldError']),
  },
  'process.depose': {
    engine: 'memory',
    fault: { target: 'authority', forMs: 2_000, args: {} },
    shows: (history) => {
      expect(lives(history)).toEqual(['boot', 'boot', 'death fault']);
      const [older] = all(history, 'death');
      expect(older?.node).toBe('authority.1');
    },
  },
  'process.keeper': {
    workloads: ['sessions'],
    seed: 11,
    fault: { target: 'c1', forMs: 0, args: { when: 'begin', afterMs: 300 } },
    shows: (history) => {
      const [death, ...others] = all(history, 'keeper-death');
      expect(others).toEqual([]);
      const ended = all(history, 'pipeline').find(({ is, pid }) => is === 'ended' && pid === death!.pid);
      expect(ended!.simMs).toBeGreaterThan(death!.simMs);
      expect(ended!.simMs).toBeLessThan(death!.simMs + 100);
      // Its orchestrator lives on, and runs other pipelines.
      const next = all(history, 'pipeline').find(({ is, simMs }) => is === 'begun' && simMs > ended!.simMs);
      const meanwhile = all(history, 'death').filter(
        ({ simMs }) => simMs > death!.simMs && simMs < next!.simMs,
      );
      expect(meanwhile).toEqual([]);
    },
  },
};

describe('a keeper', () => {
  const trial = (forMs: number, args: PlannedFault['args']) => ({
    workloads: ['sessions'] as const,
    fault: { target: 'c1', forMs, args },
    shows: () => {},
  });

  it('that is killed together with its orchestrator leaves a pipeline that the next one ends', async () => {
    const history = await simulate(planOf('process.keeper', trial(0, { when: 'together', downMs: 2_000 })));
    const deaths = all(history, 'keeper-death');
    expect(deaths).not.toEqual([]);
    const death = all(history, 'death').find(({ simMs }) => simMs === deaths[0]!.simMs);
    expect(death).toMatchObject({ node: 'c1', why: 'kill' });
    const pids = new Set(deaths.map(({ pid }) => pid));
    const ends = all(history, 'pipeline').filter(({ is, pid }) => is === 'ended' && pids.has(pid));
    expect(Math.max(...ends.map(({ simMs }) => simMs))).toBeGreaterThan(death!.simMs + 1_000);
    const next = all(history, 'pipeline').find(({ is, simMs }) => is === 'begun' && simMs > death!.simMs);
    for (const { simMs } of ends) expect(simMs).toBeLessThan(next!.simMs);
  });

  it('that stands still is killed by its orchestrator when it does not answer', async () => {
    const history = await simulate(planOf('process.keeper', trial(30_000, { when: 'pause', chosen: 0 })));
    const [pause] = all(history, 'keeper-pause');
    const death = all(history, 'keeper-death').find(({ pid }) => pid === pause!.pid);
    expect(death!.simMs).toBeLessThan(pause!.simMs + 30_000);
    const ended = all(history, 'pipeline').find(({ is, pid }) => is === 'ended' && pid === pause!.pid);
    expect(ended!.simMs).toBeLessThan(death!.simMs + 100);
  });
});

const KILL_POINTS = [
  { step: 'any', when: 'after', cause: 'kill' },
  { step: 'write', when: 'before', cause: 'kill' },
  { step: 'write', when: 'after', cause: 'power' },
  { step: 'sync', when: 'before', cause: 'power' },
  { step: 'sync', when: 'after', cause: 'kill' },
] as const;

describe('a process that is killed', () => {
  it.each(KILL_POINTS)('$when $step by $cause starts again with all that was durable', async (point) => {
    const fault = { ...ON_AUTHORITY, args: { ...point, nth: 1, downMs: 50 } };
    const trial = { fault, atMs: 600, shows: () => {} };
    const history = await simulate(planOf('process.kill-at', trial));
    expect(lives(history)).toEqual(['boot', `death ${point.cause}`, 'boot']);
    expect(all(history, 'broken')).toEqual([]);
    expect(all(history, 'stuck')).toEqual([]);
    for (const { hash, replayHash } of all(history, 'state')) expect(replayHash).toBe(hash);
  });
});

describe('a fault of the simulated world', () => {
  it.each(FAULTS)('%s does what it says, and the world goes on', async (fault) => {
    const trial = TRIALS[fault];
    const history = await simulate(planOf(fault, trial));
    trial.shows(history);
    expect(all(history, 'broken')).toEqual([]);
    expect(all(history, 'stuck')).toEqual([]);
    for (const { hash, replayHash } of all(history, 'state')) expect(replayHash).toBe(hash);
  });
});

/**
 * A plan from a seed: which workloads, which faults, when and how hard. Some seeds are mild and some are cruel; about one
 * in eight has no faults at all, because a bug that shows without any is the easiest to understand.
 */
import type { FaultKind, Plan, PlannedFault, PlannedWorkload, WorkloadName } from './plan.ts';
import { WORKLOADS } from './plan.ts';
import { Random } from './world/random.ts';

/** How much one client of a workload does. */
const ROUNDS: Readonly<Record<WorkloadName, readonly [low: number, high: number]>> = {
  tasks: [20, 80],
  'worker-loop': [5, 25],
  waiters: [5, 25],
  'fenced-writers': [5, 20],
  'all-or-none': [5, 20],
  'guards-and-wipes': [4, 12],
  'mass-expiry': [1, 3],
  'admin-breaks': [5, 20],
  crowd: [1, 1],
  retries: [10, 40],
  hostile: [10, 50],
  followers: [2, 8],
  sessions: [4, 25],
};

/** Those that do much with one client. */
const HEAVY: ReadonlySet<WorkloadName> = new Set(['crowd', 'mass-expiry']);

type Draw = (random: Random, clients: readonly string[]) => Omit<PlannedFault, 'atMs' | 'fault'>;

const authority = (forMs: number, args: PlannedFault['args'] = {}): Omit<PlannedFault, 'atMs' | 'fault'> => ({
  target: 'authority',
  forMs,
  args,
});

/** One or all of the clients. */
const someone = (random: Random, clients: readonly string[]): string =>
  random.chance(0.3) ? '*' : random.pick(clients);

/** A client, or the authority. */
const anyone = (random: Random, clients: readonly string[]): string =>
  random.chance(0.4) ? 'authority' : random.pick(clients);

const downMs = (random: Random): number => random.magnitude(20, 8_000);

const DRAWS: Readonly<Record<FaultKind, Draw>> = {
  'clock.jump': (random, clients) => {
    const target = anyone(random, clients);
    const sign = random.chance(0.5) ? 1 : -1;
    return { target, forMs: 0, args: { byMs: sign * random.magnitude(10, 3_600_000) } };
  },
  // What two clocks may be apart is less than the margin that a client takes off its deadlines.
  'clock.drift': (random, clients) => ({
    target: anyone(random, clients),
    forMs: random.magnitude(1_000, 30_000),
    args: { ppm: random.between(-10_000, 10_000) },
  }),
  'clock.suspend': (random, clients) => ({
    target: anyone(random, clients),
    forMs: random.magnitude(50, 20_000),
    args: {},
  }),
  'disk.torn': (random) => authority(0, { nth: random.between(1, 10), downMs: downMs(random) }),
  'disk.misdirect': (random) => authority(0, { afterMs: random.magnitude(1, 2_000) }),
  'disk.flip': (random) => authority(0, { downMs: downMs(random) }),
  'disk.truncate': (random) => authority(0, { downMs: downMs(random) }),
  'disk.stale': (random) => authority(0, { downMs: downMs(random) }),
  'disk.eio': (random) =>
    authority(0, { step: random.chance(0.7) ? 'write' : 'read', times: random.between(1, 3) }),
  'disk.full': (random) => authority(random.magnitude(500, 15_000), { spareBytes: random.below(200_000) }),
  'disk.sync': (random) => authority(0, { times: random.between(1, 2) }),
  'disk.slow': (random) => authority(random.magnitude(200, 10_000), { stepMs: random.magnitude(5, 3_000) }),
  'disk.restore': (random) => authority(random.magnitude(100, 20_000)),
  'net.delay': (random, clients) => ({
    target: someone(random, clients),
    forMs: random.magnitude(500, 20_000),
    args: { byMs: random.magnitude(5, 4_000) },
  }),
  'net.loss': (random, clients) => ({
    target: someone(random, clients),
    forMs: random.magnitude(500, 20_000),
    args: { chance: random.between(1, 60) / 100 },
  }),
  'net.duplicate': (random, clients) => ({
    target: someone(random, clients),
    forMs: random.magnitude(500, 30_000),
    args: { chance: random.between(5, 100) / 100 },
  }),
  'net.reorder': (random, clients) => ({
    target: someone(random, clients),
    forMs: random.magnitude(500, 30_000),
    args: { byMs: random.magnitude(5, 1_000) },
  }),
  'net.reset': (random, clients) => ({
    target: someone(random, clients),
    forMs: random.magnitude(500, 20_000),
    args: { chance: random.between(5, 80) / 100 },
  }),
  'net.partition': (random, clients) => ({
    target: someone(random, clients),
    forMs: random.magnitude(100, 20_000),
    args: { direction: random.pick(['both', 'to', 'from']) },
  }),
  'net.half-open': (random, clients) => ({ target: someone(random, clients), forMs: 0, args: {} }),
  'net.storm': (random) => ({
    target: '*',
    forMs: random.magnitude(10, 3_000),
    args: { times: random.between(1, 6) },
  }),
  'process.kill': (random, clients) => ({
    target: anyone(random, clients),
    forMs: 0,
    args: { downMs: downMs(random) },
  }),
  'process.kill-at': (random) =>
    authority(0, {
      step: random.pick(['any', 'any', 'write', 'sync', 'syncDir', 'rename', 'remove', 'open', 'lock']),
      when: random.pick(['before', 'after']),
      nth: random.magnitude(1, 30),
      cause: random.pick(['kill', 'power']),
      downMs: downMs(random),
    }),
  'process.power': (random, clients) => ({
    target: anyone(random, clients),
    forMs: 0,
    args: { downMs: downMs(random) },
  }),
  'process.pause': (random, clients) => ({
    target: anyone(random, clients),
    forMs: random.magnitude(20, 20_000),
    args: {},
  }),
  'process.block': (random, clients) => ({
    target: anyone(random, clients),
    forMs: random.magnitude(20, 20_000),
    args: {},
  }),
  'process.crash-loop': (random) =>
    authority(0, { times: random.between(2, 6), afterMs: random.magnitude(1, 500) }),
  'process.rival': () => authority(0),
  'process.depose': (random) => authority(random.magnitude(50, 10_000)),
};

const KINDS = Object.keys(DRAWS) as FaultKind[];
const NEEDS_FILES = (kind: FaultKind): boolean =>
  kind.startsWith('disk.') || kind === 'process.kill-at' || kind === 'process.rival';

export function planFrom(seed: number): Plan {
  const random = new Random(seed, 'plan');
  const engine = random.chance(0.12) ? 'memory' : 'file';
  const durationMs = random.between(20_000, 90_000);
  const workloads = drawSessions(seed, random) ?? drawWorkloads(random);
  const count = workloads.reduce((sum, { clients }) => sum + clients, 0);
  const clients = Array.from({ length: count }, (_, index) => `c${index + 1}`);
  const isMild = random.chance(0.12);
  const kinds = random
    .some(KINDS, random.between(1, 8))
    .filter((kind) => (engine === 'file' ? kind !== 'process.depose' : !NEEDS_FILES(kind)));
  const faultsMax = isMild || kinds.length === 0 ? 0 : random.magnitude(1, 40);
  const faults = Array.from({ length: faultsMax }, () => {
    const fault = random.pick(kinds);
    return { atMs: random.between(500, durationMs - 1_000), fault, ...DRAWS[fault](random, clients) };
  });
  return {
    seed,
    engine,
    durationMs,
    graceMs: 240_000,
    segmentBytes: random.pick([65_536, 131_072, 262_144]),
    compactionBytes: random.pick([1, 65_536, 1_048_576]),
    forgetMs: random.pick([2_000, 20_000, 3_600_000]),
    skewMs: random.pick([0, 1_000, 86_400_000]),
    workloads: [...workloads, ...drawFollowers(seed)],
    faults: possible(faults).sort((a, b) => a.atMs - b.atMs),
  };
}

function drawWorkloads(random: Random): PlannedWorkload[] {
  const workers = WORKLOADS.filter((name) => name !== 'followers' && name !== 'sessions');
  return random.some(workers, random.between(1, 5)).map((name) => {
    const [low, high] = ROUNDS[name];
    const clients = HEAVY.has(name) ? 1 : random.between(1, 4);
    return { name, clients, rounds: random.between(low, high) };
  });
}

/** Smaller seeds stand in lists beside what they find, and keep the worlds that they stand for. */
const SESSION_SEEDS_FROM = 10_000;
const BESIDE_SESSIONS = ['tasks', 'waiters', 'admin-breaks', 'hostile'] as const;

/** Orchestrators and those who want sessions, and sometimes others beside them. */
function drawSessions(seed: number, random: Random): PlannedWorkload[] | null {
  if (seed < SESSION_SEEDS_FROM || !new Random(seed, 'sessions').chance(0.4)) return null;
  const [low, high] = ROUNDS.sessions;
  const orchestrators = random.between(1, 3);
  const clients = orchestrators + random.between(1, 4);
  const sessions = { name: 'sessions', clients, orchestrators, rounds: random.between(low, high) } as const;
  const beside = random.some(BESIDE_SESSIONS, random.chance(0.3) ? 1 : 0);
  return [sessions, ...beside.map((name) => ({ name, clients: 1, rounds: random.between(...ROUNDS[name]) }))];
}

/** Those who only watch come last and are nobody's target, so that a plan is otherwise the same with and without them. */
function drawFollowers(seed: number): PlannedWorkload[] {
  const random = new Random(seed, 'followers');
  const [low, high] = ROUNDS.followers;
  if (random.chance(0.7)) return [];
  return [{ name: 'followers', clients: random.between(1, 2), rounds: random.between(low, high) }];
}

/**
 * A machine that was suspended, so that its monotonic clock stood still, and whose wall clock was set back, has no way at
 * all to know how much time has passed. Nobody can promise anything then, so no machine meets with both.
 */
function possible(faults: readonly PlannedFault[]): PlannedFault[] {
  const slept = new Set(faults.flatMap(({ fault, target }) => (fault === 'clock.suspend' ? [target] : [])));
  return faults.filter(
    ({ fault, target, args }) => fault !== 'clock.jump' || !slept.has(target) || Number(args.byMs) > 0,
  );
}

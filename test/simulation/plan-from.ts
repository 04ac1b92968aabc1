/**
 * A plan from a seed: which workloads, which faults, when and how hard. Some seeds are mild and some are cruel; about one
 * in eight has no faults at all, because a bug that shows without any is the easiest to understand.
 */

import { fleetPlanFrom, SCHEDULED_FLEET_SEEDS } from './fleet/fleet-plan-from.ts';
import { asLocalClock, livePlanFrom } from './live-plan.ts';
import {
  type FaultKind,
  type Plan,
  type PlannedFault,
  type PlannedWorkload,
  WORKLOADS,
  type WorkloadName,
} from './plan.ts';
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
  'session-followers': [3, 15],
  operators: [20, 80],
  'bulk-operators': [20, 80],
  limited: [20, 60],
  'hand-overs': [10, 30],
  scheduled: [10, 30],
};

/** Those that do much with one client. */
const HEAVY: ReadonlySet<WorkloadName> = new Set(['crowd', 'mass-expiry']);

/** Those that are drawn apart from the others. */
const APART: ReadonlySet<WorkloadName> = new Set([
  'followers',
  'sessions',
  'session-followers',
  'operators',
  'bulk-operators',
  'limited',
  'hand-overs',
  'scheduled',
]);

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

/** Keepers there are in some worlds only, so their fate is drawn apart; see `drawKeeperDeaths`. */
type CommonFault = Exclude<FaultKind, 'process.keeper'>;

const DRAWS: Readonly<Record<CommonFault, Draw>> = {
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

const KINDS = Object.keys(DRAWS) as CommonFault[];
const NEEDS_FILES = (kind: CommonFault): boolean =>
  kind.startsWith('disk.') || kind === 'process.kill-at' || kind === 'process.rival';

export function planFrom(seed: number): Plan {
  if (isFleet(seed)) return fleetPlanFrom(seed);
  const random = new Random(seed, 'plan');
  const engine = random.chance(0.12) ? 'memory' : 'file';
  const durationMs = random.between(20_000, 90_000);
  const workloads = drawSessions(seed, random) ?? drawWorkloads(seed, random);
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
  const followers = drawFollowers(seed);
  const deaths = drawKeeperDeaths(seed, workloads, durationMs);
  const strays = drawStrays(seed, workloads, durationMs);
  const before = followers.reduce((sum, { clients: more }) => sum + more, count);
  const listeners = drawListeners(seed, workloads, before, durationMs);
  const beside = [
    ...workloads,
    ...followers,
    ...listeners.workloads,
    ...drawOperators(seed),
    ...drawBulk(seed),
    ...drawLimited(seed),
    ...drawScheduled(seed),
  ];
  const hasSessions = workloads.some(({ name }) => name === 'sessions');
  const live = livePlanFrom(
    seed,
    beside.reduce((sum, { clients: more }) => sum + more, 0),
    durationMs,
    hasSessions,
  );
  const trouble = possible([...faults, ...deaths, ...strays, ...listeners.faults]);
  return {
    seed,
    engine,
    durationMs,
    graceMs: 240_000,
    segmentBytes: random.pick([65_536, 131_072, 262_144]),
    compactionBytes: random.pick([1, 65_536, 1_048_576]),
    forgetMs: random.pick([2_000, 20_000, 3_600_000]),
    skewMs: random.pick([0, 1_000, 86_400_000]),
    cutsStreams: seed >= WIDER_SEEDS_FROM,
    ...(live === null ? {} : { isLive: true }),
    workloads: [...beside, ...(live?.workloads ?? [])],
    faults: (live === null ? trouble : [...trouble.map(asLocalClock), ...live.faults]).sort(
      (a, b) => a.atMs - b.atMs,
    ),
  };
}

function drawWorkloads(seed: number, random: Random): PlannedWorkload[] {
  const workers = WORKLOADS.filter((name) => !APART.has(name));
  return random.some(workers, random.between(1, 5)).map((name) => {
    const [low, high] = ROUNDS[name];
    const clients = HEAVY.has(name) ? 1 : random.between(1, 4);
    const rounds = random.between(low, high);
    return name === 'crowd'
      ? { name, clients, rounds, waiters: drawWaiters(seed) }
      : { name, clients, rounds };
  });
}

/** Smaller seeds stand in lists beside what they find, and keep the worlds that they stand for. */
const SESSION_SEEDS_FROM = 10_000;
const WIDER_SEEDS_FROM = 30_000;
const FLEET_SEEDS = [{ from: 40_000, before: 50_000 }, SCHEDULED_FLEET_SEEDS];
const FRESH_SEEDS_FROM = 1_000_000;
const FLEET_SHARE = 0.15;
const STRAY_SEEDS_FROM = 80_000;
const OPERATOR_SEEDS_FROM = 90_000;
const BULK_SEEDS_FROM = 100_000;
const LIMITED_SEEDS_FROM = 110_000;
const SCHEDULED_SEEDS_FROM = 130_000;

/** Several servers on one database: the seeds that are set aside for them, and some of the fresh ones. */
function isFleet(seed: number): boolean {
  if (seed >= FRESH_SEEDS_FROM) return new Random(seed, 'servers').chance(FLEET_SHARE);
  return FLEET_SEEDS.some(({ from, before }) => seed >= from && seed < before);
}

/** Several hundred, and sometimes thousands. */
function drawWaiters(seed: number): number {
  if (seed < WIDER_SEEDS_FROM) return 700;
  const random = new Random(seed, 'crowd');
  return random.chance(0.25) ? random.between(2_000, 3_000) : random.between(200, 900);
}

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

/** Keepers that are killed alone, while they run or soon after they were started; their orchestrators live on. */
function drawKeeperDeaths(
  seed: number,
  workloads: readonly PlannedWorkload[],
  durationMs: number,
): PlannedFault[] {
  const orchestrators = workloads[0]?.orchestrators ?? 0;
  const random = new Random(seed, 'keepers');
  if (seed < WIDER_SEEDS_FROM || orchestrators === 0 || random.chance(0.4)) return [];
  return Array.from({ length: random.magnitude(1, 15) }, () => ({
    atMs: random.between(500, durationMs - 1_000),
    fault: 'process.keeper',
    target: `c${random.between(1, orchestrators)}`,
    forMs: 0,
    args: random.pick([
      { when: 'now', chosen: random.unit() },
      { when: 'start', afterMs: random.magnitude(1, 2_000) },
      { when: 'begin', afterMs: random.span(0, 8) },
    ]),
  }));
}

/**
 * Keepers that are stopped, and keepers that are killed together with their orchestrator: their pipelines are
 * orphans.
 */
function drawStrays(seed: number, workloads: readonly PlannedWorkload[], durationMs: number): PlannedFault[] {
  const orchestrators = workloads[0]?.orchestrators ?? 0;
  const random = new Random(seed, 'strays');
  if (seed < STRAY_SEEDS_FROM || orchestrators === 0 || random.chance(0.4)) return [];
  return Array.from({ length: random.magnitude(1, 15) }, () => {
    const atMs = random.between(500, durationMs - 1_000);
    const target = `c${random.between(1, orchestrators)}`;
    const isPause = random.chance(0.6);
    return {
      atMs,
      fault: 'process.keeper',
      target,
      forMs: isPause ? random.magnitude(500, 60_000) : 0,
      args: isPause ? { when: 'pause', chosen: random.unit() } : { when: 'together', downMs: downMs(random) },
    };
  });
}

/** Observers come last and are never a target, so that a plan is otherwise the same with and without them. */
function drawFollowers(seed: number): PlannedWorkload[] {
  const random = new Random(seed, 'followers');
  const [low, high] = ROUNDS.followers;
  if (random.chance(0.7)) return [];
  return [{ name: 'followers', clients: random.between(1, 2), rounds: random.between(low, high) }];
}

/** Those who operate tasks come last, and are a target only together with all others. */
function drawOperators(seed: number): PlannedWorkload[] {
  const random = new Random(seed, 'operators');
  if (seed < OPERATOR_SEEDS_FROM || random.chance(0.7)) return [];
  return [{ name: 'operators', clients: random.between(1, 3), rounds: random.between(...ROUNDS.operators) }];
}

/** The same for those who operate many at once. */
function drawBulk(seed: number): PlannedWorkload[] {
  const random = new Random(seed, 'bulk');
  if (seed < BULK_SEEDS_FROM || random.chance(0.6)) return [];
  const name = 'bulk-operators';
  return [{ name, clients: random.between(1, 3), rounds: random.between(...ROUNDS[name]) }];
}

function drawLimited(seed: number): PlannedWorkload[] {
  const random = new Random(seed, 'limited');
  if (seed < LIMITED_SEEDS_FROM || random.chance(0.4)) return [];
  const [low, high] = ROUNDS.limited;
  return [{ name: 'limited', clients: random.between(2, 5), rounds: random.between(low, high) }];
}

function drawScheduled(seed: number): PlannedWorkload[] {
  const random = new Random(seed, 'scheduled');
  if (seed < SCHEDULED_SEEDS_FROM || random.chance(0.4)) return [];
  const [low, high] = ROUNDS.scheduled;
  return [{ name: 'scheduled', clients: random.between(1, 3), rounds: random.between(low, high) }];
}

const NET_KINDS = KINDS.filter((kind) => kind.startsWith('net.'));

/** Followers of sessions, and what the network does to them. They come last and are a target of the network only. */
function drawListeners(
  seed: number,
  workloads: readonly PlannedWorkload[],
  clientsBefore: number,
  durationMs: number,
): { readonly workloads: PlannedWorkload[]; readonly faults: PlannedFault[] } {
  const random = new Random(seed, 'listeners');
  const isPossible = seed >= WIDER_SEEDS_FROM && workloads.some(({ name }) => name === 'sessions');
  if (!isPossible || random.chance(0.4)) return { workloads: [], faults: [] };
  const count = random.between(1, 3);
  const rounds = random.between(...ROUNDS['session-followers']);
  const names = Array.from({ length: count }, (_, index) => `c${clientsBefore + index + 1}`);
  const faults = Array.from({ length: random.chance(0.3) ? 0 : random.magnitude(1, 15) }, () => {
    const fault = random.pick(NET_KINDS);
    const atMs = random.between(500, durationMs - 1_000);
    return { atMs, fault, ...DRAWS[fault](random, names), target: random.pick(names) };
  });
  return { workloads: [{ name: 'session-followers', clients: count, rounds }], faults };
}

/**
 * A suspended machine whose monotonic clock stopped and whose wall clock was set back cannot know how much time has
 * passed. No promise holds then, so no machine gets both.
 */
function possible(faults: readonly PlannedFault[]): PlannedFault[] {
  const slept = new Set(faults.flatMap(({ fault, target }) => (fault === 'clock.suspend' ? [target] : [])));
  return faults.filter(
    ({ fault, target, args }) => fault !== 'clock.jump' || !slept.has(target) || Number(args.byMs) > 0,
  );
}

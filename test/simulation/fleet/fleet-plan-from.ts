/**
 * A plan of several servers on one database: who is killed, paused, suspended or cut off, when its clocks are set, and whether
 * there are schedules.
 */
import type { Plan, PlannedFault, PlannedWorkload } from '../plan.ts';
import { Random } from '../world/random.ts';

type Draw = (random: Random, servers: readonly string[]) => Omit<PlannedFault, 'atMs'>;

/** Mostly the one that leads: what happens to the others is hardly noticed. */
const someServer = (random: Random, servers: readonly string[]): string =>
  random.chance(0.7) ? 'leader' : random.pick(servers);

const DRAWS: readonly Draw[] = [
  (random) => {
    const sign = random.chance(0.5) ? 1 : -1;
    const args = { byMs: sign * random.magnitude(100, 3_600_000) };
    return { fault: 'clock.jump', target: 'database', forMs: 0, args };
  },
  (random, servers) => {
    const args = { byMs: random.between(-60_000, 60_000) };
    return { fault: 'clock.jump', target: random.pick(servers), forMs: 0, args };
  },
  // Together with a hundredth of following, less than the margin that a client takes off its deadlines.
  (random, servers) => {
    const target = random.pick(['database', ...servers]);
    return { fault: 'clock.drift', target, forMs: 0, args: { ppm: random.between(-5_000, 5_000) } };
  },
  (random, servers) => {
    const forMs = random.magnitude(50, 30_000);
    return { fault: 'process.kill', target: someServer(random, servers), forMs, args: {} };
  },
  (random, servers) => {
    const forMs = random.magnitude(50, 30_000);
    return { fault: 'process.depose', target: someServer(random, servers), forMs, args: {} };
  },
  (random, servers) => {
    const forMs = random.magnitude(50, 40_000);
    return { fault: 'process.pause', target: someServer(random, servers), forMs, args: {} };
  },
  (random, servers) => {
    const forMs = random.magnitude(50, 20_000);
    return { fault: 'net.partition', target: someServer(random, servers), forMs, args: {} };
  },
];

export function fleetPlanFrom(seed: number): Plan {
  const random = new Random(seed, 'fleet plan');
  const durationMs = random.between(40_000, 120_000);
  const servers = random.between(2, 4);
  const names = Array.from({ length: servers }, (_, index) => `s${index + 1}`);
  const draws = random.some(DRAWS, random.between(2, DRAWS.length));
  const count = random.chance(0.1) ? 0 : random.between(1, 12);
  const faults = Array.from({ length: count }, () => ({
    atMs: random.between(2_000, durationMs - 1_000),
    ...random.pick(draws)(random, names),
  }));
  const scheduling = hasSchedules(seed) ? drawScheduled(seed, names, durationMs) : NOTHING;
  return {
    seed,
    engine: 'postgres',
    fleet: {
      servers,
      guardTtlMs: random.pick([1_500, 6_000, 15_000]),
      holders: random.between(1, 4),
      rounds: random.between(3, 12),
    },
    durationMs,
    graceMs: 3_600_000,
    segmentBytes: 65_536,
    compactionBytes: 1_048_576,
    forgetMs: 3_600_000,
    skewMs: random.pick([0, 1_000, 86_400_000]),
    cutsStreams: false,
    workloads: scheduling.workloads,
    faults: possible([...faults, ...scheduling.faults]).sort((a, b) => a.atMs - b.atMs),
  };
}

/** Of worlds with schedules. */
export const SCHEDULED_FLEET_SEEDS = { from: 140_000, before: 150_000 };
const FRESH_SEEDS_FROM = 1_000_000;

/** All worlds of the seeds that are set aside for it, and half of the fresh ones. */
function hasSchedules(seed: number): boolean {
  if (seed >= FRESH_SEEDS_FROM) return new Random(seed, 'fleet schedules').chance(0.5);
  return seed >= SCHEDULED_FLEET_SEEDS.from && seed < SCHEDULED_FLEET_SEEDS.before;
}

interface Scheduling {
  readonly workloads: readonly PlannedWorkload[];
  readonly faults: readonly PlannedFault[];
}

const NOTHING: Scheduling = { workloads: [], faults: [] };

/** Clients with schedules, more changes of leaders, and machines that sleep. */
function drawScheduled(seed: number, servers: readonly string[], durationMs: number): Scheduling {
  const random = new Random(seed, 'fleet scheduled');
  const workload = {
    name: 'scheduled',
    clients: random.between(1, 3),
    rounds: random.between(20, 60),
  } as const;
  const some = (max: number, fault: PlannedFault['fault'], longestMs: number): PlannedFault[] =>
    Array.from({ length: random.between(0, max) }, () => ({
      atMs: random.between(2_000, durationMs - 1_000),
      fault,
      target: someServer(random, servers),
      forMs: random.magnitude(50, longestMs),
      args: {},
    }));
  const faults = [...some(4, 'process.kill', 30_000), ...some(3, 'clock.suspend', 40_000)];
  return { workloads: [workload], faults };
}

/** A machine that slept and whose wall clock was set back cannot know how much time has passed; so no machine gets both. */
function possible(faults: readonly PlannedFault[]): PlannedFault[] {
  if (!faults.some(({ fault }) => fault === 'clock.suspend')) return [...faults];
  return faults.filter(
    ({ fault, target, args }) => fault !== 'clock.jump' || target === 'database' || Number(args.byMs) > 0,
  );
}

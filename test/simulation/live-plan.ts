/**
 * What worlds with live connections have beside the rest: names that go from hand to hand, an authority whose clock slews all the time and
 * jumps with its epoch, and clients that sleep, whose wall clocks are set, or both in the same moment.
 */
import type { PlannedFault, PlannedWorkload } from './plan.ts';
import { Random } from './world/random.ts';

const LIVE_SEEDS_FROM = 120_000;
const LIVE_SHARE = 0.6;
/** How far local clocks drift, in parts in a million; the rest of the 1.5 % is the authority's. */
const DRIFT_PPM_MAX = 4_000;
const SLEW_PPM_MAX = 10_000;

export interface LivePlan {
  readonly workloads: readonly PlannedWorkload[];
  readonly faults: readonly PlannedFault[];
}

/** Null where clients use HTTP. Its own clients come after the others. */
export function livePlanFrom(
  seed: number,
  clientsBefore: number,
  durationMs: number,
  hasSessions: boolean,
): LivePlan | null {
  const random = new Random(seed, 'live plan');
  if (seed < LIVE_SEEDS_FROM || !random.chance(LIVE_SHARE)) return null;
  const handOvers = {
    name: 'hand-overs',
    clients: random.between(3, 5),
    rounds: random.between(10, 30),
  } as const;
  const ours = Array.from({ length: handOvers.clients }, (_, index) => `c${clientsBefore + index + 1}`);
  const atMs = (): number => random.between(500, durationMs - 1_000);
  const faults: PlannedFault[] = [];
  const some = (max: number, draw: () => readonly PlannedFault[]): void => {
    for (let left = random.between(0, max); left > 0; left--) faults.push(...draw());
  };
  some(6, () => {
    const args = { ppm: random.between(-SLEW_PPM_MAX, SLEW_PPM_MAX) };
    return [
      { atMs: atMs(), fault: 'clock.drift', target: 'authority', forMs: random.between(2_000, 30_000), args },
    ];
  });
  some(4, () => {
    const at = atMs();
    const byMs = random.magnitude(100, 3_600_000);
    return [
      { atMs: at, fault: 'clock.jump', target: 'authority', forMs: 0, args: { byMs } },
      {
        atMs: at + 1,
        fault: 'process.kill',
        target: 'authority',
        forMs: 0,
        args: { downMs: random.magnitude(20, 2_000) },
      },
    ];
  });
  some(4, () => {
    const args = { ppm: random.between(-DRIFT_PPM_MAX, DRIFT_PPM_MAX) };
    return [
      {
        atMs: atMs(),
        fault: 'clock.drift',
        target: random.pick(ours),
        forMs: random.between(2_000, 30_000),
        args,
      },
    ];
  });
  some(5, () => {
    const target = random.pick(ours);
    const at = atMs();
    const forMs = random.magnitude(20, 20_000);
    const sleeps = random.chance(0.7);
    const isSet = !sleeps || (!hasSessions && random.chance(0.5));
    const byMs = sleeps
      ? random.pick([-forMs, -forMs + random.between(-100, 100), random.between(-forMs, 0), forMs])
      : (random.chance(0.5) ? 1 : -1) * random.magnitude(20, 60_000);
    return [
      ...(isSet ? [{ atMs: at, fault: 'clock.jump', target, forMs: 0, args: { byMs } } as const] : []),
      ...(sleeps ? [{ atMs: at, fault: 'clock.suspend', target, forMs, args: {} } as const] : []),
    ];
  });
  return { workloads: [handOvers], faults };
}

/**
 * The rest of the world drifts no more than local clocks may, and the wall clock of an authority that runs on is not set: it
 * would slew, and the drift above stands for that.
 */
export function asLocalClock(fault: PlannedFault): PlannedFault {
  if (fault.fault === 'clock.jump' && fault.target === 'authority') return { ...fault, args: { byMs: 0 } };
  if (fault.fault !== 'clock.drift' || fault.target === 'authority') return fault;
  return { ...fault, args: { ppm: Math.round((Number(fault.args.ppm) * DRIFT_PPM_MAX) / SLEW_PPM_MAX) } };
}

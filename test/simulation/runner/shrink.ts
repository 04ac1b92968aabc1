// Makes the plan of a failed run smaller while it still fails in the same way: first half of the faults and workloads, then
// a quarter, then one by one. Bounded, because a smaller plan is a help and no more.
import type { Plan } from '../plan.ts';

export interface Shrunk {
  readonly plan: Plan;
  readonly runs: number;
}

/** `fails` runs a plan and says whether it fails as the first one did. */
export async function shrink(
  plan: Plan,
  fails: (plan: Plan) => Promise<boolean>,
  runsMax: number,
): Promise<Shrunk> {
  let runs = 0;
  const tried = (candidate: Plan): Promise<boolean> => {
    runs += 1;
    return fails(candidate);
  };
  let smallest = plan;
  for (const part of ['faults', 'workloads'] as const) {
    let pieces = 2;
    while (smallest[part].length > 1 && runs < runsMax) {
      const rest = await withoutAPiece(smallest, part, pieces, tried, () => runs < runsMax);
      if (rest !== null) {
        smallest = rest;
        pieces = Math.max(2, pieces - 1);
      } else if (pieces < smallest[part].length) pieces = Math.min(pieces * 2, smallest[part].length);
      else break;
    }
    // A run that needs no fault at all is the easiest to understand.
    const none = { ...smallest, [part]: [] };
    if (smallest[part].length === 1 && part === 'faults' && runs < runsMax && (await tried(none)))
      smallest = none;
  }
  return { plan: smallest, runs };
}

/** The plan without one of `pieces` equal pieces, if it still fails; null when none can be spared. */
async function withoutAPiece(
  plan: Plan,
  part: 'faults' | 'workloads',
  pieces: number,
  fails: (plan: Plan) => Promise<boolean>,
  mayGoOn: () => boolean,
): Promise<Plan | null> {
  const items: readonly unknown[] = plan[part];
  const size = Math.ceil(items.length / pieces);
  for (let from = 0; from < items.length && mayGoOn(); from += size) {
    const rest = items.filter((_, index) => index < from || index >= from + size);
    const candidate = { ...plan, [part]: rest } as Plan;
    if (rest.length > 0 && (await fails(candidate))) return candidate;
  }
  return null;
}

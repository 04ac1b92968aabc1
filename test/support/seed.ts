/**
 * Where random tests begin. A run of `npm test` is deterministic, so the seed is fixed unless `LEASEHOLD_SEED` gives
 * another: a number, or `random` to look for what earlier runs have not seen. A failing property prints the seed it used.
 */
const FIXED_SEED = 20_260_101;

const wanted = process.env.LEASEHOLD_SEED;

/** Null when a run only repeats what is known. */
export const freshSeed: number | null =
  wanted === undefined
    ? null
    : wanted === 'random'
      ? Math.floor(Math.random() * 1_000_000_000)
      : Number(wanted);

export const seed = freshSeed ?? FIXED_SEED;

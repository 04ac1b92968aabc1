/**
 * The first epoch of a restored log: that of the backup plus a random step. Two logs restored from one backup would
 * otherwise use the same epochs, and no status, metric or frame would tell which of them wrote it. Restores are not
 * coordinated, so only randomness can separate them.
 *
 * Frames have 32 bits for the epoch. A step takes at most 1/256 of what is left, so a log can be restored any number
 * of times. The first time, two restores collide with a probability of one in 16 million.
 */
const EPOCH_MAX = 2 ** 32 - 1;
const SHARE = 256;

/** `seed` is 32 random bits. */
export function restoredEpoch(lastEpoch: number, seed: number): number {
  const steps = Math.max(1, Math.floor((EPOCH_MAX - lastEpoch) / SHARE));
  return lastEpoch + 1 + ((seed >>> 0) % steps);
}

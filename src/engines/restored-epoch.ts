/**
 * The number of the epoch that a restored log begins: above that of the backup, by a step that is random. Two logs that were
 * restored from one backup would otherwise count the same epochs, and nothing in a status, a metric or a frame would tell which of
 * them wrote it. Nothing coordinates restores, so only chance can keep them apart.
 *
 * Frames have 32 bits for the epoch. A step takes at most a 256th of what is left, so a log can be restored any number of
 * times; the first time, two restores meet with a chance of one in 16 million.
 */
const EPOCH_MAX = 2 ** 32 - 1;
const SHARE = 256;

/** `seed` is 32 random bits. */
export function restoredEpoch(lastEpoch: number, seed: number): number {
  const steps = Math.max(1, Math.floor((EPOCH_MAX - lastEpoch) / SHARE));
  return lastEpoch + 1 + ((seed >>> 0) % steps);
}

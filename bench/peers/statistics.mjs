/** Percentiles of samples, and the median and spread of rounds. Pure: the report and the works share them. */

/** The value below which a part of the samples lies; null without samples. */
export function percentile(samples, part) {
  if (samples.length === 0) return null;
  const sorted = Float64Array.from(samples).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

export function median(values) {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Each figure over the rounds: its median, lowest and highest. Figures that a round does not have are left out. */
export function summary(rounds) {
  const names = new Set(rounds.flatMap((round) => Object.keys(round)));
  const found = {};
  for (const name of names) {
    const values = rounds.map((round) => round[name]).filter(Number.isFinite);
    if (values.length === 0) continue;
    found[name] = { median: median(values), min: Math.min(...values), max: Math.max(...values) };
  }
  return found;
}

/** An interval that someone has set, exactly: `1 h 30 min`, `1 s 500 ms`. Measured times are rounded instead (`durationText`). */
const UNITS: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
  [1, 'ms'],
];

export function intervalText(ms: number): string {
  const parts: string[] = [];
  let rest = ms;
  for (const [size, unit] of UNITS) {
    if (rest >= size) parts.push(`${Math.floor(rest / size)} ${unit}`);
    rest %= size;
  }
  return parts.join(' ');
}

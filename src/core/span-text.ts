/** How long something lasts, for people: `70 ms`, `12.3 s`, `59 min 52 s`, `2 h 5 min`, `3 d 4 h`. */
const UNITS: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

export function spanText(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  // Cut and not rounded, so that 59.96 s does not read as sixty seconds.
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const at = UNITS.findIndex(([size]) => ms >= size);
  const [size, unit] = UNITS[at]!;
  const [part, partUnit] = UNITS[at + 1]!;
  const rest = Math.floor((ms % size) / part);
  return `${Math.floor(ms / size)} ${unit}${rest === 0 ? '' : ` ${rest} ${partUnit}`}`;
}

/**
 * Parses durations: a number of milliseconds, or a number with a unit (`500ms`, `15s`, `1m`, `2h`, `1d`). All options
 * and command-line flags use this parser. The result is whole milliseconds.
 */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const WRITTEN = /^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)$/;

/** The duration in milliseconds; `what` names it in the error for anything else. */
export function durationMs(duration: Duration | string, what = 'duration'): number {
  const ms = typeof duration === 'string' ? writtenMs(duration) : duration;
  if (typeof ms !== 'number' || !(ms >= 0) || ms > Number.MAX_SAFE_INTEGER) {
    throw new TypeError(
      `The ${what} ${shown(duration)} is not a duration: give milliseconds as a number, or text such as 500ms, 15s, 1m, 2h or 1d.`,
    );
  }
  return Math.round(ms);
}

function writtenMs(text: string): number {
  const parts = WRITTEN.exec(text.trim());
  return parts === null ? Number.NaN : Number(parts[1]) * UNIT_MS[parts[2]!]!;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

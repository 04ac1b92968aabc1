/**
 * When cron patterns are due in a time zone. The pattern is evaluated as if local time were UTC, and the resulting local
 * time is converted into an instant here, by two rules: a local time that does not exist, because clocks go forward,
 * is due at the next instant that does; one that exists twice is due the first time only. (The library itself would skip
 * lists and steps such as 0,30 2 * * * when clocks go forward, and fire them twice when clocks go back.)
 */
import { Cron } from 'croner';
import type { Calendar } from '../core/schedules/schedule-times.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The largest step by which local clocks are set back. */
const SHIFT_MAX_MS = 3 * HOUR_MS;
const CACHED_MAX = 1_000;
/** How many answers of one pattern are kept: a list of schedules shows the next five due times of each, again and again. */
const ANSWERS_MAX = 16;

/** Checked before the library parses the text, because the library also accepts dates and years. */
const FIELDS = /^\S+( \S+){4,5}$/;
const CRON_OPTIONS = { utcOffset: 0, mode: '5-or-6-parts' } as const;
const NICKNAMES = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

export const calendar: Calendar = {
  next(cron, timezone, afterMs) {
    const rhythm = cached(
      rhythms,
      `${timezone} ${cron}`,
      () => new Rhythm(patternOf(cron), zoneOf(timezone)),
    );
    return rhythm.next(afterMs);
  },
  instant: (ms) => new Date(ms).toISOString(),
};

/** A pattern in a zone. Its newest answers are kept: one takes 100 µs, and many schedules are due at the same times. */
class Rhythm {
  readonly #pattern: Cron;
  readonly #zone: Zone;
  readonly #answers = new Map<number, number | null>();

  constructor(pattern: Cron, zone: Zone) {
    this.#pattern = pattern;
    this.#zone = zone;
  }

  next(afterMs: number): number | null {
    return cached(this.#answers, afterMs, () => this.#look(afterMs), ANSWERS_MAX);
  }

  #look(afterMs: number): number | null {
    // Every local time up to this one has passed; after a change back some of them come a second time.
    let localMs = this.#zone.latestLocalMs(afterMs);
    for (;;) {
      const next = this.#pattern.nextRun(new Date(localMs));
      if (next === null) return null;
      localMs = next.getTime();
      const dueMs = this.#zone.instantOf(localMs);
      // Several local times that do not exist are due at the same instant.
      if (dueMs > afterMs) return dueMs;
    }
  }
}

/** What each field is called in a message, and what it takes, seconds first. */
const FIELDS_TAKE = [
  ['second', '0 to 59'],
  ['minute', '0 to 59'],
  ['hour', '0 to 23'],
  ['day of the month', '1 to 31 or L'],
  ['month', '1 to 12 or JAN to DEC'],
  ['day of the week', '0 to 7, SUN to SAT, 5L or 1#2'],
] as const;

/** What is wrong with a pattern; null when it can be used. */
export function faultOfCron(cron: string): string | null {
  if (cron.startsWith('@') ? !NICKNAMES.includes(cron.toLowerCase()) : !FIELDS.test(cron)) {
    return `a cron pattern has five fields, or six with seconds first, one space apart, or is one of ${NICKNAMES.join(', ')}`;
  }
  try {
    // From a fixed day: whether a pattern is ever due does not depend on today.
    return patternOf(cron).nextRun(new Date(0)) === null ? 'no day ever matches it' : null;
  } catch (fault) {
    return faultOfField(cron) ?? (fault as Error).message.replace(/^CronPattern: /, '');
  }
}

/** The library counts days and months from 0 and names as numbers: its messages name values that are not in the pattern. */
function faultOfField(cron: string): string | null {
  const fields = cron.split(' ');
  for (const [index, [name, takes]] of FIELDS_TAKE.slice(-fields.length).entries()) {
    try {
      new Cron(fields.map((field, at) => (at === index ? field : '*')).join(' '), CRON_OPTIONS);
    } catch {
      return `the ${name} cannot be ${fields[index]}; it takes ${takes}, ranges from low to high (1-5), lists (1,5) and steps (*/5 or 0-30/5)`;
    }
  }
  return null;
}

export function isTimeZone(timezone: string): boolean {
  try {
    zoneOf(timezone);
    return true;
  } catch {
    return false;
  }
}

const rhythms = new Map<string, Rhythm>();
const patterns = new Map<string, Cron>();
const zones = new Map<string, Zone>();

function patternOf(cron: string): Cron {
  return cached(patterns, cron, () => new Cron(cron, CRON_OPTIONS));
}

function zoneOf(timezone: string): Zone {
  return cached(zones, timezone, () => new Zone(timezone));
}

/** Evicts the oldest entry when the cache is full. */
function cached<K, T>(known: Map<K, T>, key: K, make: () => T, max = CACHED_MAX): T {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  if (known.size === max) known.delete(known.keys().next().value!);
  known.set(key, made);
  return made;
}

/** Local times are milliseconds since 1970 on the local clock. */
class Zone {
  readonly #format: Intl.DateTimeFormat | null;

  constructor(timeZone: string) {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    this.#format = format.resolvedOptions().timeZone === 'UTC' ? null : format;
  }

  /** The highest time that the local clock has shown up to an instant: before it was set back it showed a higher one. */
  latestLocalMs(ms: number): number {
    const offsetMs = this.#offsetMs(ms);
    const beforeMs = this.#offsetMs(ms - SHIFT_MAX_MS);
    if (beforeMs <= offsetMs) return ms + offsetMs;
    const setBackMs = this.#transition(ms - SHIFT_MAX_MS, ms, offsetMs);
    return Math.max(ms + offsetMs, setBackMs - 1 + beforeMs);
  }

  /** The first instant at which the local clock shows this time or, if it skips the time, the first instant after it. */
  instantOf(localMs: number): number {
    const beforeMs = this.#offsetMs(localMs - DAY_MS);
    const afterMs = this.#offsetMs(localMs + DAY_MS);
    if (beforeMs === afterMs) return localMs - beforeMs;
    if (this.#offsetMs(localMs - beforeMs) === beforeMs) return localMs - beforeMs;
    if (this.#offsetMs(localMs - afterMs) === afterMs) return localMs - afterMs;
    return this.#transition(localMs - afterMs, localMs - beforeMs, afterMs);
  }

  /** The first instant of an offset that applies at `toMs` but not at `fromMs`. */
  #transition(fromMs: number, toMs: number, offsetMs: number): number {
    let low = fromMs;
    let high = toMs;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.#offsetMs(middle) === offsetMs) high = middle;
      else low = middle;
    }
    return high;
  }

  #offsetMs(ms: number): number {
    if (this.#format === null) return 0;
    const parts: Record<string, number> = {};
    for (const { type, value } of this.#format.formatToParts(ms)) parts[type] = Number(value);
    const { year, month, day, hour, minute, second } = parts;
    const localMs = Date.UTC(year!, month! - 1, day!, hour!, minute!, second!);
    return localMs - Math.floor(ms / 1_000) * 1_000;
  }
}

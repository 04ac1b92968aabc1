/** Parses numbers, durations and JSON on the command line; a malformed one is wrong usage. */
import { InvalidArgumentError, Option } from 'commander';
import { durationMs as writtenMs } from '../client/durations.ts';
import { Json } from '../protocol/json.ts';
import type { Clock } from '../seams/clock.ts';
import { wrongUsage } from './failure.ts';
import { duration } from './format.ts';
import type { Shell } from './shell.ts';

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError('It must be a whole number.');
  }
  return value;
}

/** An empty path would mean the current directory. */
export function directory(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must name a directory.');
  return text;
}

export function positiveNumber(text: string): number {
  const value = wholeNumber(text);
  if (value === 0) throw new InvalidArgumentError('It must be at least 1.');
  return value;
}

export function priority(text: string): number {
  const value = Number(text);
  if (!/^[+-]?\d+$/.test(text) || value < -128 || value > 127) {
    throw new InvalidArgumentError('It must be a whole number from -128 to 127.');
  }
  return value;
}

/** `250ms`, `15s`, `1.5m`; a bare number has no unit, so it is refused, except 0. */
export function durationMs(text: string): number {
  if (text === '0') return 0;
  try {
    return writtenMs(text);
  } catch (fault) {
    if (!(fault instanceof TypeError)) throw fault;
    throw new InvalidArgumentError('It must be a duration such as 500ms, 15s, 2m or 1h.');
  }
}

/** The same, but NaN for anything that is not a duration. */
function spanMs(text: string): number {
  try {
    return durationMs(text);
  } catch (fault) {
    if (!(fault instanceof InvalidArgumentError)) throw fault;
    return Number.NaN;
  }
}

/** `500MB`, `10GB`, `2GiB`. */
export function byteCount(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)([MGT]i?B)$/.exec(text) ?? [];
  if (number === undefined || unit === undefined) {
    throw new InvalidArgumentError('It must be a size such as 500MB, 10GB or 2GiB.');
  }
  const exponent = 'KMGT'.indexOf(unit.charAt(0)) + 1;
  return Math.floor(Number(number) * (unit.includes('i') ? 1_024 : 1_000) ** exponent);
}

/** A duration within bounds. */
export function boundedMs(minMs: number, maxMs: number): (text: string) => number {
  return (text) => {
    const ms = durationMs(text);
    if (ms >= minMs && ms <= maxMs) return ms;
    throw new InvalidArgumentError(`It must be between ${duration(minMs)} and ${duration(maxMs)}.`);
  };
}

export const INSTANT_FORMS =
  'an instant such as 2026-01-31T08:00Z, 21:47 for the most recent 21:47 local time, or 2h for two hours ago';

/** A point in time, as ISO 8601: given so, as a local time of day in the last 24 hours, or as a duration before now. */
export function instantArgument({ wallMs }: Pick<Clock, 'wallMs'>): (text: string) => string {
  return (text) => {
    const atMs = instantMs(text, wallMs());
    if (!Number.isNaN(atMs)) return new Date(atMs).toISOString();
    throw new InvalidArgumentError(`It must be ${INSTANT_FORMS}.`);
  };
}

function instantMs(text: string, nowMs: number): number {
  if (/^\d{4}-/.test(text)) return Date.parse(text);
  const [isTime, hours, minutes, seconds = '0'] =
    /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(text) ?? [];
  if (isTime === undefined) return nowMs - spanMs(text);
  const at = new Date(nowMs);
  at.setHours(Number(hours), Number(minutes), Number(seconds), 0);
  if (at.getTime() > nowMs) at.setDate(at.getDate() - 1);
  return at.getTime();
}

/** An option with the default `value`, which the help shows as `shown`. */
export function defaulted<T>(
  flags: string,
  says: string,
  parse: (text: string) => T,
  value: T,
  shown: string,
): Option {
  return new Option(flags, says).argParser(parse).default(value, shown);
}

export const STATES = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'] as const;

export function stateOption(more = ''): Option {
  return new Option('--state <state>', `only in this state${more}`).choices(STATES).argParser(stateOf);
}

/** Accepts lower case as well, which commander's own check would refuse. */
function stateOf(text: string): string {
  const state = text.toUpperCase();
  if ((STATES as readonly string[]).includes(state)) return state;
  throw new InvalidArgumentError(`It must be one of ${STATES.join(', ')}.`);
}

/** How many items a list shows. */
export function limitOption(value: number = Number.POSITIVE_INFINITY): Option {
  const shown = Number.isFinite(value) ? String(value) : 'all';
  return defaulted('--limit <n>', 'the maximum number of items', positiveNumber, value, shown);
}

/** For commands that restore a log: a fencing number that neither the backup nor the clock can reveal. */
export function aboveOption(): Option {
  const says = 'a number that is known to have been granted, for example the newest in a log that is lost';
  return new Option('--above <seq>', says).argParser(wholeNumber);
}

/** The text of a file that an option names. */
export async function fileArgument({ files }: Shell, path: string, option: string): Promise<string> {
  try {
    return await files.read(path);
  } catch (fault) {
    const { code, message } = fault as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code ?? message})`;
    throw wrongUsage(`${path} (${option}) cannot be used: ${why}.`);
  }
}

/** A JSON argument, or standard input for `-`, kept byte for byte without the white space around it. */
export async function jsonArgument(shell: Shell, word: string, what: string): Promise<Json> {
  const text = word === '-' ? await shell.input() : word;
  try {
    return Json.text(text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, ''));
  } catch (fault) {
    if (!(fault instanceof SyntaxError)) throw fault;
    throw wrongUsage(
      `The ${what} is not JSON (${fault.message}); put quotes around it for the shell, or give - to read it from standard input.`,
    );
  }
}

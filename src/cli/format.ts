/**
 * Text for people: durations, ages, sizes, colours, tables. Pure functions. Text from clients passes `visible`
 * first: a reason or a payload must not be able to control the terminal.
 */

/** `850ms`, `12.3s`, `4m 10s`, `2h 05m`, `3d 4h`. */
export function duration(ms: number): string {
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  // Rounded before the unit is chosen, so that 59.96 s reads as a minute and not as sixty seconds.
  const tenths = Math.floor(ms / 100);
  if (tenths < 600) return `${(tenths / 10).toFixed(1)}s`;
  const seconds = Math.floor(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${twoDigits(seconds % 60)}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}h ${twoDigits(minutes % 60)}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** Who is in the way of a lease. */
export function heldText(name: string, holder: string, remainingMs = 0): string {
  return `${visible(name)} is held by ${visible(holder)} for another ${duration(remainingMs)} unless it is renewed.`;
}

/** An instant of the server relative to the local clock: for display only, never for a decision. */
export function ago(instant: string, nowMs: number): string {
  const ms = nowMs - Date.parse(instant);
  if (Math.abs(ms) < 1_000) return 'now';
  return ms > 0 ? `${duration(ms)} ago` : `in ${duration(-ms)}`;
}

/** `512 B`, `1.5 KiB`, `64.0 MiB`. */
export function size(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return unit === 0 ? `${value} B` : `${value.toFixed(1)} ${units[unit]}`;
}

/** Control and invisible characters, except the joiner inside emoji. */
const STEERING = /(?!\u200d)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The text with control characters escaped. */
export function visible(text: string): string {
  return text.replace(STEERING, (character) => {
    if (character === '\n') return '\\n';
    if (character === '\t') return '\\t';
    const code = character.codePointAt(0)!;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
  });
}

/** At most `width` columns; a cut is marked. */
export function shortened(text: string, width: number): string {
  if (columnsOf(text) <= width) return text;
  let cut = '';
  for (const character of text) {
    if (columnsOf(cut + character) > width - 1) break;
    cut += character;
  }
  return `${cut}…`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the sequences we paint with ourselves.
const PAINT = /\u001b\[\d*m/g;
const ZERO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u;
/** East Asian wide and emoji, by their blocks. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;

/** How many columns the text takes on a terminal. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text.replace(PAINT, '')) {
    if (ZERO_WIDTH.test(character)) continue;
    columns += WIDE.test(character) ? 2 : 1;
  }
  return columns;
}

/** Aligned lines: a head, and cells below it. The last column is not padded. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, columnsOf(cell));
    });
  }
  return rows.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - columnsOf(cell)))
      .join('  ')
      .trimEnd(),
  );
}

/** `name   value` a line, values aligned. */
export function fieldLines(
  fields: readonly (readonly [name: string, value: string])[],
  paint: Paint,
): string[] {
  return tableLines(fields.map(([name, value]) => [paint.dim(name), value]));
}

export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

const wrap =
  (on: number, off: number) =>
  (text: string): string =>
    `\u001b[${on}m${text}\u001b[${off}m`;

const COLOURS: Paint = {
  bold: wrap(1, 22),
  dim: wrap(2, 22),
  red: wrap(31, 39),
  green: wrap(32, 39),
  yellow: wrap(33, 39),
  cyan: wrap(36, 39),
};

const asItIs = (text: string): string => text;
const PLAIN: Paint = { bold: asItIs, dim: asItIs, red: asItIs, green: asItIs, yellow: asItIs, cyan: asItIs };

/** Colours for a terminal, unless NO_COLOR is set or the terminal has none. */
export function paintFor(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  const isUnwanted = (env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb';
  return isTerminal && !isUnwanted ? COLOURS : PLAIN;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

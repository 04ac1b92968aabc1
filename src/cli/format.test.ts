// How things look to a person.
import { describe, expect, it } from 'vitest';
import { instant } from '../protocol/instant.ts';
import {
  ago,
  columnsOf,
  duration,
  heldText,
  paintFor,
  shortened,
  size,
  tableLines,
  visible,
} from './format.ts';

describe('a duration', () => {
  it.each([
    [0, '0ms'],
    [999, '999ms'],
    [1_000, '1.0s'],
    [12_345, '12.3s'],
    [59_999, '59.9s'],
    [60_000, '1m 00s'],
    [250_000, '4m 10s'],
    [3_599_999, '59m 59s'],
    [7_500_000, '2h 05m'],
    [86_400_000 * 3 + 3_600_000 * 4, '3d 4h'],
    [-1_500, '-1.5s'],
  ])('of %i ms reads %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });
});

describe('an instant', () => {
  it('is read back as it was written, over leap years and centuries', () => {
    for (const ms of [0, 1, 951_782_399_999, 951_782_400_000, 1_709_164_800_000, 4_107_542_400_000]) {
      expect(Date.parse(instant(ms))).toBe(ms);
    }
  });

  it('is told by its distance from now', () => {
    const nowMs = Date.UTC(2026, 0, 1);
    expect(ago(instant(nowMs - 12_300), nowMs)).toBe('12.3s ago');
    expect(ago(instant(nowMs + 250_000), nowMs)).toBe('in 4m 10s');
    expect(ago(instant(nowMs - 999), nowMs)).toBe('now');
  });
});

describe('a size', () => {
  it.each([
    [0, '0 B'],
    [1_023, '1023 B'],
    [1_536, '1.5 KiB'],
    [64 * 1024 * 1024, '64.0 MiB'],
  ])('of %i bytes reads %s', (bytes, text) => {
    expect(size(bytes)).toBe(text);
  });
});

describe('text of others', () => {
  it('cannot steer the terminal it is shown on', () => {
    expect(visible('a\u001b[31mb\u0007\n\t\u009b2J\u202e')).toBe('a\\x1b[31mb\\x07\\n\\t\\x9b2J\\u{202e}');
  });

  it('keeps letters of every script, and joined emoji', () => {
    expect(visible('日本語 Grüße 👩\u200d🚀')).toBe('日本語 Grüße 👩\u200d🚀');
  });

  it('is cut by columns and says so', () => {
    expect(shortened('abcdef', 6)).toBe('abcdef');
    expect(shortened('abcdefg', 6)).toBe('abcde…');
    expect(shortened('日本語日本語', 5)).toBe('日本…');
  });

  it('cannot steer the terminal as the holder of a lease either', () => {
    expect(heldText('door', 'anna\u202e', 5_000)).toMatch(/^door is held by anna\\u\{202e\} for/);
  });
});

describe('a table', () => {
  it('lines up what is painted, wide or combining', () => {
    const paint = paintFor(true, {});
    const lines = tableLines([
      ['NAME', 'X'],
      [paint.red('ab'), '1'],
      ['日本', '2'],
      ['e\u0301e\u0301e\u0301e\u0301', '3'],
    ]);
    expect(lines.map((line) => columnsOf(line))).toEqual([7, 7, 7, 7]);
  });

  it('has no spaces at the end of its lines', () => {
    expect(
      tableLines([
        ['a', 'long'],
        ['b', ''],
      ]),
    ).toEqual(['a  long', 'b']);
  });
});

describe('colours', () => {
  it('are for terminals, unless the user does not want them', () => {
    expect(paintFor(true, {}).red('x')).toBe('\u001b[31mx\u001b[39m');
    expect(paintFor(false, {}).red('x')).toBe('x');
    expect(paintFor(true, { NO_COLOR: '1' }).red('x')).toBe('x');
    expect(paintFor(true, { NO_COLOR: '' }).red('x')).toBe('\u001b[31mx\u001b[39m');
    expect(paintFor(true, { TERM: 'dumb' }).red('x')).toBe('x');
  });
});

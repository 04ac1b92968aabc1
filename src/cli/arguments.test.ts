// Words of a command line as numbers, durations and JSON.
import { InvalidArgumentError } from 'commander';
import { describe, expect, it } from 'vitest';
import { TestShell } from '../../test/support/test-shell.ts';
import {
  durationMs,
  instantArgument,
  jsonArgument,
  positiveNumber,
  priority,
  wholeNumber,
} from './arguments.ts';

describe('a number', () => {
  it('is whole, and nothing that only looks like one', () => {
    expect(wholeNumber('42')).toBe(42);
    for (const word of ['', '-1', '1.5', '1e3', '0x10', ' 1', 'many', '9007199254740993']) {
      expect(() => wholeNumber(word)).toThrow(InvalidArgumentError);
    }
  });

  it('is at least one where nothing would be senseless', () => {
    expect(() => positiveNumber('0')).toThrow(InvalidArgumentError);
  });

  it('is a priority from -128 to 127', () => {
    expect([priority('-128'), priority('127'), priority('+5')]).toEqual([-128, 127, 5]);
    for (const word of ['-129', '128', '1.5', '']) expect(() => priority(word)).toThrow(InvalidArgumentError);
  });
});

describe('a duration', () => {
  it('has a unit, unless it is nothing', () => {
    expect(['0', '250ms', '15s', '1.5m', '2h', '1d'].map(durationMs)).toEqual([
      0, 250, 15_000, 90_000, 7_200_000, 86_400_000,
    ]);
    for (const word of ['15', '', 's', '-1s', '1w', '1s2']) {
      expect(() => durationMs(word)).toThrow(InvalidArgumentError);
    }
  });
});

describe('a point in time', () => {
  const when = instantArgument({ wallMs: () => Date.parse('2026-01-01T12:00:00Z') });

  it('is an instant, or so long ago', () => {
    expect(when('2026-01-01T08:00Z')).toBe('2026-01-01T08:00:00.000Z');
    expect(when('2h')).toBe('2026-01-01T10:00:00.000Z');
  });
});

describe('a time of day', () => {
  const nowMs = new Date(2026, 0, 31, 8, 30).getTime();
  const instant = instantArgument({ wallMs: () => nowMs });

  it('is the last such moment in the local zone', () => {
    expect(instant('08:30')).toBe(new Date(2026, 0, 31, 8, 30).toISOString());
    expect(instant('8:29:59')).toBe(new Date(2026, 0, 31, 8, 29, 59).toISOString());
    expect(instant('21:47')).toBe(new Date(2026, 0, 30, 21, 47).toISOString());
  });

  it('is named beside the other forms where a word is none of them', () => {
    for (const word of ['24:00', '21:60', '21:4', 'noon', '2026-13-01', '15']) {
      expect(() => instant(word)).toThrow(/2026-01-31T08:00Z, 21:47 .* or 2h /);
    }
  });
});

describe('a JSON argument', () => {
  it('is kept byte for byte, without the space around it', async () => {
    const test = await TestShell.open();
    const text = '{"b":1.0,"a":12345678901234567890,"__proto__": 1}';
    expect((await jsonArgument(test.shell(), ` ${text}\n`, 'payload')).text()).toBe(text);
  });

  it('comes from standard input for -', async () => {
    const test = await TestShell.open();
    test.input = '[1, 2]\n';
    expect((await jsonArgument(test.shell(), '-', 'payload')).text()).toBe('[1, 2]');
  });

  it('is wrong usage when it is not JSON', async () => {
    const test = await TestShell.open();
    await expect(jsonArgument(test.shell(), '{a:1}', 'payload')).rejects.toMatchObject({ exitCode: 2 });
  });
});

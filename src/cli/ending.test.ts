// What a command says last, to people and to programs, for everything that can go wrong.
import { CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { LogDamagedError, LogHeldError } from '../engines/log.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { asksForJson, endingOf, lastLine } from './ending.ts';
import { Failure, refused, startFailure, wrongUsage } from './failure.ts';
import { deathFailure } from './serve.ts';

function linesOf(fault: unknown): [string, unknown] {
  const ending = endingOf(fault);
  if (ending.sentence === null) throw new Error('Nothing is said.');
  return [lastLine({}, ending), JSON.parse(lastLine({ json: true }, ending))];
}

describe('the last line of a command that fails', () => {
  it.each([
    ['a refusal', refused('LEASE_HELD', 'Taken.', 73), 'LEASE_HELD: Taken.', 'LEASE_HELD', 'Taken.', 73],
    [
      'a fault',
      new LeaseholdError('UNAVAILABLE', 'Later.'),
      'UNAVAILABLE: Later.',
      'UNAVAILABLE',
      'Later.',
      1,
    ],
    ['something', new Failure('It is so.'), 'It is so.', 'FAILED', 'It is so.', 1],
    ['wrong usage', wrongUsage('Not so.'), 'Not so.', 'WRONG_USAGE', 'Not so.', 2],
    ['a wrong option', new CommanderError(1, 'x', 'error: no x'), 'no x', 'WRONG_USAGE', 'no x', 2],
    [
      'an argument too many',
      new CommanderError(1, 'commander.excessArguments', 'error: Too many.'),
      'Too many; see --help.',
      'WRONG_USAGE',
      'Too many; see --help.',
      2,
    ],
    [
      'a log that is held',
      new LogHeldError('us'),
      'The log is in use by us: stop that process first, or connect to it if it is a server.',
      'IN_USE',
      'The log is in use by us: stop that process first, or connect to it if it is a server.',
      3,
    ],
    ['a log that is lost', deathFailure(new Error('Gone.')), 'Gone.', 'LOG_LOST', 'Gone.', 1],
    ['a signal', new Failure('Ended.', 130), 'Ended.', 'INTERRUPTED', 'Ended.', 130],
    [
      'a program that is not there',
      startFailure('p', { code: 'ENOENT' }),
      'p was not found.',
      'COMMAND_NOT_FOUND',
      'p was not found.',
      127,
    ],
    [
      'a file that is not there',
      Object.assign(new Error('ENOENT: no such file or directory, open'), {
        code: 'ENOENT',
        syscall: 'open',
        path: '/no/such',
      }),
      '/no/such: There is no such file or directory (ENOENT).',
      'FAILED',
      '/no/such: There is no such file or directory (ENOENT).',
      1,
    ],
    [
      'a disk that is full',
      Object.assign(new Error('ENOSPC: no space left on device, write'), {
        code: 'ENOSPC',
        syscall: 'write',
      }),
      'The disk is full.',
      'FAILED',
      'The disk is full.',
      1,
    ],
    [
      'an address that may not be listened on',
      Object.assign(new Error('listen EACCES: permission denied 0.0.0.0:80'), {
        code: 'EACCES',
        syscall: 'listen',
      }),
      'listen EACCES: permission denied 0.0.0.0:80',
      'FAILED',
      'listen EACCES: permission denied 0.0.0.0:80',
      1,
    ],
    ['a bug', new TypeError('x is not y'), 'x is not y', 'FAILED', 'x is not y', 1],
  ])('tells of %s', (_, fault, sentence, code, message, exitCode) => {
    expect(linesOf(fault)).toEqual([`leasehold: ${sentence}`, { code, message, exit_code: exitCode }]);
    expect(endingOf(fault).exitCode).toBe(exitCode);
  });

  it('tells of a damaged log with 5, also when a server found it out', () => {
    const damaged = new LogDamagedError('a.log', 7, 'torn');
    expect(endingOf(deathFailure(damaged))).toEqual(endingOf(damaged));
    expect(linesOf(damaged)[1]).toMatchObject({ code: 'LOG_DAMAGED', exit_code: 5 });
  });

  it('is none when help was printed', () => {
    expect(endingOf(new CommanderError(0, 'commander.helpDisplayed', ''))).toEqual({
      exitCode: 0,
      sentence: null,
    });
    expect(endingOf(new CommanderError(1, 'commander.help', ''))).toEqual({ exitCode: 2, sentence: null });
  });
});

describe('a command line', () => {
  it.each([
    [['task', 'ls', '--json'], true],
    [['--json', 'task', 'ls'], true],
    [['task', 'ls'], false],
    [['run', 'door', '--', 'program', '--json'], false],
    [['run', 'door', '--json', '--', 'program'], true],
  ])('of %j asks for JSON: %j', (args, isAsked) => {
    expect(asksForJson(args)).toBe(isAsked);
  });
});

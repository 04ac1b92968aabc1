// `leasehold explain` knows every code that a command can print: all tables of codes, enumerated.
import { describe, expect, it } from 'vitest';
import { TestShell } from '../../test/support/test-shell.ts';
import { REFUSALS } from '../core/refusals.ts';
import { CLIENT_CODES } from './client-codes.ts';
import { COMMAND_CODES } from './command-codes.ts';
import { lastLine } from './ending.ts';
import { EXIT } from './exit-codes.ts';
import { SESSION_REASONS } from './session-reasons.ts';
import { SKIP_CODES } from './skip-codes.ts';
import { TASK_REASONS } from './task-reasons.ts';
import { WHY_CODES } from './why-codes.ts';

const test = await TestShell.open();

async function explained(code: string): Promise<Record<string, unknown>[]> {
  const run = await test.run('explain', code, '--json');
  expect(run.code, code).toBe(0);
  return run.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('explain', () => {
  it.each([
    ['a refusal', REFUSALS],
    ['the client', CLIENT_CODES],
    ['the end of a session', SESSION_REASONS],
    ['the end of a task', TASK_REASONS],
    ['why a task is not running', WHY_CODES],
    ['why a due time was skipped', SKIP_CODES],
    ['a command itself', COMMAND_CODES],
  ])('knows every code of %s', async (_, table: Readonly<Record<string, { readonly says: string }>>) => {
    for (const [code, { says }] of Object.entries(table)) {
      const fields = { code, says, when: expect.stringMatching(/\.$/), todo: expect.stringMatching(/\.$/) };
      expect(await explained(code)).toContainEqual(expect.objectContaining(fields));
    }
  });

  it('knows the name of every exit code that a failure may have', async () => {
    const { done: _, ...failures } = EXIT;
    for (const exitCode of [...Object.values(failures), 130, 143]) {
      const { code } = JSON.parse(lastLine({ json: true }, { exitCode, code: null, sentence: 'It ended.' }));
      expect((await explained(code)).length).toBeGreaterThan(0);
    }
  });

  it.each([
    [0, ['0']],
    [1, ['FAILED']],
    [2, ['WRONG_USAGE']],
    [3, ['IN_USE']],
    [4, ['GUARD_LOST']],
    [5, ['LOG_DAMAGED']],
    [73, ['LEASE_HELD']],
    [75, ['LEASE_LOST']],
    [126, ['NOT_EXECUTABLE']],
    [127, ['COMMAND_NOT_FOUND']],
    [130, ['INTERRUPTED']],
  ])('explains exit code %i', async (exitCode, codes) => {
    expect((await explained(String(exitCode))).map(({ code }) => code)).toEqual(codes);
    expect((await test.run('explain', String(exitCode))).out).toMatch(/^[A-Z0-9_]+ \(/);
  });

  it('tells of exit code 75 what it means of a program of work, too', async () => {
    expect((await test.run('explain', '75')).out).toMatch(/leasehold\s+work`\s+exits\s+with\s+75/);
    expect((await test.run('explain', 'LEASE_LOST')).out).not.toContain('75');
  });

  it('knows no exit code that no command ends with', async () => {
    expect(await test.run('explain', '42')).toMatchObject({
      code: 1,
      err: 'leasehold: There is no code 42. `leasehold explain` lists them all.\n',
    });
  });

  it('explains both meanings of a code that has two', async () => {
    expect((await explained('FAILED')).map(({ says }) => says)).toEqual([
      'The task has failed for good.',
      'The command failed.',
    ]);
    expect((await test.run('explain', 'FAILED')).out).toMatch(
      /^FAILED \(why[\s\S]*^FAILED \(the end of a command/m,
    );
  });

  it('knows what stands in the last line of a damaged log', async () => {
    expect(await explained('LOG_DAMAGED')).toContainEqual(
      expect.objectContaining({ exit: 5, says: 'The log is damaged.' }),
    );
  });
});

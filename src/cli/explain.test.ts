// `leasehold explain` knows every code that a command can print: all tables of codes, enumerated.
import { describe, expect, it } from 'vitest';
import { TestShell } from '../../test/support/test-shell.ts';
import { REFUSALS } from '../core/refusals.ts';
import { CLIENT_CODES } from './client-codes.ts';
import { COMMAND_CODES } from './command-codes.ts';
import { lastLine } from './ending.ts';
import { EXIT } from './exit-codes.ts';
import { SESSION_REASONS } from './session-reasons.ts';
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

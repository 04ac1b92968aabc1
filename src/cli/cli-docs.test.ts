// docs/cli.md, held against the commands: its sections are generated from the help, so each help needs an example.
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { TestShell } from '../../test/support/test-shell.ts';
import { makeProgram } from './program.ts';

const text = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
const test = await TestShell.open();
const program = await makeProgram(test.shell(), null);

function leaves(command: Command, path: readonly string[] = []): [string, Command][] {
  if (command.commands.length === 0) return [[path.join(' '), command]];
  return command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
}

describe('docs/cli.md', () => {
  it.each(leaves(program))('shows an example of %s', (path) => {
    const section = text.split(`### leasehold ${path}\n`)[1] ?? '';
    expect(/```sh\n([\s\S]*?)```/.exec(section)?.[1]).toContain(`leasehold ${path}`);
  });

  it('names every exit code', () => {
    for (const code of [0, 1, 2, 3, 4, 5, 73, 75, 126, 127]) expect(text).toContain(`| ${code} |`);
  });
});

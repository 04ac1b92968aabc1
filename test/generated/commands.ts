// The commands of the command line as the generators of documents read them: the same program as `--help`.
import type { Command } from 'commander';
import { makeProgram } from '../../src/cli/program.ts';
import { TestShell } from '../support/test-shell.ts';

const shell = await TestShell.open();
export const program = await makeProgram(shell.shell(), null);

/** Every command that does something, by its words, in the order of the help. */
export const COMMANDS: readonly (readonly [path: string, command: Command])[] = leaves(program, []);

function leaves(command: Command, path: readonly string[]): [string, Command][] {
  if (command.commands.length === 0) return [[path.join(' '), command]];
  return command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
}

/** What follows `Examples:` at the end of the help of a command, a line each: the examples, an empty line, notes. */
export function endOfHelp(command: Command): string[] {
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  const [, rest] = text.split('\nExamples:\n');
  return rest === undefined
    ? []
    : rest
        .trimEnd()
        .split('\n')
        .map((line) => line.trim());
}

// docs/cli.md, held against the commands: it lists exactly those there are, with exactly their words and options.
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { TestShell } from '../../test/support/test-shell.ts';
import { makeProgram } from './program.ts';

const text = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
/** Described once for all of them. */
const EVERYWHERE = ['--server <url>', '--token <token>', '--json', '--retry-for <duration>'];

const test = await TestShell.open();
const program = await makeProgram(test.shell(), null);

function leaves(command: Command, path: readonly string[] = []): [string, Command][] {
  if (command.commands.length === 0) return [[path.join(' '), command]];
  return command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
}

/** What stands under the heading of each command. */
const sections = new Map(
  text
    .split(/^### (?=leasehold )/m)
    .slice(1)
    .map((section) => {
      const [title = '', ...rest] = section.split('\n');
      return [title.replace('leasehold ', ''), rest.join('\n')];
    }),
);

describe('docs/cli.md', () => {
  it('has a heading for every command, in the order of the help', () => {
    expect([...sections.keys()]).toEqual(leaves(program).map(([path]) => path));
  });

  it.each(leaves(program))('says of %s what it does, with an example and all its words', (path, command) => {
    const section = sections.get(path) ?? '';
    expect(section.trim().split('\n')[0]).toBe(command.description());
    expect(/```sh\n([\s\S]*?)```/.exec(section)?.[1]).toContain(`leasehold ${path}`);
    const rows = [...section.matchAll(/^\| `(.+?)` \| (.+) \|$/gm)].map(([, word, says]) => [word, says]);
    // With defaults and choices, as the help has them.
    const help = command.createHelp();
    const words = command.registeredArguments.map((argument) => {
      const name = argument.variadic ? `${argument.name()}...` : argument.name();
      return [argument.required ? `<${name}>` : `[${name}]`, help.argumentDescription(argument)];
    });
    const options = command.options
      .filter(({ flags, hidden }) => !hidden && !EVERYWHERE.includes(flags))
      .map((option) => [option.flags, help.optionDescription(option)]);
    expect(rows).toEqual([...words, ...options]);
  });

  it('names every exit code', () => {
    for (const code of [0, 1, 2, 3, 4, 5, 73, 75, 126, 127]) expect(text).toContain(`| ${code} |`);
  });
});

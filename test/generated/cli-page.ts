// The commands in `docs/cli.md`: description, examples and words of each, from the same program as `--help`. What stands
// below the table of a command, up to the next heading, is written by hand and kept.
import type { Command } from 'commander';
import { COMMANDS, endOfHelp } from './commands.ts';

const BEGIN = '## Commands\n';
/** Described once for all of them, at the head of the page. */
const EVERYWHERE = ['--server <url>', '--token <token>', '--json', '--retry-for <duration>'];

export function cliPage(now: string): string {
  const [head = '', rest = ''] = now.split(BEGIN);
  const notes = notesIn(rest);
  const unknown = [...notes.keys()].filter((path) => !COMMANDS.some(([known]) => known === path));
  if (unknown.length > 0)
    throw new Error(`docs/cli.md has notes on commands that are gone: ${unknown.join(', ')}`);
  return `${head}${BEGIN}\n${COMMANDS.map(([path, command]) => sectionOf(path, command, notes.get(path))).join('\n')}`;
}

function sectionOf(path: string, command: Command, note: string | undefined): string {
  const parts = [
    `### leasehold ${path}`,
    command.description(),
    ['```sh', ...examplesOf(command), '```'].join('\n'),
    wordsOf(command),
    note ?? '',
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** The notes behind the examples are in the help and the manual; the page has them in sections of their own. */
function examplesOf(command: Command): string[] {
  const lines = endOfHelp(command);
  const empty = lines.indexOf('');
  return empty === -1 ? lines : lines.slice(0, empty);
}

/** Arguments and options with their defaults and choices, as the help has them. */
function wordsOf(command: Command): string {
  const help = command.createHelp();
  const words = command.registeredArguments.map((argument) => {
    const name = argument.variadic ? `${argument.name()}...` : argument.name();
    return [argument.required ? `<${name}>` : `[${name}]`, help.argumentDescription(argument)];
  });
  const options = command.options
    .filter(({ flags, hidden }) => !hidden && !EVERYWHERE.includes(flags))
    .map((option) => [option.flags, help.optionDescription(option)]);
  const rows = [...words, ...options].map(([word, says]) => `| \`${word}\` | ${says} |`);
  return rows.length === 0 ? '' : ['| word | meaning |', '|---|---|', ...rows].join('\n');
}

/** What is written by hand in each section: everything after its examples and its table. */
function notesIn(sections: string): Map<string, string> {
  return new Map(
    sections
      .split(/^### leasehold /m)
      .slice(1)
      .map((section): [string, string] => {
        const path = section.slice(0, section.indexOf('\n'));
        const [, afterExamples = ''] = /^[\s\S]*?```sh\n[\s\S]*?```\n([\s\S]*)$/.exec(section) ?? [];
        return [path, afterExamples.replace(/^\| word \| meaning \|\n(?:\|.*\n)*\n?/m, '').trim()];
      })
      .filter(([, note]) => note !== ''),
  );
}

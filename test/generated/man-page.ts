// `docs/leasehold.1`: the manual page, from the same program as `--help`. Roff with the man macros, ASCII only.
import type { Command } from 'commander';
import { AFTER_HELP } from '../../src/cli/program.ts';
import { VERSION } from '../../src/cli/version.ts';
import { COMMANDS, endOfHelp, program } from './commands.ts';

/** Text that roff takes as it is: no escapes, no hyphens that could become dashes, no requests at the start of a line. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/[^\x20-\x7e\n]/gu, (letter) => `\\[u${hex(letter)}]`)
    .replaceAll(/^(?=[.'])/gm, '\\&');
}

const hex = (letter: string): string => letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');

/** Lines as they stand. */
const block = (lines: readonly string[]): string[] => [
  '.PP',
  '.RS 4',
  '.nf',
  ...lines.map(roff),
  '.fi',
  '.RE',
];

const term = (word: string, says: string): string[] => ['.TP', `.B ${roff(word)}`, roff(says)];

/** A paragraph of the text behind the help, without its heading. */
function afterHelp(heading: string): string[] {
  const [, rest = ''] = AFTER_HELP.split(`\n${heading}:\n`);
  return rest
    .split('\n\n')[0]!
    .trimEnd()
    .split('\n')
    .map((line) => line.slice(2));
}

/** Lines like `word  what it means`, with indented lines that go on; any other line is a paragraph. */
function terms(lines: readonly string[]): string[] {
  const groups = lines.join('\n').split(/\n(?! )/);
  return groups.flatMap((group) => {
    const [, word, says] = /^(\S+(?:, \S+)*)(?: {2,}|\n)([\s\S]+)$/.exec(group) ?? [];
    if (word === undefined || says === undefined) return ['.PP', roff(group)];
    return term(word, says.replaceAll(/\n? {2,}/g, ' ').trim());
  });
}

function optionsOf(command: Command): string[] {
  const help = command.createHelp();
  return help
    .visibleOptions(command)
    .flatMap((option) => term(help.optionTerm(option), help.optionDescription(option)));
}

function examplesIn(command: Command): string[] {
  const lines = endOfHelp(command);
  return lines.length === 0 ? [] : ['.PP', 'Examples:', ...block(lines)];
}

function commandSection([path, command]: readonly [string, Command]): string[] {
  const help = command.createHelp();
  const words = command.registeredArguments.flatMap((argument) =>
    term(help.argumentTerm(argument), help.argumentDescription(argument)),
  );
  return [
    `.SS ${roff(`leasehold ${path}`)}`,
    roff(command.description()),
    ...block([`leasehold ${path} ${command.usage()}`.trimEnd()]),
    ...words,
    ...optionsOf(command),
    ...examplesIn(command),
  ];
}

export function manPage(): string {
  const lines = [
    '.\\" Generated from the help of the commands by `npm run generate`.',
    `.TH LEASEHOLD 1 "" "leasehold ${roff(VERSION)}" "User Commands"`,
    '.nh',
    '.ad l',
    '.SH NAME',
    `leasehold \\- ${roff('leases, fenced writes and durable tasks from one log')}`,
    '.SH SYNOPSIS',
    '.B leasehold',
    roff('[options] COMMAND [arguments]'),
    '.SH DESCRIPTION',
    roff(program.description()),
    '.SH OPTIONS',
    ...optionsOf(program),
    '.SH COMMANDS',
    ...COMMANDS.flatMap(commandSection),
    '.SH EXIT CODES',
    ...terms(afterHelp('Exit codes')),
    '.SH ENVIRONMENT',
    ...terms(afterHelp('Environment')),
    '.SH EXAMPLES',
    ...block(afterHelp('Start here')),
  ];
  return `${lines.join('\n')}\n`;
}

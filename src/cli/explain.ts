/** `leasehold explain CODE`: what a refusal means and what to do about it, without a server. */
import { Command } from 'commander';
import { REFUSALS, type RefusalCode } from '../core/refusals.ts';
import { EXPLANATIONS } from '../protocol/explanations.ts';
import { CLIENT_CODES } from './client-codes.ts';
import { examples } from './connection.ts';
import { Failure } from './failure.ts';
import { show, showList } from './output.ts';
import type { Shell } from './shell.ts';

const CODES = Object.keys(REFUSALS) as RefusalCode[];
const RETRY = {
  never: 'The same call never succeeds.',
  later: 'The same call can succeed later, when whoever is in the way is gone.',
  soon: 'The same call can succeed soon: try again after a moment.',
} as const;
const WIDTH_MAX = 100;

export function explainCommand(shell: Shell): Command {
  return new Command('explain')
    .description('Explain an error code: when it comes, and what to do.')
    .argument('[code]', 'the code; without one all of them are listed')
    .option('--json', 'print JSON: one object, or one a line for lists')
    .addHelpText('after', examples('leasehold explain WRITE_STALE_FENCE', 'leasehold explain'))
    .action(async (word: string | undefined, options: { readonly json?: boolean }) => {
      if (word === undefined) await list(shell, options);
      else if (isClientCode(word)) {
        const body = { code: word, ...CLIENT_CODES[word] };
        explainBody(shell, options, body, 'said by the client', 'No server answers with it.');
      } else explain(shell, options, codeOf(word));
    });
}

function isClientCode(word: string): word is keyof typeof CLIENT_CODES {
  return Object.hasOwn(CLIENT_CODES, word);
}

function codeOf(word: string): RefusalCode {
  const code = word.toUpperCase().replaceAll('-', '_');
  const found = CODES.find((known) => known === code);
  if (found !== undefined) return found;
  const near = CODES.filter((known) => code !== '' && (known.includes(code) || code.includes(known)));
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}?` : '`leasehold explain` lists them all.';
  throw new Failure(`There is no code ${word}. ${hint}`);
}

function bodyOf(code: RefusalCode): { code: RefusalCode; status: number; says: string; retry: string } {
  const { status, says, retry } = REFUSALS[code];
  return { code, status, says, retry };
}

async function list(shell: Shell, options: { readonly json?: boolean }): Promise<void> {
  await showList(shell, options, [CODES.map(bodyOf)], {
    head: ['CODE', 'STATUS', 'RETRY', 'MEANS'],
    cells: ({ code, status, says, retry }, paint) => [paint.bold(code), String(status), retry, says],
    none: '',
  });
}

function explain(shell: Shell, options: { readonly json?: boolean }, code: RefusalCode): void {
  const { status, retry } = REFUSALS[code];
  const body = { ...bodyOf(code), ...EXPLANATIONS[code] };
  explainBody(shell, options, body, `status ${status}`, RETRY[retry]);
}

interface Explanation {
  readonly code: string;
  readonly says: string;
  readonly when: string;
  readonly todo: string;
}

function explainBody(
  shell: Shell,
  options: { readonly json?: boolean },
  body: Explanation,
  from: string,
  ending: string,
): void {
  const { code, says, when, todo } = body;
  show(shell, options, body, (paint) => [
    `${paint.bold(code)} (${from})`,
    says,
    '',
    paint.bold('When'),
    ...wrapped(when, shell.out.columns),
    '',
    paint.bold('What to do'),
    ...wrapped(todo, shell.out.columns),
    '',
    paint.dim(ending),
  ]);
}

function wrapped(text: string, columns: number): string[] {
  const width = Math.min(columns, WIDTH_MAX) - 2;
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(`  ${line}`);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, `  ${line}`];
}

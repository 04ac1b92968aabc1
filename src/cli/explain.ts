/** `leasehold explain CODE`: what a refusal or the end of a session means and what to do about it, without a server. */
import { Command } from 'commander';
import { REFUSALS } from '../core/refusals.ts';
import { EXPLANATIONS } from '../protocol/explanations.ts';
import { CLIENT_CODES } from './client-codes.ts';
import { examples } from './connection.ts';
import { Failure } from './failure.ts';
import { nearWords } from './near-words.ts';
import { show, showList } from './output.ts';
import { SESSION_REASONS } from './session-reasons.ts';
import type { Shell } from './shell.ts';
import { TASK_REASONS } from './task-reasons.ts';

const RETRY = {
  never: 'The same call never succeeds.',
  later: 'The same call can succeed later, when whoever is in the way is gone.',
  soon: 'The same call can succeed soon: try again after a moment.',
} as const;
const WIDTH_MAX = 100;

export function explainCommand(shell: Shell): Command {
  return new Command('explain')
    .description('Explain an error code, or why a session or a task ended: when it comes, and what to do.')
    .argument('[code]', 'the code; without one all of them are listed')
    .option('--json', 'print JSON: one object, or one a line for lists')
    .addHelpText(
      'after',
      examples('leasehold explain WRITE_STALE_FENCE', 'leasehold explain R_NO_TUNER', 'leasehold explain'),
    )
    .action(async (word: string | undefined, options: { readonly json?: boolean }) => {
      if (word === undefined) await list(shell, options);
      else explain(shell, options, word);
    });
}

/** What is known of a code besides its explanation, each kind with fields of its own. */
type Listed = { readonly code: string; readonly says: string } & (
  | { readonly status: number; readonly retry: string }
  | { readonly state: string }
  | object
);

/** Every code there is, in the order of the documents. */
export const CODES: readonly Listed[] = [
  ...Object.entries(REFUSALS).map(([code, { status, says, retry }]) => ({ code, status, says, retry })),
  ...Object.entries(CLIENT_CODES).map(([code, { says }]) => ({ code, says })),
  ...Object.entries(SESSION_REASONS).map(([code, { state, says }]) => ({ code, state, says })),
  ...Object.entries(TASK_REASONS).map(([code, { says }]) => ({ code, state: 'DEAD', says })),
];

/** The details of two reasons are spelt like codes, and looked for like them. */
const DETAILS: Readonly<Record<string, string>> = {
  REJECTED_BUSY: 'R_LEASE_BUSY',
  REJECTED_NO_TUNER: 'R_NO_TUNER',
};

async function list(shell: Shell, options: { readonly json?: boolean }): Promise<void> {
  await showList(shell, options, [CODES], {
    head: ['CODE', 'STATUS', 'RETRY', 'MEANS'],
    cells: (listed, paint) => [
      paint.bold(listed.code),
      'status' in listed ? String(listed.status) : '-',
      'retry' in listed ? listed.retry : '-',
      listed.says,
    ],
    none: '',
  });
}

function explain(shell: Shell, options: { readonly json?: boolean }, word: string): void {
  const written = word.toUpperCase().replaceAll('-', '_');
  const code = DETAILS[written] ?? written;
  if (isIn(REFUSALS, code)) {
    const { status, says, retry } = REFUSALS[code];
    const body = { code, status, says, retry, ...EXPLANATIONS[code] };
    explainBody(shell, options, body, `status ${status}`, RETRY[retry]);
  } else if (isIn(CLIENT_CODES, code)) {
    const body = { code, ...CLIENT_CODES[code] };
    explainBody(shell, options, body, 'said by the client', 'No server answers with it.');
  } else if (isIn(SESSION_REASONS, code)) {
    const body = { code, ...SESSION_REASONS[code] };
    explainBody(
      shell,
      options,
      body,
      `a session ended ${body.state}`,
      'The reason of a session, not a refusal.',
    );
  } else if (isIn(TASK_REASONS, code)) {
    const body = { code, state: 'DEAD', ...TASK_REASONS[code] };
    explainBody(shell, options, body, 'a task ended DEAD', 'The reason of a task, not a refusal.');
  } else throw unknownCode(word, code);
}

function isIn<T extends object>(table: T, code: string): code is keyof T & string {
  return Object.hasOwn(table, code);
}

function unknownCode(word: string, code: string): Failure {
  const near = nearWords(
    code,
    CODES.map((known) => known.code),
  );
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}?` : '`leasehold explain` lists them all.';
  return new Failure(`There is no code ${word}. ${hint}`);
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

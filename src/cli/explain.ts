/** `leasehold explain CODE`: what each code or exit code of a command means and what to do about it. Needs no server. */
import { Command } from 'commander';
import { REFUSALS, type RefusalCode } from '../core/refusals.ts';
import { EXPLANATIONS } from '../protocol/explanations.ts';
import { CLIENT_CODES } from './client-codes.ts';
import { COMMAND_CODES } from './command-codes.ts';
import { examples } from './connection.ts';
import { EXIT, Failure } from './failure.ts';
import { nearWords } from './near-words.ts';
import { sayLines, show, showList } from './output.ts';
import { SESSION_REASONS } from './session-reasons.ts';
import type { Shell } from './shell.ts';
import { SKIP_CODES } from './skip-codes.ts';
import { TASK_REASONS } from './task-reasons.ts';
import { WHY_CODES } from './why-codes.ts';

const RETRY = {
  never: 'The same call never succeeds.',
  later: 'The same call can succeed later, when the conflicting holder is gone or the state has changed.',
  soon: 'The same call can succeed soon: try again after a moment.',
} as const;
const WIDTH_MAX = 100;

export function explainCommand(shell: Shell): Command {
  return new Command('explain')
    .description('Explain a code that a command prints: when it occurs, and what to do.')
    .argument('[code]', 'the code, or the exit code of a command; without one all codes are listed')
    .option('--json', 'print JSON: one object, or one a line for lists')
    .addHelpText(
      'after',
      examples(
        'leasehold explain WRITE_STALE_FENCE',
        'leasehold explain R_NO_TUNER',
        'leasehold explain 75',
        'leasehold explain',
      ),
    )
    .action(async (word: string | undefined, options: { readonly json?: boolean }) => {
      if (word === undefined) await list(shell, options);
      else explain(shell, options, word);
    });
}

interface Explanation {
  readonly code: string;
  readonly says: string;
  readonly when: string;
  readonly todo: string;
  /** For a code of a command: the exit code that it stands for. */
  readonly exit?: number | null;
}

/** A code, and what kind of code it is. One code may be of several kinds: FAILED is the end of a command and of a task. */
interface Explained {
  /** Its fields in a list. */
  readonly listed: {
    readonly code: string;
    readonly says: string;
    readonly status?: number;
    readonly retry?: string;
  };
  readonly body: Explanation;
  readonly from: string;
  readonly ending: string;
}

/** The rows of a table whose codes are all of one kind. */
function kind<Row extends Omit<Explanation, 'code'>>(
  table: Readonly<Record<string, Row>>,
  from: (row: Row) => string,
  ending: string,
): Explained[] {
  return Object.entries(table).map(([code, row]) => {
    const { when: _when, todo: _todo, ...listed } = row;
    return { listed: { code, ...listed }, body: { code, ...row }, from: from(row), ending };
  });
}

/** Every code, in the order of the documents. Each table is the one that defines or types its codes. */
const EXPLAINED: readonly Explained[] = [
  ...(Object.keys(REFUSALS) as RefusalCode[]).map((code) => {
    const { status, says, retry } = REFUSALS[code];
    const listed = { code, status, says, retry };
    return {
      listed,
      body: { ...listed, ...EXPLANATIONS[code] },
      from: `status ${status}`,
      ending: RETRY[retry],
    };
  }),
  ...kind(CLIENT_CODES, () => 'reported by the client', 'No server answers with it.'),
  ...kind(
    SESSION_REASONS,
    ({ state }) => `a session ended ${state}`,
    'The reason of a session, not a refusal.',
  ),
  ...kind(
    Object.fromEntries(Object.entries(TASK_REASONS).map(([code, row]) => [code, { state: 'DEAD', ...row }])),
    () => 'a task ended DEAD',
    'The reason of a task, not a refusal.',
  ),
  ...kind(
    SKIP_CODES,
    () => 'why a due time of a schedule was skipped',
    'In the entry of a due time, not a refusal.',
  ),
  ...kind(WHY_CODES, () => 'why a task is not running', 'An answer of `leasehold task why`, not a refusal.'),
  ...kind(
    COMMAND_CODES,
    ({ exit }) => (exit === null ? 'the end of a command' : `the end of a command, exit code ${exit}`),
    'Reported by a command, not by a server.',
  ),
];

export const CODES: readonly Explained['listed'][] = EXPLAINED.map(({ listed }) => listed);

/** Exit codes from here on stand for signals. */
const SIGNALLED = 128;

/** The details of two reasons look like codes, so they can be looked up too. */
const DETAILS: Readonly<Record<string, string>> = {
  REJECTED_BUSY: 'R_LEASE_BUSY',
  REJECTED_NO_TUNER: 'R_NO_TUNER',
};

async function list(shell: Shell, options: { readonly json?: boolean }): Promise<void> {
  await showList(shell, options, [CODES], {
    head: ['CODE', 'STATUS', 'RETRY', 'MEANS'],
    cells: (listed, paint) => [
      paint.bold(listed.code),
      String(listed.status ?? '-'),
      listed.retry ?? '-',
      listed.says,
    ],
    none: '',
  });
}

/** Exit codes that stand for a code of the server or the client. */
const EXITS: Readonly<Record<number, string>> = {
  [EXIT.notAcquired]: 'LEASE_HELD',
  [EXIT.leaseLost]: 'LEASE_LOST',
};

/** What else an exit code means. */
const EXIT_NOTES: Readonly<Record<number, string>> = {
  [EXIT.leaseLost]: 'A program of `leasehold work` exits with 75 to hand its task back, which is no failure.',
};

const DONE: Explained = {
  listed: { code: '0', says: 'The command succeeded.' },
  body: {
    code: '0',
    says: 'The command succeeded.',
    when: 'Nothing failed. `run` exits with it when its program did.',
    todo: 'Nothing.',
  },
  from: 'exit code 0',
  ending: 'Reported by a command, not by a server.',
};

/** What an exit code may mean; empty for one that is not ours. */
function explainedExit(exitCode: number): Explained[] {
  if (exitCode === EXIT.done) return [DONE];
  const code = EXITS[exitCode] ?? (exitCode > SIGNALLED ? 'INTERRUPTED' : null);
  const note = EXIT_NOTES[exitCode];
  return EXPLAINED.filter(({ body }) => body.exit === exitCode || body.code === code).map((each) => ({
    ...each,
    body: note === undefined ? each.body : { ...each.body, when: `${each.body.when} ${note}` },
    from: each.body.exit === exitCode ? each.from : `exit code ${exitCode}, ${each.from}`,
  }));
}

function explain(shell: Shell, options: { readonly json?: boolean }, word: string): void {
  const written = word.toUpperCase().replaceAll('-', '_');
  const code = DETAILS[written] ?? written;
  const found = /^\d{1,3}$/.test(word)
    ? explainedExit(Number(word))
    : EXPLAINED.filter(({ body }) => body.code === code);
  if (found.length === 0) throw unknownCode(word, code);
  for (const [index, each] of found.entries()) {
    if (index > 0 && !options.json) sayLines(shell, ['']);
    explainOne(shell, options, each);
  }
}

function unknownCode(word: string, code: string): Failure {
  const near = nearWords(
    code,
    CODES.map((known) => known.code),
  );
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}?` : '`leasehold explain` lists them all.';
  return new Failure(`There is no code ${word}. ${hint}`);
}

function explainOne(
  shell: Shell,
  options: { readonly json?: boolean },
  { body, from, ending }: Explained,
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

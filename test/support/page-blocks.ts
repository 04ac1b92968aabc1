// The fenced code blocks of the Markdown pages, and which test runs those of which page. What is not run stands in a table
// here with its reason: `test/docs.test.ts` fails for a page without a row, and for a row that fits nothing any more.
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const GUIDES = 'test/e2e/guides.test.ts';
const DATABASE_GUIDES = 'test/postgres/guides.test.ts';

/** Runs every block of a page, from its first to its last, as a reader would. A new page needs a row. */
export const RUN_BY: Readonly<Record<string, string>> = {
  'README.md': GUIDES,
  'docs/embedding.md': GUIDES,
  'docs/guides/client.md': GUIDES,
  'docs/guides/fence-your-table.md': DATABASE_GUIDES,
  'docs/guides/high-availability.md': DATABASE_GUIDES,
  'docs/guides/leases.md': GUIDES,
  'docs/guides/limits.md': GUIDES,
  'docs/guides/outbox.md': DATABASE_GUIDES,
  'docs/guides/postgres-log.md': DATABASE_GUIDES,
  'docs/guides/postgres.md': DATABASE_GUIDES,
  'docs/guides/schedules.md': GUIDES,
  'docs/guides/sessions.md': GUIDES,
  'docs/guides/tasks.md': GUIDES,
  'docs/guides/testing-your-code.md': GUIDES,
  'docs/guides/traces.md': GUIDES,
};

/** Pages with blocks that no test runs, and what holds them instead. */
export const NOT_RUN_PAGES: Readonly<Record<string, string>> = {
  'docs/cli.md': 'Generated from the help; src/cli/cli-docs.test.ts asks for an example of every command.',
  'docs/console.md': 'A configuration of nginx; test/browser starts a real one in front of the console.',
  'docs/errors.md': 'One answer, as it is printed.',
  'docs/http.md': 'Generated; test/docs.test.ts holds every call against the checks of its operation.',
  'docs/operating.md':
    'Drills that restore a backup and kill a leader: test/e2e/backup.test.ts, test/postgres/failover.test.ts.',
  'docs/performance.md': 'Benchmarks take minutes to hours.',
  'docs/protocol.md': 'test/e2e/protocol-page.test.ts runs its programs and its test vectors.',
  'docs/testing.md': 'Runs of the tests themselves.',
};

/** Commands inside the pages that are run, and blocks by their first line, that are not run. */
export const NOT_RUN: readonly { readonly page: string; readonly command: string; readonly why: string }[] = [
  {
    page: 'README.md',
    command: 'npx leasehold demo',
    why: 'It takes half a minute; test/e2e/cli-commands.test.ts.',
  },
  {
    page: 'docs/guides/schedules.md',
    command: 'LEASEHOLD_URL=http://leasehold.internal:7420',
    why: 'A crontab; test/e2e/cli-run.test.ts runs `run --at-least`.',
  },
];

/** What a block takes for granted that shows the middle of a program: the program around it. */
export const AROUND: readonly {
  readonly page: string;
  /** The first line of the block. */
  readonly begins: string;
  readonly before: string;
  readonly after: string;
}[] = [
  {
    page: 'docs/guides/client.md',
    begins: 'const giveUp = new AbortController();',
    before: `import { connect } from 'leasehold';
const lh = connect();
const holder = await lh.acquire('printer');`,
    after: 'await holder.release();\nawait lh.close();',
  },
  {
    page: 'docs/guides/client.md',
    begins:
      "for await (const { taskId, reason } of lh.tasks.find({ state: 'DEAD' })) console.log(taskId, reason);",
    before: "import { connect } from 'leasehold';\nconst lh = connect();",
    after: 'await lh.close();',
  },
  {
    page: 'docs/guides/client.md',
    begins: "import { connect } from 'leasehold/browser';",
    before: `const location = { origin: process.env.LEASEHOLD_URL };
const token = undefined;
const edit = (lease) => lease.write('by a page');`,
    after: 'await lh.close();',
  },
  {
    page: 'docs/guides/sessions.md',
    begins: "import { readFileSync } from 'node:fs';",
    // It ends as soon as it is the orchestrator.
    before: `(async () => {
  for await (const _ of connect('http://127.0.0.1:7420').follow({ types: ['NameLeased'], from: 1 })) {
    process.kill(process.pid, 'SIGTERM');
    break;
  }
})();`,
    after: '',
  },
  {
    page: 'docs/guides/traces.md',
    begins:
      'await lh.enqueue(resize, { width: 300 }, { trace: { traceparent: request.headers.traceparent } });',
    before: `import { connect, defineTask } from 'leasehold';
const lh = connect();
const resize = defineTask('resize');
const request = { headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' } };`,
    after: 'await lh.close();',
  },
];

export interface Block {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map((found) => ({
    page,
    line: text.slice(0, found.index).split('\n').length,
    language: found[1]!,
    text: found[2]!,
  }));
}

/** The pages whose row names the test file that asks. */
export function pagesRunBy(url: string): string[] {
  const test = relative(ROOT, fileURLToPath(url));
  return Object.keys(RUN_BY).filter((page) => RUN_BY[page] === test);
}

/** A block of JavaScript or TypeScript as a whole program. */
export function programOf({ page, text }: Block): string {
  const frame = AROUND.find(({ page: its, begins }) => its === page && text.startsWith(`${begins}\n`));
  return frame === undefined ? text : `${frame.before}\n${text}${frame.after}\n`;
}

/** The commands of a block for the shell, one a line, without comments. */
export function commandsOf({ text }: Block): string[] {
  return text
    .replaceAll('\\\n', '')
    .split('\n')
    .map((line) => line.replace(/(^|\s+)#\s.*$/, '').trim())
    .filter((line) => line !== '');
}

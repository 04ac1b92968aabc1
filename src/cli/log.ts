/** `leasehold log tail`: the newest entries of the log, and new ones as they become durable. */
import { Command, Option } from 'commander';
import { transportOf } from '../client/client.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { sleep } from '../client/sleep.ts';
import type { EntryRecord } from '../operations/records.ts';
import { ENTRY_TYPES, type EntryType } from '../protocol/entry-types.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { positiveNumber, wholeNumber } from './arguments.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { onEndingSignals } from './ending-signals.ts';
import { ENTRY_COLUMNS, entryLine } from './entries.ts';
import { answered, wrongUsage } from './failure.ts';
import type { Paint } from './format.ts';
import { paintOf, sayJsonLine, sayLines, showList } from './output.ts';
import type { Server, Shell } from './shell.ts';

const PAGE_ENTRIES = 500;
const NEWEST_LINES = 20;
/** The pause between two tries while the server does not answer. */
const AWAY_MS = 1_000;

interface TailOptions extends ServerOptions {
  readonly from?: number;
  readonly lines?: number;
  readonly follow?: boolean;
  readonly type?: EntryType[];
}

export function logCommand(shell: Shell): Command {
  return new Command('log').description('Read the log of a server.').addCommand(tailCommand(shell));
}

function tailCommand(shell: Shell): Command {
  return serverCommand('tail')
    .description('Print the newest entries of the log; with --follow also new ones.')
    .option('--from <seq>', 'begin at this position instead', wholeNumber)
    .option(
      '-n, --lines <n>',
      'how many to print: the newest (default: 20), or with --from the first from there on (default: all)',
      positiveNumber,
    )
    .addOption(
      new Option('--type <type...>', 'only entries of these types').choices(ENTRY_TYPES as EntryType[]),
    )
    .option('-f, --follow', 'print every entry as it becomes durable, until interrupted')
    .addHelpText(
      'after',
      examples(
        'leasehold log tail -f',
        'leasehold log tail -f --type IntentAccepted SessionChanged',
        'leasehold log tail --from 1 --json > log.ndjson',
        'leasehold log tail --from 19000 -n 2',
      ),
    )
    .action((options: TailOptions) => {
      const { type: types, lines, from } = options;
      if (from !== undefined && lines !== undefined && options.follow)
        throw wrongUsage('--follow prints every entry from --from on: leave out -n, or --from or --follow.');
      return withServer(shell, options, async (lh, server) => {
        const { seq, firstSeq } = await lh.status();
        if (from !== undefined) {
          if (options.follow) await follow(shell, lh, from, options, server);
          else await showList(shell, options, firstOf(pages(lh, from, seq, types), lines), ENTRY_COLUMNS);
          return;
        }
        const count = lines ?? NEWEST_LINES;
        if (types !== undefined) {
          const newest = await newestOf(pages(lh, firstSeq, seq, types), count);
          await show(shell, lh, newest, seq + 1, options, server);
          return;
        }
        const newestFrom = Math.max(firstSeq, seq - count + 1);
        if (options.follow) await follow(shell, lh, newestFrom, options, server);
        else await showList(shell, options, pages(lh, newestFrom, seq, types), ENTRY_COLUMNS);
      });
    });
}

/** Up to the end of the log at the start, so that a growing log ends too. */
async function* pages(
  lh: Leasehold,
  from: number,
  last: number,
  types: EntryType[] | undefined,
): AsyncGenerator<readonly EntryRecord[]> {
  const only = types === undefined ? {} : { types };
  for (let next = from; next <= last; ) {
    const { entries } = answered(await transportOf(lh).log({ from: next, limit: PAGE_ENTRIES, ...only }));
    const newest = entries.at(-1);
    if (newest === undefined) return;
    yield entries.filter(({ seq }) => seq <= last);
    next = newest.seq + 1;
  }
}

async function* firstOf(
  all: AsyncIterable<readonly EntryRecord[]>,
  count = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly EntryRecord[]> {
  let left = count;
  for await (const entries of all) {
    yield entries.slice(0, left);
    left -= entries.length;
    if (left <= 0) return;
  }
}

/** The log can only be read forwards, so finding the newest entries of a type reads all of it. */
async function newestOf(
  all: AsyncIterable<readonly EntryRecord[]>,
  count: number,
): Promise<readonly EntryRecord[]> {
  let newest: readonly EntryRecord[] = [];
  for await (const entries of all) newest = [...newest, ...entries].slice(-count);
  return newest;
}

async function show(
  shell: Shell,
  lh: Leasehold,
  newest: readonly EntryRecord[],
  nextSeq: number,
  options: TailOptions,
  server: Server,
): Promise<void> {
  if (!options.follow) {
    await showList(shell, options, [newest], ENTRY_COLUMNS);
    return;
  }
  const paint = paintOf(shell);
  for (const entry of newest) say(shell, entry, paint, options);
  await follow(shell, lh, nextSeq, options, server);
}

/** Until interrupted: a server that has answered before may come back. */
async function follow(
  shell: Shell,
  lh: Leasehold,
  from: number,
  options: TailOptions,
  { url }: Server,
): Promise<void> {
  const { type: types } = options;
  const paint = paintOf(shell);
  const ends = new AbortController();
  onEndingSignals(shell, options, { asked: () => ends.abort() });
  // Nothing else keeps the process alive between two entries.
  const hold = shell.timers.hold();
  let next = from;
  let isAway = false;
  try {
    while (!ends.signal.aborted) {
      try {
        const only = types === undefined ? {} : { types };
        for await (const entry of transportOf(lh).follow(next, ends.signal, only)) {
          say(shell, entry, paint, options);
          next = entry.seq + 1;
          isAway = false;
        }
      } catch (fault) {
        if (ends.signal.aborted) return;
        if (!(fault instanceof LeaseholdError && fault.retryable)) throw fault;
        if (!isAway && !options.json) {
          shell.err.write(`leasehold: ${url} does not answer; continuing when it does.\n`);
        }
        isAway = true;
        await sleep(shell.timers, AWAY_MS, ends.signal);
      }
    }
  } finally {
    hold.cancel();
  }
}

function say(shell: Shell, entry: EntryRecord, paint: Paint, { json }: TailOptions): void {
  if (json) sayJsonLine(shell, entry);
  else sayLines(shell, [entryLine(entry, paint)]);
}

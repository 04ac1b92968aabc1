/** `leasehold log tail`: the newest entries of the log, and those to come. */
import { Command } from 'commander';
import type { Leasehold } from '../client/leasehold.ts';
import type { EntryRecord } from '../protocol/replies.ts';
import { positiveNumber, wholeNumber } from './arguments.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { ENTRY_COLUMNS, entryLine } from './entries.ts';
import { answered } from './failure.ts';
import { paintOf, sayJson, sayLines, showList } from './output.ts';
import type { Shell } from './shell.ts';

const PAGE_ENTRIES = 500;

interface TailOptions extends ServerOptions {
  readonly from?: number;
  readonly lines: number;
  readonly follow?: boolean;
}

export function logCommand(shell: Shell): Command {
  return new Command('log').description('Read the log of a server.').addCommand(tailCommand(shell));
}

function tailCommand(shell: Shell): Command {
  return serverCommand('tail')
    .description('Print the newest entries of the log; with --follow also those to come.')
    .option('--from <seq>', 'begin at this position instead', wholeNumber)
    .option('-n, --lines <n>', 'how many of the newest to print', positiveNumber, 20)
    .option('-f, --follow', 'go on with every entry as it becomes durable, until interrupted')
    .addHelpText(
      'after',
      examples('leasehold log tail -f', 'leasehold log tail --from 1 --json > log.ndjson'),
    )
    .action((options: TailOptions) =>
      withServer(shell, options, async (lh) => {
        const { seq, first_seq } = await lh.status();
        const from = options.from ?? Math.max(first_seq, seq - options.lines + 1);
        if (options.follow) await follow(shell, lh, from, options);
        else await showList(shell, options, pages(lh, from, seq), ENTRY_COLUMNS);
      }),
    );
}

/** Until the end that was there when we began: a log that grows all the time still ends. */
async function* pages(lh: Leasehold, from: number, last: number): AsyncGenerator<readonly EntryRecord[]> {
  for (let next = from; next <= last; ) {
    const { entries } = answered(await lh.log({ from: next, limit: PAGE_ENTRIES }));
    const newest = entries.at(-1);
    if (newest === undefined) return;
    yield entries.filter(({ seq }) => seq <= last);
    next = newest.seq + 1;
  }
}

async function follow(shell: Shell, lh: Leasehold, from: number, { json }: TailOptions): Promise<void> {
  const paint = paintOf(shell);
  const ends = new AbortController();
  const unhear = shell.processes.onSignals(['SIGINT', 'SIGTERM'], () => ends.abort());
  // Nothing else may keep us alive between two entries.
  const hold = shell.timers.hold();
  try {
    for await (const entry of lh.follow({ from, signal: ends.signal })) {
      if (json) sayJson(shell, entry);
      else sayLines(shell, [entryLine(entry, paint)]);
    }
  } catch (fault) {
    if (!ends.signal.aborted) throw fault;
  } finally {
    hold.cancel();
    unhear();
  }
}

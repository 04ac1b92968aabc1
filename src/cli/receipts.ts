/**
 * `leasehold receipts`: the evidence of refused writes. With --json it is one JSON document, `{"receipts": […]}`, on
 * standard output; with --output it is written to a file, because evidence that a restart forgets must be kept.
 */
import { type Command, Option } from 'commander';
import { WRITE_REFUSALS } from '../operations/fenced-writes.ts';
import type { ReceiptRecord } from '../operations/records.ts';
import { limitOption } from './arguments.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { answered } from './failure.ts';
import { ago, visible } from './format.ts';
import { type Columns, sayJson, sayLines, showList } from './output.ts';
import type { Shell } from './shell.ts';

const EVIDENCE = 'fencing_rejection_receipts.json';

interface ReceiptOptions extends ServerOptions {
  readonly object?: string;
  readonly code?: (typeof WRITE_REFUSALS)[number];
  readonly limit: number;
  /** True without a name. */
  readonly output?: string | true;
  readonly out?: string;
}

export function receiptsCommand(shell: Shell): Command {
  return (
    serverCommand('receipts')
      .description('Show refused writes, newest first. They are kept in memory only: a restart forgets them.')
      .option('--object <name>', 'only writes to this object')
      .addOption(new Option('--code <code>', 'only refused with this code').choices(WRITE_REFUSALS))
      .addOption(limitOption(1_000))
      .option('--output [file]', `write them to this file as JSON (${EVIDENCE} unless named)`)
      // The former name of --output, kept for one release.
      .addOption(new Option('--out <file>', 'the same').hideHelp())
      .addHelpText(
        'after',
        examples(
          'leasehold receipts --code WRITE_STALE_FENCE',
          'leasehold receipts --json',
          'leasehold receipts --output evidence.json',
        ),
      )
      .action((options: ReceiptOptions) =>
        withServer(shell, options, async (lh) => {
          const { object, code, limit } = options;
          const file = fileOf(options);
          const { receipts } = answered(
            await lh.call('receipt.list', {
              limit,
              ...(object === undefined ? {} : { object_id: object }),
              ...(code === undefined ? {} : { code }),
            }),
          );
          // Shown first: where no file can be written the evidence is at least on the screen.
          if (options.json || file === '-') sayJson(shell, { receipts });
          if (file !== null && file !== '-') {
            await shell.files.write(file, `${JSON.stringify({ receipts }, null, 2)}\n`);
            if (!options.json) sayLines(shell, [`${receipts.length} receipts are in ${visible(file)}.`]);
          }
          if (options.json || file !== null) return;
          await showList(shell, options, [receipts], receiptColumns(shell, options));
        }),
      )
  );
}

/** Where they are written; `-` is standard output, null is no file. */
function fileOf({ output, out }: ReceiptOptions): string | null {
  const named = output ?? out ?? null;
  return named === true ? EVIDENCE : named;
}

function receiptColumns({ clock }: Shell, { object, code }: ReceiptOptions): Columns<ReceiptRecord> {
  const isAny = object === undefined && code === undefined;
  return {
    head: ['AT', 'CODE', 'OBJECT', 'PRESENTED', 'FENCE', 'HOLDER', 'REQUEST'],
    cells: (receipt, paint) => [
      ago(receipt.at, clock.wallMs()),
      paint.red(receipt.code),
      visible(receipt.object_id),
      String(receipt.presented_lease_seq ?? '-'),
      String(receipt.current_fence),
      visible(receipt.holder_id ?? '-'),
      visible(receipt.requestId ?? '-'),
    ],
    none: isAny ? 'No write has been refused.' : 'No such write has been refused.',
  };
}

/**
 * `leasehold receipts`: the evidence of refused writes. With --json it is one JSON document, `{"receipts": […]}`,
 * printed and also kept as `fencing_rejection_receipts.json`, because evidence that a restart forgets must be kept.
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
  readonly out?: string;
}

export function receiptsCommand(shell: Shell): Command {
  return serverCommand('receipts')
    .description(
      'Show the writes that were refused, newest first. Evidence, not truth: a restart forgets it.',
    )
    .option('--object <name>', 'only writes to this object')
    .addOption(new Option('--code <code>', 'only refused with this code').choices(WRITE_REFUSALS))
    .addOption(limitOption(1_000))
    .option(
      '--out <file>',
      `write them there as JSON; - for standard output (with --json: ${EVIDENCE} unless given)`,
    )
    .addHelpText(
      'after',
      examples(
        'leasehold receipts --code WRITE_STALE_FENCE',
        'leasehold receipts --json --out evidence.json',
      ),
    )
    .action((options: ReceiptOptions) =>
      withServer(shell, options, async (lh) => {
        const { object, code, limit } = options;
        const out = options.out ?? (options.json ? EVIDENCE : undefined);
        const { receipts } = answered(
          await lh.call('receipt.list', {
            limit,
            ...(object === undefined ? {} : { object_id: object }),
            ...(code === undefined ? {} : { code }),
          }),
        );
        // Shown first: where no file can be written the evidence is at least on the screen.
        if (options.json || out === '-') sayJson(shell, { receipts });
        if (out === '-') return;
        if (out !== undefined) await shell.files.write(out, `${JSON.stringify({ receipts }, null, 2)}\n`);
        if (options.json) return;
        if (out !== undefined) sayLines(shell, [`${receipts.length} receipts are in ${visible(out)}.`]);
        else await showList(shell, options, [receipts], receiptColumns(shell, options));
      }),
    );
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

/**
 * `leasehold postgres relay`, which turns the rows of an outbox into tasks, and `leasehold postgres outbox`, which shows
 * what is in it and settles rows that the relay has parked.
 */
import type { Command } from 'commander';
import { atMost } from '../keeper/at-most.ts';
import {
  dropParked,
  type OutboxReport,
  outboxReport,
  type ParkedRow,
  resendParked,
} from '../postgres/outbox-rows.ts';
import { RunningRelay } from '../postgres/relay.ts';
import { loadPg } from '../world/pg-connections.ts';
import { boundedMs, defaulted, positiveNumber } from './arguments.ts';
import { examples, probeCommand, type ServerOptions, withServer } from './connection.ts';
import {
  addressOf,
  connectionFailure,
  databaseCommand,
  OUTBOX_MISSING,
  type PostgresOptions,
  SILENCE_SECONDS,
  statementFailure,
  URL_EXAMPLE,
  urlHelp,
  withDatabase,
} from './database.ts';
import { onEndingSignals } from './ending-signals.ts';
import { Failure } from './failure.ts';
import { duration, tableLines, visible } from './format.ts';
import { sayJsonLine, show } from './output.ts';
import type { Shell } from './shell.ts';

/** How long a relay that is done waits for its connections to close. A silent database closes none. */
const CLOSE_MS = 1_000;

interface RelayOptions extends PostgresOptions, ServerOptions {
  readonly name?: string;
  readonly batch: number;
  readonly poll: number;
}

interface OutboxOptions extends PostgresOptions {
  readonly send?: string;
  readonly drop?: string;
}

export function relayCommand(shell: Shell): Command {
  return probeCommand('relay')
    .description('Turn each committed row of the outbox into exactly one task, until it is told to stop.')
    .option('--url <url>', urlHelp('DATABASE_URL'))
    .option(
      '--name <name>',
      'the lease that lets only one relay run at a time (default: outbox:DATABASE.SCHEMA)',
    )
    .addOption(
      defaulted('--batch <number>', 'the maximum number of rows sent at once', positiveNumber, 500, '500'),
    )
    .addOption(
      defaulted(
        '--poll <duration>',
        'how often it polls for rows that arrived without a notification',
        boundedMs(10, 3_600_000),
        1_000,
        '1s',
      ),
    )
    .addHelpText('after', examples(`leasehold postgres relay --url ${URL_EXAMPLE}`))
    .action((options: RelayOptions) => relayUntilStopped(shell, options));
}

async function relayUntilStopped(shell: Shell, options: RelayOptions): Promise<void> {
  const url = addressOf(shell, options, 'DATABASE_URL');
  const { Pool } = await loadPg().catch((fault: unknown) => {
    throw connectionFailure(url, fault) ?? fault;
  });
  // One connection listens, one works, one is a spare.
  const pool = new Pool({
    connectionString: url,
    application_name: 'leasehold relay',
    max: 3,
    // A silent connection would not come back to the pool.
    query_timeout: SILENCE_SECONDS * 1_000,
    connectionTimeoutMillis: SILENCE_SECONDS * 1_000,
    keepAlive: true,
  });
  // A cut connection fails the running statement, which is retried.
  pool.on('error', () => undefined);
  const { name, batch, poll, json } = options;
  const note = (line: string): void => shell.err.write(`leasehold: ${line}\n`);
  let isRetrying = false;
  try {
    await withServer(shell, options, async (lh) => {
      const relay = new RunningRelay(
        pool,
        lh,
        {
          ...(name === undefined ? {} : { name }),
          batch,
          poll,
          onParked(row) {
            if (json) sayJsonLine(shell, bodyOf(row));
            note(`${visible(row.taskId)} is parked, ${row.state}: ${visible(row.reason)}`);
          },
          onRetry(fault) {
            if (!isRetrying)
              note(`Trying again: ${visible(fault instanceof Error ? fault.message : String(fault))}`);
            isRetrying = true;
          },
          onActive(lease) {
            isRetrying = false;
            note(`Relaying under the lease ${visible(lease)}.`);
          },
          onFault: () => undefined,
        },
        { timers: shell.timers, onFault: () => undefined },
      );
      onEndingSignals(shell, options, { asked: () => void relay.drain() });
      await relay.done.catch((fault: unknown) => {
        throw connectionFailure(url, fault) ?? statementFailure(fault, OUTBOX_MISSING);
      });
      const { relayed, inDoubt, refused } = relay.counts;
      show(shell, options, { relayed, in_doubt: inDoubt, refused }, () => [
        `${relayed} relayed, ${inDoubt} in doubt, ${refused} refused.`,
      ]);
    });
  } finally {
    await atMost(shell.timers, CLOSE_MS, pool.end());
    shell.endWhenDone();
  }
}

const bodyOf = ({ taskId, ...row }: ParkedRow): object => ({ task_id: taskId, ...row });

export function outboxCommand(shell: Shell, postgres: Command): void {
  databaseCommand(postgres, 'outbox', 'DATABASE_URL')
    .description('Show how many rows wait in the outbox and which rows are parked, or settle a parked row.')
    .option('--send <task-id>', 'send this parked row as if it had never been sent')
    .option('--drop <task-id>', 'delete this parked row')
    .action(async (options: OutboxOptions) => {
      await withDatabase(
        shell,
        options,
        async (db) => {
          for (const [taskId, settle] of [
            [options.send, resendParked],
            [options.drop, dropParked],
          ] as const) {
            if (taskId !== undefined && !(await settle(db, taskId)))
              throw new Failure(`The outbox has no parked row ${visible(taskId)}.`);
          }
          report(shell, options, await outboxReport(db));
        },
        OUTBOX_MISSING,
      );
    });
}

function report(shell: Shell, options: OutboxOptions, { counts, oldestMs, parked }: OutboxReport): void {
  const { WAITING, IN_DOUBT, REFUSED } = counts;
  const body = {
    waiting: WAITING,
    in_doubt: IN_DOUBT,
    refused: REFUSED,
    oldest_ms: oldestMs,
    parked: parked.map(bodyOf),
  };
  show(shell, options, body, () => [
    `${WAITING} waiting${oldestMs === null ? '' : `, the oldest for ${duration(oldestMs)}`}, ${IN_DOUBT} in doubt, ${REFUSED} refused.`,
    ...(parked.length === 0
      ? []
      : tableLines([
          ['TASK', 'QUEUE', 'STATE', 'REASON'],
          ...parked.map((row) => [row.taskId, row.queue, row.state, row.reason].map(visible)),
        ])),
  ]);
}

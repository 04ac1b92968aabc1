/**
 * `leasehold postgres`: the leases of seed 001 and the outbox in a database of your own, and repair of a log in a database.
 */
import { Command } from 'commander';
import { LogHeldError } from '../engines/log.ts';
import { postgresEngine } from '../engines/postgres/postgres-engine.ts';
import { markRestored, type RestoredRows } from '../engines/postgres/restore.ts';
import { MIGRATION_019, migrate, rollback } from '../postgres/migration.ts';
import { MIGRATION_020, migrateOutbox, rollbackOutbox } from '../postgres/outbox-migration.ts';
import { type ProbeReport, probe } from '../postgres/probe.ts';
import { pgConnections } from '../world/pg-connections.ts';
import { aboveOption } from './arguments.ts';
import {
  addressOf,
  connectionFailure,
  databaseCommand,
  type PostgresOptions,
  statementFailure,
  withDatabase,
} from './database.ts';
import { EXIT, Failure } from './failure.ts';
import { show } from './output.ts';
import { outboxCommand, relayCommand } from './postgres-outbox.ts';
import type { Shell } from './shell.ts';

interface MigrateOptions extends PostgresOptions {
  /** The outbox instead of the leases. */
  readonly outbox?: boolean;
}

interface RollbackOptions extends MigrateOptions {
  readonly force?: boolean;
}

interface RestoredOptions extends PostgresOptions {
  readonly above?: number;
  readonly allowFsyncOff?: boolean;
}

export function postgresCommand(shell: Shell): Command {
  const postgres = new Command('postgres').description(
    'Keep leases and an outbox in your own Postgres, or repair a log in one.',
  );
  databaseCommand(postgres, 'migrate', 'DATABASE_URL')
    .description(
      'Install migration 019: the table of leases, its sequence and three functions. Safe to repeat.',
    )
    .option('--outbox', 'install migration 020 instead: the outbox of `enqueueIn`')
    .action(async (options: MigrateOptions) => {
      await withDatabase(shell, options, options.outbox ? migrateOutbox : migrate);
      const { name } = migrationOf(options);
      show(shell, options, { migration: name, installed: true }, () => [`Migration ${name} is installed.`]);
    });
  databaseCommand(postgres, 'rollback', 'DATABASE_URL')
    .description(
      'Remove migration 019 again, with all leases. Refused while an OperatorRuntime run holds its lease. Safe to repeat.',
    )
    .option('--outbox', 'remove migration 020 instead; refused while the outbox has rows')
    .option(
      '--force',
      'roll back even then: the gates of such a run are closed first, and rows of the outbox are lost',
    )
    .action(async (options: RollbackOptions) => {
      const back = options.outbox ? rollbackOutbox : rollback;
      await withDatabase(shell, options, (connection) => back(connection, options));
      const { name } = migrationOf(options);
      show(shell, options, { migration: name, installed: false }, () => [
        `Migration ${name} is rolled back.`,
      ]);
    });
  databaseCommand(postgres, 'probe', 'DATABASE_URL')
    .description(
      'Run the tests T1 to T7 on the installed functions, inside a transaction that is rolled back.',
    )
    .action(async (options: PostgresOptions) => {
      report(shell, options, await withDatabase(shell, options, probe));
    });
  databaseCommand(postgres, 'restored', 'LEASEHOLD_ENGINE')
    .description(
      'Continue a log in a database that has lost its newest rows: every lease ends, and no fencing number is granted twice.',
    )
    .addOption(aboveOption())
    .option('--allow-fsync-off', 'write to a database that runs with fsync=off and may lose everything')
    .action(async (options: RestoredOptions) => {
      const { lastSeq, seq, epoch } = await restored(shell, options);
      show(shell, options, { last_seq: lastSeq, seq, epoch }, () => [
        `The log went up to seq ${lastSeq}; it continues at ${seq}, in epoch ${epoch}. Every lease has ended.`,
      ]);
    });
  postgres.addCommand(relayCommand(shell));
  outboxCommand(shell, postgres);
  return postgres;
}

const migrationOf = ({ outbox }: MigrateOptions) => (outbox ? MIGRATION_020 : MIGRATION_019);

async function restored(shell: Shell, options: RestoredOptions): Promise<RestoredRows> {
  const { above, allowFsyncOff = false } = options;
  const url = addressOf(shell, options, 'LEASEHOLD_ENGINE');
  const engine = postgresEngine({
    connections: pgConnections(url),
    world: shell,
    holder: `leasehold postgres restored, ${shell.label}`,
    allowFsyncOff,
    mayCreate: false,
    isRestored: true,
  });
  try {
    return await markRestored(engine, above);
  } catch (fault) {
    if (fault instanceof LogHeldError) {
      const sentence = `The log is in use by ${fault.holder}: stop every server of this database first.`;
      throw new Failure(sentence, EXIT.inUse);
    }
    throw connectionFailure(url, fault) ?? statementFailure(fault);
  }
}

function report(shell: Shell, options: PostgresOptions, report: ProbeReport): void {
  const { passed, total, tests } = report;
  show(shell, options, report, (paint) => [
    ...tests.map(
      (test) => `${test.name}  ${test.passed ? paint.green('ok    ') : paint.red('FAILED')}  ${test.says}`,
    ),
    `${passed}/${total}`,
  ]);
  if (passed < total)
    throw new Failure(`${total - passed} of ${total} tests failed: do not rely on these leases.`);
}

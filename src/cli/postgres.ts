/**
 * `leasehold postgres`: the leases of seed 001 in a database of your own, and repair of a log in a database. It needs
 * `pg`, an optional peer dependency.
 */
import { Command } from 'commander';
import { LogHeldError } from '../engines/log.ts';
import { postgresEngine } from '../engines/postgres/postgres-engine.ts';
import { markRestored, type RestoredRows } from '../engines/postgres/restore.ts';
import type { Queryable } from '../postgres/database.ts';
import { MIGRATION_019, migrate, rollback } from '../postgres/migration.ts';
import { type ProbeReport, probe } from '../postgres/probe.ts';
import { loadPg, PgMissingError, pgConnections } from '../world/pg-connections.ts';
import { aboveOption } from './arguments.ts';
import { examples } from './connection.ts';
import { EXIT, Failure, wrongUsage } from './failure.ts';
import { show } from './output.ts';
import { isAway } from './serve-database.ts';
import type { Shell } from './shell.ts';

interface PostgresOptions {
  readonly url?: string;
  readonly json?: boolean;
}

interface RollbackOptions extends PostgresOptions {
  readonly force?: boolean;
}

interface RestoredOptions extends PostgresOptions {
  readonly above?: number;
  readonly allowFsyncOff?: boolean;
}

type Connection = import('pg').Client;

/** Every statement here is short. One that waits this long for a lock fails, so that the operator can look at the lock. */
const SILENCE_SECONDS = 30;

const URL_EXAMPLE = 'postgres://me@127.0.0.1:5432/mine';

/** The database of your own program, and the one that `serve --engine` keeps its log in: rarely the same. */
type Variable = 'DATABASE_URL' | 'LEASEHOLD_ENGINE';

export function postgresCommand(shell: Shell): Command {
  const postgres = new Command('postgres').description(
    'Keep leases in your own Postgres, or repair a log in one.',
  );
  databaseCommand(postgres, 'migrate', 'DATABASE_URL')
    .description(
      'Install migration 019: the table of leases, its sequence and three functions. May be repeated.',
    )
    .action(async (options: PostgresOptions) => {
      await withDatabase(shell, options, migrate);
      const body = { migration: MIGRATION_019.name, installed: true };
      show(shell, options, body, () => [`Migration ${MIGRATION_019.name} is installed.`]);
    });
  databaseCommand(postgres, 'rollback', 'DATABASE_URL')
    .description(
      'Remove migration 019 again, with all leases. Refused while an OperatorRuntime run holds its lease. May be repeated.',
    )
    .option('--force', 'roll back under such a run as well; its gates are closed first')
    .action(async (options: RollbackOptions) => {
      await withDatabase(shell, options, (connection) => rollback(connection, options));
      const body = { migration: MIGRATION_019.name, installed: false };
      show(shell, options, body, () => [`Migration ${MIGRATION_019.name} is rolled back.`]);
    });
  databaseCommand(postgres, 'probe', 'DATABASE_URL')
    .description(
      'Ask the installed functions T1 to T7 of the seed, inside a transaction that is rolled back.',
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
  return postgres;
}

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

function databaseCommand(parent: Command, name: string, variable: Variable): Command {
  return parent
    .command(name)
    .option('--url <url>', `the database, for example ${URL_EXAMPLE} (${variable})`)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples(`leasehold postgres ${name} --url ${URL_EXAMPLE}`));
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

async function withDatabase<T>(
  shell: Shell,
  options: PostgresOptions,
  work: (connection: Queryable) => Promise<T>,
): Promise<T> {
  const url = addressOf(shell, options, 'DATABASE_URL');
  const { Client } = await loadPg().catch((fault: unknown) => {
    throw connectionFailure(url, fault) ?? fault;
  });
  const client = new Client({ connectionString: url, application_name: 'leasehold' });
  // A cut connection fails the running statement, which reports it.
  client.on('error', () => undefined);
  const limit = new AnswerLimit(shell, client);
  try {
    await limit.with(client.connect());
  } catch (fault) {
    // A connection that still waits for a password would keep the process alive.
    client.end().catch(() => undefined);
    throw noConnection(url, limit.fault ?? fault);
  }
  try {
    return await work({ query: (text, values) => limit.with(client.query(text, values)) });
  } catch (fault) {
    if (limit.fault === null) throw connectionFailure(url, fault) ?? statementFailure(fault);
    throw new Failure(
      `No answer from ${named(url)} for ${SILENCE_SECONDS} s; what was asked of it may still be carried out.`,
    );
  } finally {
    await client.end();
  }
}

/** Cuts the connection to a silent database, and keeps the reason why everything on it has failed. */
class AnswerLimit {
  fault: Error | null = null;
  private readonly shell: Shell;
  private readonly client: Connection;

  constructor(shell: Shell, client: Connection) {
    this.shell = shell;
    this.client = client;
  }

  async with<T>(answer: Promise<T>): Promise<T> {
    const timer = this.shell.timers.after(SILENCE_SECONDS * 1_000, () => {
      this.fault = new Error(`no answer for ${SILENCE_SECONDS} s`);
      this.client.connection.stream.destroy(this.fault);
    });
    return answer.finally(() => timer.cancel());
  }
}

function addressOf({ env }: Shell, options: PostgresOptions, variable: Variable): string {
  const url = options.url ?? (env[variable] || null);
  if (url === null) throw wrongUsage(`No database is named; give --url ${URL_EXAMPLE} or set ${variable}.`);
  // The value is not repeated: it may contain a password.
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return url;
  const source = options.url === undefined ? variable : '--url';
  throw wrongUsage(`${source} is not the URL of a Postgres database; it looks like ${URL_EXAMPLE}.`);
}

/** A fault of the connection in one sentence; null for any other fault. */
function connectionFailure(url: string, fault: unknown): Failure | null {
  if (fault instanceof PgMissingError) return new Failure(fault.message);
  const { syscall } = Object(fault) as { readonly syscall?: unknown };
  return isAway(fault) || syscall !== undefined ? noConnection(url, fault) : null;
}

const named = (url: string): string => new URL(url).host || 'the database';

const noConnection = (url: string, fault: unknown): Failure =>
  new Failure(`No connection to ${named(url)}: ${reasonOf(fault)}.`);

/** When several addresses were tried, the fault is an AggregateError, and only its parts have messages. */
function reasonOf(fault: unknown): string {
  const [first = fault] = fault instanceof AggregateError ? fault.errors : [];
  return (first instanceof Error ? first.message : String(first)).replace(/\.$/, '');
}

const NOT_INSTALLED = ['42883', '42P01'];
const IN_USE = '55006';

/** The database's error for a statement in one sentence; any other fault is a bug. */
function statementFailure(fault: unknown): unknown {
  const { code, severity, hint } = Object(fault) as Readonly<Record<'code' | 'severity' | 'hint', unknown>>;
  if (NOT_INSTALLED.includes(String(code))) {
    return new Failure(
      `Migration ${MIGRATION_019.name} is not installed in this database; install it with \`leasehold postgres migrate\`.`,
    );
  }
  if (severity === undefined) return fault;
  const advice = hint === undefined ? '' : ` ${String(hint)}`;
  const exitCode = code === IN_USE ? EXIT.inUse : EXIT.failed;
  return new Failure(`Postgres refused: ${reasonOf(fault)} (${String(code)}).${advice}`, exitCode);
}

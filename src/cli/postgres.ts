/**
 * `leasehold postgres`: the leases of seed 001 in a database of yours. It is the only part of leasehold that loads `pg`,
 * which is not installed with us: whoever keeps leases in Postgres has it already.
 */
import { Command } from 'commander';
import { MIGRATION_019, migrate, rollback } from '../postgres/migration.ts';
import { type ProbeReport, probe } from '../postgres/probe.ts';
import { examples } from './connection.ts';
import { Failure, wrongUsage } from './failure.ts';
import { show } from './output.ts';
import type { Shell } from './shell.ts';

interface PostgresOptions {
  readonly url: string;
  readonly json?: boolean;
}

type Connection = import('pg').Client;

const URL_EXAMPLE = 'postgres://me@127.0.0.1:5432/mine';

export function postgresCommand(shell: Shell): Command {
  const postgres = new Command('postgres').description(
    'Keep leases in a Postgres of your own: install, remove and probe them.',
  );
  databaseCommand(postgres, 'migrate')
    .description(
      'Install migration 019: the table of leases, its sequence and three functions. May be repeated.',
    )
    .action(async (options: PostgresOptions) => {
      await withDatabase(options, migrate);
      const body = { migration: MIGRATION_019.name, installed: true };
      show(shell, options, body, () => [`Migration ${MIGRATION_019.name} is installed.`]);
    });
  databaseCommand(postgres, 'rollback')
    .description('Remove migration 019 again, with all leases, live ones included. May be repeated.')
    .action(async (options: PostgresOptions) => {
      await withDatabase(options, rollback);
      const body = { migration: MIGRATION_019.name, installed: false };
      show(shell, options, body, () => [`Migration ${MIGRATION_019.name} is rolled back.`]);
    });
  databaseCommand(postgres, 'probe')
    .description(
      'Ask the installed functions T1 to T7 of the seed, inside a transaction that is rolled back.',
    )
    .action(async (options: PostgresOptions) => {
      report(shell, options, await withDatabase(options, probe));
    });
  return postgres;
}

function databaseCommand(parent: Command, name: string): Command {
  return parent
    .command(name)
    .requiredOption('--url <url>', `the database, for example ${URL_EXAMPLE}`)
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
  { url }: PostgresOptions,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  // What was given is not repeated: there may be a password in it.
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    throw wrongUsage(`--url is not the URL of a Postgres database; it looks like ${URL_EXAMPLE}.`);
  }
  const { Client } = await loadPg();
  const client = new Client({ connectionString: url, application_name: 'leasehold' });
  // A connection that is cut fails the statement that runs, which says so.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (fault) {
    throw new Failure(`No connection to ${new URL(url).host || 'the database'}: ${reasonOf(fault)}.`);
  }
  try {
    return await work(client);
  } catch (fault) {
    throw statementFailure(fault);
  } finally {
    await client.end();
  }
}

async function loadPg(): Promise<{ readonly Client: typeof import('pg').Client }> {
  try {
    return (await import('pg')).default;
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw fault;
    throw new Failure('The package pg is needed to talk to Postgres; install it with `npm install pg`.');
  }
}

/** Several addresses may have been tried; then the fault itself says nothing, and what it is made of does. */
function reasonOf(fault: unknown): string {
  const [first = fault] = fault instanceof AggregateError ? fault.errors : [];
  return (first instanceof Error ? first.message : String(first)).replace(/\.$/, '');
}

const NOT_INSTALLED = ['42883', '42P01'];

/** What the server says against a statement, in one sentence; anything else is a bug of ours. */
function statementFailure(fault: unknown): unknown {
  const { code, severity } = Object(fault) as { readonly code?: unknown; readonly severity?: unknown };
  if (NOT_INSTALLED.includes(String(code))) {
    return new Failure(
      `Migration ${MIGRATION_019.name} is not installed in this database; install it with \`leasehold postgres migrate\`.`,
    );
  }
  return severity === undefined
    ? fault
    : new Failure(`Postgres refused: ${reasonOf(fault)} (${String(code)}).`);
}

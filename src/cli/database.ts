/**
 * Commands that talk to a Postgres of the user: which one, the connection while they run, and what it means when it
 * fails. It needs `pg`, an optional peer dependency.
 */
import type { Command } from 'commander';
import type { Queryable } from '../postgres/database.ts';
import { loadPg, PgMissingError } from '../world/pg-connections.ts';
import { examples } from './connection.ts';
import { EXIT, Failure, wrongUsage } from './failure.ts';
import { isAway } from './serve-database.ts';
import type { Shell } from './shell.ts';

export interface PostgresOptions {
  readonly url?: string;
  readonly json?: boolean;
}

type Connection = import('pg').Client;

/** Every statement here is short. One that waits this long for a lock fails, so that the operator can look at the lock. */
export const SILENCE_SECONDS = 30;

export const URL_EXAMPLE = 'postgres://me@127.0.0.1:5432/mine';

/** The database of your own program, and the one that `serve --engine` keeps its log in: rarely the same. */
export type Variable = 'DATABASE_URL' | 'LEASEHOLD_ENGINE';

export const urlHelp = (variable: Variable): string =>
  `the database, for example ${URL_EXAMPLE} (${variable})`;

export function databaseCommand(parent: Command, name: string, variable: Variable): Command {
  return parent
    .command(name)
    .option('--url <url>', urlHelp(variable))
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples(`leasehold postgres ${name} --url ${URL_EXAMPLE}`));
}

export async function withDatabase<T>(
  shell: Shell,
  options: PostgresOptions,
  work: (connection: Queryable) => Promise<T>,
  missing?: string,
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
    if (limit.fault === null) throw connectionFailure(url, fault) ?? statementFailure(fault, missing);
    throw new Failure(
      `No answer from ${named(url)} for ${SILENCE_SECONDS} s; the statement may still take effect.`,
    );
  } finally {
    await client.end();
  }
}

/** Cuts the connection to a silent database, and keeps the reason why its statements fail. */
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

export function addressOf({ env }: Shell, options: PostgresOptions, variable: Variable): string {
  const url = options.url ?? (env[variable] || null);
  if (url === null) throw wrongUsage(`No database is named; give --url ${URL_EXAMPLE} or set ${variable}.`);
  // The value is not repeated: it may contain a password.
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return url;
  const source = options.url === undefined ? variable : '--url';
  throw wrongUsage(`${source} is not the URL of a Postgres database; it looks like ${URL_EXAMPLE}.`);
}

/** A fault of the connection in one sentence; null for any other fault. */
export function connectionFailure(url: string, fault: unknown): Failure | null {
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

const LEASES_MISSING =
  'Migration 019 is not installed in this database; install it with `leasehold postgres migrate`.';
export const OUTBOX_MISSING =
  'The outbox is not installed in this database; install it with `leasehold postgres migrate --outbox`.';
const NOT_INSTALLED = ['42883', '42P01'];
const IN_USE = '55006';

/** The database's error for a statement in one sentence; any other fault is a bug. */
export function statementFailure(fault: unknown, missing = LEASES_MISSING): unknown {
  const { code, severity, hint } = Object(fault) as Readonly<Record<'code' | 'severity' | 'hint', unknown>>;
  if (NOT_INSTALLED.includes(String(code))) {
    return new Failure(missing);
  }
  if (severity === undefined) return fault;
  const advice = hint === undefined ? '' : ` ${String(hint)}`;
  const exitCode = code === IN_USE ? EXIT.inUse : EXIT.failed;
  return new Failure(`Postgres refused: ${reasonOf(fault)} (${String(code)}).${advice}`, exitCode);
}

/** `leasehold serve --engine postgres://…`: the log in a database, served by the holder of the guard. */
import { type Engine, LogOutOfReachError } from '../engines/log.ts';
import { postgresEngine } from '../engines/postgres/postgres-engine.ts';
import type { Served, ServeOptions, ServeWorld } from '../server/serve.ts';
import { serveInTurn } from '../server/serve-in-turn.ts';
import { nodeThreads } from '../world/node-threads.ts';
import { pgConnections } from '../world/pg-connections.ts';
import { thisProcess } from '../world/this-process.ts';
import { Failure, wrongUsage } from './failure.ts';
import type { Shell } from './shell.ts';

export interface DatabaseFlags {
  readonly data?: string;
  readonly engine?: string;
  readonly advertise?: string;
  readonly guardTtl?: number;
  readonly heartbeat?: number;
  readonly allowFsyncOff?: boolean;
}

export interface Database {
  readonly address: string;
  /** The address without its secrets. */
  readonly shown: string;
  readonly advertise: string | null;
  readonly guardTtlMs: number;
  readonly heartbeatMs: number;
  readonly allowFsyncOff: boolean;
}

const TTL_MS = 15_000;
const HEARTBEATS_A_TTL = 3;

/** The database options; null when the log is in a data directory. */
export function databaseOf({ env }: Pick<Shell, 'env'>, flags: DatabaseFlags): Database | null {
  // A directory on the command line takes precedence over a database from the environment.
  const address = flags.engine ?? ((flags.data === undefined && env.LEASEHOLD_ENGINE) || null);
  if (flags.engine !== undefined && flags.data !== undefined) {
    throw wrongUsage('The log is in a data directory or in a database: give --data or --engine, not both.');
  }
  if (address === null) {
    const option = [
      ['--advertise', flags.advertise],
      ['--guard-ttl', flags.guardTtl],
      ['--heartbeat', flags.heartbeat],
    ].find(([, value]) => value !== undefined)?.[0];
    if (option !== undefined) throw wrongUsage(`${option} applies to servers of a database; give --engine.`);
    return null;
  }
  // The value is not repeated: it may contain a password.
  if (!/^postgres(ql)?:\/\//.test(address) || !URL.canParse(address)) {
    throw wrongUsage('The engine is not the URL of a Postgres; it looks like postgres://user@host/database.');
  }
  const guardTtlMs = flags.guardTtl ?? TTL_MS;
  const heartbeatMs = flags.heartbeat ?? guardTtlMs / HEARTBEATS_A_TTL;
  if (!(heartbeatMs > 0) || guardTtlMs < heartbeatMs * HEARTBEATS_A_TTL) {
    throw wrongUsage(
      'The guard must last for at least three heartbeats: make --guard-ttl longer, or --heartbeat shorter.',
    );
  }
  return {
    address,
    shown: withoutSecrets(address),
    advertise: advertised(flags.advertise),
    guardTtlMs,
    heartbeatMs,
    allowFsyncOff: flags.allowFsyncOff ?? false,
  };
}

function advertised(url: string | undefined): string | null {
  if (url === undefined) return null;
  const parsed = /^https?:\/\/[^/]/.test(url) && URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || parsed.username !== '' || parsed.password !== '' || parsed.search !== '') {
    throw wrongUsage(
      'What is advertised must be the URL of this server, such as https://leasehold-1.example.org:7420.',
    );
  }
  return url.replace(/\/+$/, '');
}

function withoutSecrets(address: string): string {
  const { protocol, host, pathname } = new URL(address);
  return `${protocol}//${host}${pathname}`;
}

export async function serveDatabase(
  { address, advertise, guardTtlMs, heartbeatMs, allowFsyncOff }: Database,
  world: ServeWorld,
  options: ServeOptions,
): Promise<Served> {
  const engineAt = (url: string): Engine =>
    postgresEngine({
      connections: pgConnections(address),
      world,
      holder: thisProcess.label,
      url,
      guardTtlMs,
      guardHeartbeatMs: heartbeatMs,
      allowFsyncOff,
      threads: nodeThreads,
    });
  try {
    return await serveInTurn(engineAt, world, { ...options, ...(advertise === null ? {} : { advertise }) });
  } catch (fault) {
    throw databaseFailure(fault, address);
  }
}

/** Messages, without a code, of a connection that failed, was cut, or timed out. */
const CUT =
  /^(Connection terminated|timeout expired|Client was closed|Client has encountered|The database has not answered)/;

/** Whether the connection failed, and not a statement. */
export function isAway(fault: unknown): boolean {
  const { syscall, message } = Object(fault) as { syscall?: unknown; message?: unknown };
  if (fault instanceof AggregateError || fault instanceof LogOutOfReachError) return true;
  return ['connect', 'read', 'write'].includes(String(syscall)) || CUT.test(String(message));
}

/** Faults of `pg`, of the database and of the network do not name the database; this adds it. */
export function databaseFailure(fault: unknown, address: string): unknown {
  const { severity } = Object(fault) as { severity?: unknown };
  if (severity === undefined && !isAway(fault)) return fault;
  const [first = fault] = fault instanceof AggregateError ? fault.errors : [];
  const says = (first instanceof Error ? first.message : String(first)).replace(/\.$/, '');
  return new Failure(`The log in ${withoutSecrets(address)} cannot be opened: ${says}.`);
}

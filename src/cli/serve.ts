/** `leasehold serve`: the authority of a data directory or a database behind a port, until a signal ends it. */
import { Command, Option } from 'commander';
import { fileEngine } from '../engines/file/file-engine.ts';
import { HISTORY_BYTES_MAX, type HistoryLimits } from '../engines/file/kept-history.ts';
import { isDiskFull } from '../engines/file/write-fully.ts';
import type { Keeping, RetentionOptions } from '../open.ts';
import { connectionLimit } from '../server/connection-limit.ts';
import type { Logger } from '../server/logger.ts';
import { LOG_LEVELS, type LogLevel, makeLogger } from '../server/make-logger.ts';
import type { TokenGrant } from '../server/scopes.ts';
import { type Served, type ServeOptions, type ServeWorld, serve } from '../server/serve.ts';
import { nodeDiskProbe } from '../world/node-disk-probe.ts';
import { nodeFiles } from '../world/node-files.ts';
import { loopLag } from '../world/node-loop-lag.ts';
import { nodeThreads } from '../world/node-threads.ts';
import { openFilesMax } from '../world/open-files-max.ts';
import { systemIds } from '../world/system-ids.ts';
import { byteCount, directory, durationMs, wholeNumber } from './arguments.ts';
import { examples } from './connection.ts';
import { basePath, readConsole } from './console-files.ts';
import { onEndingSignals } from './ending-signals.ts';
import { EXIT, Failure, wrongUsage } from './failure.ts';
import { readIntents, warnOfShortSecrets } from './intent-variables.ts';
import { withVariables } from './option-variables.ts';
import { onReloadSignal, reloadAccess, SERVER_ENDS_ON } from './reload.ts';
import { type Database, type DatabaseFlags, databaseOf, serveDatabase } from './serve-database.ts';
import type { Shell } from './shell.ts';
import { readTls, type TlsFlags, tlsFailure } from './tls-files.ts';
import { readTokens, type TokenFlags, warnOfShortTokens } from './token-file.ts';
import { VERSION } from './version.ts';

const DEFAULT_DATA = './leasehold-data';
const DEFAULT_LISTEN = '127.0.0.1:7420';

export interface ServeFlags extends DatabaseFlags, TlsFlags, TokenFlags {
  readonly listen?: string;
  readonly allowNet?: string[];
  readonly trustedProxy?: string[];
  readonly basePath?: string;
  readonly consoleReadOnly?: boolean;
  readonly hidePayloads?: boolean;
  readonly history?: number;
  readonly historyMax?: number;
  readonly keepEnded?: number;
  readonly keepCompleted?: number;
  readonly keepCompletedMax?: number;
  readonly keepFailed?: number;
  readonly keepFailedMax?: number;
  readonly logLevel: LogLevel;
  readonly json?: boolean;
}

export function serveCommand(shell: Shell): Command {
  const command = new Command('serve').description(
    'Serve a data directory or a database over HTTP. Ends cleanly on SIGTERM and SIGINT; SIGHUP reloads tokens and certificate.',
  );
  return withServeOptions(command, shell)
    .option(
      '--guard-ttl <duration>',
      'with --engine: how long a standby waits for a lost leader (default 15s)',
      durationMs,
    )
    .option(
      '--heartbeat <duration>',
      'with --engine: how often the leader renews its guard (default: a third of --guard-ttl)',
      durationMs,
    )
    .addHelpText(
      'after',
      examples(
        'leasehold serve',
        'leasehold serve --data /var/lib/leasehold --listen 0.0.0.0:7420 --tokens tokens.json',
        'leasehold serve --engine postgres://leasehold@db.example.org/leasehold',
        'curl http://127.0.0.1:7420/v1/status',
      ),
    )
    .action((flags: ServeFlags) => run(shell, flags));
}

/** The other options have their own variables, or are not set by service units and images. */
const WITH_VARIABLE = [
  ...['--advertise', '--tls-cert', '--tls-key', '--allow-net', '--trusted-proxy', '--base-path'],
  ...['--console-read-only', '--hide-payloads', '--history', '--history-max', '--keep-completed'],
  ...['--keep-completed-max', '--keep-failed', '--keep-failed-max', '--keep-ended', '--log-level'],
];

export function withServeOptions(command: Command, shell: Shell): Command {
  command
    .option('--data <dir>', `the data directory (LEASEHOLD_DATA; default ${DEFAULT_DATA})`, directory)
    .option(
      '--engine <url>',
      'keep the log in this Postgres instead, postgres://… (LEASEHOLD_ENGINE); further servers are standbys',
    )
    .option('--advertise <url>', 'the URL at which clients reach this server; standbys refer them to it')
    .option('--allow-fsync-off', 'write to a database that runs with fsync=off and may lose everything')
    .option('--listen <address>', `host:port or a port alone (LEASEHOLD_LISTEN; default ${DEFAULT_LISTEN})`)
    .option(
      '--tokens <file>',
      'the tokens and their scopes: a JSON list of {"token", "scopes", "name"?}, each token plain or as sha256:HEX; read again on SIGHUP (LEASEHOLD_TOKENS holds the list itself)',
    )
    .option('--tls-cert <file>', 'serve HTTPS with this certificate chain (PEM); read again on SIGHUP')
    .option('--tls-key <file>', 'the private key of --tls-cert (PEM)')
    .option('--allow-net <cidr...>', 'serve only these networks')
    .option('--trusted-proxy <cidr...>', 'trust X-Forwarded-For from these networks')
    .option('--base-path <path>', 'the path under which a proxy exposes this server, such as /leasehold')
    .option(
      '--console-read-only',
      'hide the buttons of the console that change anything; to forbid changes, use tokens',
    )
    .option('--hide-payloads', 'show payloads, results and values only to tokens with the scope v1:write')
    .option(
      '--history <duration>',
      'how long replaced segments of the log are kept for the time machine (default: not at all)',
      durationMs,
    )
    .option('--history-max <size>', 'how much disk they may take (default 10GB)', byteCount)
    .option('--keep-completed <duration>', 'how long completed tasks are kept (default 24h)', durationMs)
    .option('--keep-completed-max <n>', 'how many completed tasks are kept (default 1000000)', wholeNumber)
    .option('--keep-failed <duration>', 'how long failed and dead tasks are kept (default 30d)', durationMs)
    .option('--keep-failed-max <n>', 'how many failed and dead tasks are kept (default 1000000)', wholeNumber)
    .option(
      '--keep-ended <duration>',
      'how long ended sessions are kept (default 24h), and ended tasks of both kinds unless given by themselves',
      durationMs,
    )
    .addOption(
      new Option('--log-level <level>', 'the least severe level to log on stderr')
        .choices(LOG_LEVELS)
        .default('info'),
    )
    .option('--json', 'print one JSON object once it is serving');
  return withVariables(command, shell, WITH_VARIABLE);
}

async function run(shell: Shell, flags: ServeFlags): Promise<void> {
  const reloadWith = onReloadSignal(shell);
  const ended = new Promise<null>((resolve) => {
    onEndingSignals(shell, flags, { asked: () => resolve(null), signals: SERVER_ENDS_ON });
  });
  const logger = makeLogger(flags.logLevel);
  const serving = await startServing(shell, flags, logger);
  const { served, death, reload } = serving;
  reloadWith(reload);
  welcome(shell, flags, serving);
  sayNewLog(serving, logger);
  const fault = await Promise.race([ended, death]);
  await served.stop();
  if (fault !== null) throw deathFailure(fault);
}

/** The failure of a command whose server can no longer write its log. */
export function deathFailure(fault: Error): Error {
  return fault.name === 'LogDamagedError' ? fault : new Failure(fault.message, EXIT.failed, 'LOG_LOST');
}

/** A running server. */
export interface Serving {
  readonly served: Served;
  /** Where its log is. */
  readonly place: { readonly data: string } | { readonly engine: string };
  readonly hasTokens: boolean;
  /** Settles only when the log can no longer be written. */
  readonly death: Promise<Error>;
  /** Reads tokens and certificate again. */
  reload(): Promise<void>;
}

export function placeText(place: Serving['place']): string {
  return 'data' in place ? place.data : place.engine;
}

/** `more`: further tokens, used only where tokens are required. */
export async function startServing(
  shell: Shell,
  flags: ServeFlags,
  logger: Logger,
  more: readonly TokenGrant[] = [],
): Promise<Serving> {
  shell.outliveReaders();
  const { env } = shell;
  const dir = flags.data ?? (env.LEASEHOLD_DATA || DEFAULT_DATA);
  const database = databaseOf(shell, flags);
  const { host, port } = listenAddress(shell, flags);
  const tokens = await readTokens(shell, flags);
  const address = addressText(host, port);
  const tls = await readTls(shell, flags, address);
  const intents = readIntents(env);
  const consoleFiles = await readConsole(shell);
  warnOfShortTokens(tokens ?? [], logger);
  warnOfShortSecrets(env, logger);
  let died = (_: Error): void => undefined;
  const death = new Promise<Error>((resolve) => {
    died = resolve;
  });
  const world: ServeWorld = {
    ...shell,
    hashSeed: systemIds.seed(),
    servingThreads: nodeThreads,
    logger,
    loopLag,
  };
  const options: ServeOptions = {
    host,
    port,
    version: VERSION,
    ...(tokens === null ? {} : { tokens: [...tokens, ...more] }),
    ...(tls === null ? {} : { tls }),
    allowNets: flags.allowNet ?? [],
    trustedProxies: flags.trustedProxy ?? [],
    consoleFiles,
    console: { readOnly: flags.consoleReadOnly ?? false },
    basePath: readBasePath(flags),
    hidePayloads: flags.hidePayloads ?? false,
    retention: retentionOf(flags),
    intents,
    ...connectionLimit(openFilesMax()),
    onDeath: (fault) => died(fault),
  };
  const served = await begin(database, dir, historyOf(flags, database), world, options).catch(
    (fault: unknown) => {
      throw servingFailure(tlsFailure(fault, flags, address), { dir, host, port });
    },
  );
  const place = database === null ? { data: dir } : { engine: database.shown };
  const reloaded = { access: served.access, flags, more, address, logger };
  const reload = (): Promise<void> => reloadAccess(shell, reloaded);
  return { served, place, death, reload, hasTokens: tokens !== null };
}

function readBasePath({ basePath: text = '' }: ServeFlags): string {
  try {
    return basePath(text);
  } catch (fault) {
    throw wrongUsage((fault as Error).message);
  }
}

function retentionOf(flags: ServeFlags): RetentionOptions {
  const { keepEnded, keepCompleted, keepCompletedMax, keepFailed, keepFailedMax } = flags;
  return {
    completedTasks: keeping(keepCompleted, keepCompletedMax),
    failedTasks: keeping(keepFailed, keepFailedMax),
    endedTasks: keeping(keepEnded),
    endedSessions: keeping(keepEnded),
  };
}

function keeping(forMs?: number, max?: number): Keeping {
  return { ...(forMs === undefined ? {} : { for: forMs }), ...(max === undefined ? {} : { max }) };
}

function historyOf({ history, historyMax }: ServeFlags, database: Database | null): HistoryLimits | null {
  if (history === undefined && historyMax === undefined) return null;
  if (database !== null) {
    throw wrongUsage(
      '--history applies to a data directory; in a database the log reaches back to its newest checkpoint.',
    );
  }
  if (history === undefined) throw wrongUsage('--history-max limits --history; give both.');
  return { forMs: history, bytesMax: historyMax ?? HISTORY_BYTES_MAX };
}

const TORN_TAIL =
  'the end of the log looks unfinished and was cut: a crash interrupted a write, or the file had been cut; ' +
  'after a clean stop restore a backup';

function begin(
  database: Database | null,
  dir: string,
  history: HistoryLimits | null,
  world: ServeWorld,
  options: ServeOptions,
): Promise<Served> {
  if (database !== null) return serveDatabase(database, world, options);
  const files = { files: nodeFiles, threads: nodeThreads };
  const engine = fileEngine({
    dir,
    ...files,
    ...(history === null ? {} : { history }),
    allowNetworkFileSystem: false,
    onTornTail: (tail) => world.logger.warn(tail, TORN_TAIL),
  });
  return serve(engine, { ...world, freeBytes: () => nodeDiskProbe.freeBytes(dir) }, options);
}

/** On a machine that had a log before, the place is not the one it was in. */
export function sayNewLog({ served, place }: Serving, logger: Pick<Logger, 'info'>): void {
  if (served.hasBegunLog) logger.info({ ...place }, 'a new log was begun');
}

/** What to do next; with `--json` one line for programs. */
function welcome({ out }: Shell, { json }: ServeFlags, { served, place, hasTokens }: Serving): void {
  const { url, role, seq } = served;
  if (json) {
    out.write(`${JSON.stringify({ url, ...place, role, seq, pid: process.pid })}\n`);
    return;
  }
  const bearer = hasTokens ? " -H 'authorization: Bearer TOKEN'" : '';
  const does = role === 'leader' ? 'serves' : 'stands by for';
  out.write(`leasehold ${VERSION} ${does} ${placeText(place)} at ${url}

  Try in another terminal${hasTokens ? ', with a token of yours' : ''}:
    curl -s ${url}/v1/status${bearer}
    curl -s ${url}/v1/leases/nightly/acquire${bearer} -H 'content-type: application/json' -d '{"holder":"me","ttl_ms":15000}'
    npx leasehold top --server ${url}${hasTokens ? ' --token TOKEN' : ''}

  ${url}/ is the console, ${url}/openapi.json the whole API. Ctrl-C stops it.
`);
}

export function listenAddress(
  { env }: Shell,
  { listen }: ServeFlags,
): { readonly host: string; readonly port: number } {
  const text = listen ?? (env.LEASEHOLD_LISTEN || DEFAULT_LISTEN);
  const match = /^(?:(\[[0-9a-fA-F:.]+\]|[^:[\]]+)?:)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port > 65_535) {
    throw wrongUsage(`${text} is not an address to listen on; write it like ${DEFAULT_LISTEN}.`);
  }
  return { host: match[1]?.replace(/^\[(.*)\]$/, '$1') ?? '127.0.0.1', port };
}

export const addressText = (host: string, port: number | string): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Why it could not start, in a sentence that names the cause: the address, or the data directory. */
export function servingFailure(
  fault: unknown,
  { dir, host, port }: { readonly dir: string; readonly host: string; readonly port: number },
): unknown {
  if (fault instanceof TypeError) return wrongUsage(fault.message);
  if (isDiskFull(fault)) {
    const says = `The disk of the data directory ${dir} is full (${(fault as NodeJS.ErrnoException).code}), and a start needs a little room there: free some.`;
    return new Failure(says, EXIT.failed);
  }
  const { code, syscall, path, hostname } = fault as NodeJS.ErrnoException & { readonly hostname?: string };
  if (code === 'EADDRINUSE') {
    return new Failure(
      `Port ${port} on ${host} is taken; stop what listens there or choose another with --listen.`,
      EXIT.failed,
    );
  }
  // A fault of the database has a host too, but not the address to listen on.
  if (syscall === 'listen' || (code === 'ENOTFOUND' && hostname === host)) {
    return new Failure(`The server cannot listen on ${addressText(host, port)} (${code}).`, EXIT.failed);
  }
  if ((code === 'EACCES' || code === 'EPERM') && path !== undefined) {
    return new Failure(
      `The data directory ${dir} cannot be used: ${path} may not be opened (${code}).`,
      EXIT.failed,
    );
  }
  return fault;
}

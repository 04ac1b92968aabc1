/**
 * `leasehold up`: a server and an orchestrator together. The orchestrator is a separate process, which is restarted when
 * it ends; when the server fails, both end. While the server is a standby no orchestrator runs. One Ctrl-C stops the
 * orchestrator and then the server; another one, two seconds later, stops everything at once. SIGHUP reloads tokens and
 * certificate.
 */
import { isIP } from 'node:net';
import { join } from 'node:path';
import { Command } from 'commander';
import type { Logger } from '../server/logger.ts';
import { makeLogger } from '../server/make-logger.ts';
import { LanGuard } from '../server/network.ts';
import { withoutSecrets } from '../sessions/kept-pipelines.ts';
import { DEFAULT_URL, examples } from './connection.ts';
import { onEndingSignals } from './ending-signals.ts';
import { lineLogger, tellEvent, tellEventAsJson } from './event-lines.ts';
import { wrongUsage } from './failure.ts';
import { MAIN } from './main-file.ts';
import {
  makeLogDirectory,
  type OrchestratorFlags,
  PARENT,
  planOf,
  withOrchestratorOptions,
} from './orchestrator-options.ts';
import { onReloadSignal, SERVER_ENDS_ON } from './reload.ts';
import {
  addressText,
  deathFailure,
  listenAddress,
  placeText,
  type ServeFlags,
  type Serving,
  sayNewLog,
  startServing,
  withServeOptions,
} from './serve.ts';
import { databaseOf } from './serve-database.ts';
import type { Shell } from './shell.ts';
import { Supervisor } from './supervisor.ts';
import { VERSION } from './version.ts';

/** Added to the grace period of its pipelines. */
const ORCHESTRATOR_ENDS_MS = 10_000;
const LOG_DIR = 'leasehold-sessions';

type UpFlags = ServeFlags & OrchestratorFlags & { readonly server?: string };

export function upCommand(shell: Shell): Command {
  const command = new Command('up').description('Start a server and an orchestrator together.');
  return withOrchestratorOptions(withServeOptions(command, shell), `${LOG_DIR} in the data directory`)
    .option(
      '--server <url>',
      'how the orchestrator reaches the server, where its certificate names another host',
    )
    .addHelpText(
      'after',
      examples(
        'leasehold up',
        'leasehold up --data /var/lib/leasehold --config slots.json',
        'leasehold session start live news --profile demo',
      ),
    )
    .action((flags: UpFlags) => run(shell, flags));
}

async function run(shell: Shell, flags: UpFlags): Promise<void> {
  const reloadWith = onReloadSignal(shell);
  const { config } = await planOf(shell, flags);
  const profile = flags.config === undefined ? undefined : Object.keys(config.profiles)[0];
  assertReachable(shell, flags);
  if (flags.logDir !== undefined) await makeLogDirectory(flags.logDir);
  const asked = new Promise<void>((resolve) => {
    onEndingSignals(shell, flags, {
      asked: () => resolve(),
      hurried: () => supervisor?.kill(),
      signals: SERVER_ENDS_ON,
    });
  });
  let supervisor: Supervisor | null = null;
  // Only these two processes know the token; it is not stored.
  const token = shell.newToken();
  const { logger, isWelcomed } = serverLogger(shell, flags);
  const serving = await startServing(shell, serverFlags(shell, flags), logger, [
    { token, scopes: ['*'], name: 'orchestrator' },
  ]);
  reloadWith(serving.reload);
  supervisor = new Supervisor(
    { ...shell, say: (line) => say(shell, flags, 'warn', line) },
    {
      name: 'orchestrator',
      command: [process.execPath, MAIN, 'orchestrate', ...orchestrateArgs(flags, serving)],
      env: orchestrateEnv(shell, flags, serving, token),
      endsWithinMs: flags.grace + ORCHESTRATOR_ENDS_MS,
      turn: {
        isHere: () => serving.served.role === 'leader',
        comes: () => untilLeading(shell, flags, serving),
      },
    },
  );
  welcome(shell, flags, serving, profile);
  isWelcomed();
  if (flags.json) sayNewLog(serving, logger);
  const end = await Promise.race([asked, serving.death, supervisor.gaveUp]);
  await supervisor.stop();
  await serving.served.stop();
  if (end instanceof Error) throw deathFailure(end);
  if (typeof end === 'number') shell.exitWith(end);
}

function say(shell: Shell, { json }: UpFlags, level: 'info' | 'warn', line: string): void {
  (json ? tellEventAsJson : tellEvent)(shell, level, line);
}

/** The server's log in the format of the other lines. Info lines before the welcome are dropped: the welcome says the same. */
function serverLogger(shell: Shell, { json, logLevel }: UpFlags): { logger: Logger; isWelcomed(): void } {
  if (json) return { logger: makeLogger(logLevel), isWelcomed: () => undefined };
  const logger = lineLogger(shell, logLevel);
  let info: Logger['info'] = () => undefined;
  return {
    logger: { ...logger, info: (fields, says) => info(fields, says) },
    isWelcomed() {
      info = logger.info;
    },
  };
}

/** A standby may wait for months: it reports each change of role once. */
async function untilLeading(shell: Shell, flags: UpFlags, { served }: Serving): Promise<void> {
  say(shell, flags, 'info', 'This server stands by; its orchestrator is started when it leads.');
  await served.whenLeading();
  say(shell, flags, 'info', 'This server leads now.');
}

/** The orchestrator is an ordinary client, so --allow-net must admit it. */
function assertReachable(shell: Shell, flags: UpFlags): void {
  const { allowNet = [], trustedProxy = [] } = flags;
  const { host } = listenAddress(shell, flags);
  const peer = isIP(host) === 0 ? '127.0.0.1' : addressFromHere(host);
  let isAdmitted: boolean;
  try {
    isAdmitted = new LanGuard(allowNet, trustedProxy).refuses(peer, undefined) === null;
  } catch (fault) {
    throw wrongUsage((fault as Error).message);
  }
  if (isAdmitted) return;
  throw wrongUsage(
    `--allow-net excludes the orchestrator that \`up\` starts; allow ${peer} as well, or use \`serve\` and \`orchestrate\`.`,
  );
}

/** One pair of times for both guards; without a database the server has none. */
function serverFlags(shell: Shell, { guardTtl, heartbeat, ...flags }: UpFlags): ServeFlags {
  return databaseOf(shell, flags) === null ? flags : { ...flags, guardTtl, heartbeat };
}

function orchestrateArgs(flags: UpFlags, { place }: Serving): string[] {
  const dir = 'data' in place ? place.data : '.';
  const { config, guardTtl, heartbeat, leaseTtl, grace, logDir = join(dir, LOG_DIR), json } = flags;
  return [
    ...(config === undefined ? [] : ['--config', config]),
    ...['--guard-ttl', `${guardTtl}ms`, '--heartbeat', `${heartbeat}ms`],
    ...(leaseTtl === undefined ? [] : ['--lease-ttl', `${leaseTtl}ms`]),
    ...['--grace', `${grace}ms`, '--log-dir', logDir],
    ...(json ? ['--json'] : []),
  ];
}

/** Secrets of the server are removed. The token is passed in the environment, so that it is not visible in process lists. */
function orchestrateEnv(
  { env }: Shell,
  { server, tlsCert }: UpFlags,
  { served, hasTokens }: Serving,
  token: string,
): Record<string, string | undefined> {
  return {
    ...withoutSecrets(env),
    LEASEHOLD_URL: server ?? urlFromHere(served.url),
    [PARENT]: String(process.pid),
    ...(hasTokens ? { LEASEHOLD_TOKEN: token } : {}),
    ...(tlsCert === undefined ? {} : { NODE_EXTRA_CA_CERTS: tlsCert }),
  };
}

function urlFromHere(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${protocol}//${addressText(addressFromHere(hostname.replace(/^\[(.*)\]$/, '$1')), port)}`;
}

/** A server that listens on all addresses is reached on the loopback address. */
function addressFromHere(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1';
  return /^[0:]+$/.test(address) ? '::1' : address;
}

/** What to do next; with `--json` one line for programs. `profile` is one of a configuration that was given. */
function welcome(
  { out }: Shell,
  { json }: UpFlags,
  { served, place, hasTokens }: Serving,
  profile: string | undefined,
): void {
  const url = urlFromHere(served.url);
  const { role, seq } = served;
  if (json) {
    out.write(`${JSON.stringify({ url, ...place, role, seq, pid: process.pid })}\n`);
    return;
  }
  const server = `${url === DEFAULT_URL ? '' : ` --server ${url}`}${hasTokens ? ' --token TOKEN' : ''}`;
  const bearer = hasTokens ? " -H 'authorization: Bearer TOKEN'" : '';
  const where = placeText(place);
  const does =
    role === 'leader'
      ? `is up at ${url}, with its data in ${where}${served.hasBegunLog ? ' (a new log)' : ''}`
      : `stands by for ${where} at ${url}`;
  const first =
    profile === undefined
      ? `run nightly-report${server} -- echo 'one at a time, however many machines try'`
      : `session start live news --profile ${profile}${server}`;
  out.write(`leasehold ${VERSION} ${does}. Ctrl-C stops it.
  Open the console at ${url}/, or try in another terminal${hasTokens ? ', with a token of yours' : ''}:
    npx leasehold ${first}
    npx leasehold top${server}
    curl -s ${url}/v1/status${bearer}
`);
}

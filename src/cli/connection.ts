/**
 * Commands that talk to a server: their options, the handle while they run, and what it means when no server answers.
 * While a server restarts or another one takes over, a command retries for `--retry-for` and says so once on stderr.
 */
import { Command } from 'commander';
import type { Leasehold } from '../client/leasehold.ts';
import { atMost } from '../keeper/at-most.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { defaulted, durationMs } from './arguments.ts';
import { EXIT, Failure, refused, wrongUsage } from './failure.ts';
import { duration } from './format.ts';
import type { Retrying, Server, Shell } from './shell.ts';

export const DEFAULT_URL = 'http://127.0.0.1:7420';

/** How long a command that is done waits for outstanding answers; a paused server sends none. */
const CLOSE_MS = 1_000;

/** Longer than a restart, and than the 15 s after which a standby takes over. */
const RETRY_FOR_MS = 30_000;
/** A retry that succeeds within this time is not reported. */
const SILENT_MS = 300;

export interface ServerOptions {
  readonly server?: string;
  readonly token?: string;
  readonly json?: boolean;
  /** How long calls are retried; absent in commands that report at once how things are. */
  readonly retryFor?: number;
  readonly isLive?: boolean;
}

/** A command that talks to a server, and retries while none answers. */
export function serverCommand(name: string): Command {
  return probeCommand(name).addOption(defaulted(...RETRY_FOR, durationMs, RETRY_FOR_MS, '30s'));
}

const RETRY_FOR = [
  '--retry-for <duration>',
  'how long to retry while no server answers; 0 fails at once',
] as const;

/** A command that reports at once when no server answers, unless it is told to wait for one. */
export function patientProbe(name: string): Command {
  return probeCommand(name).option(RETRY_FOR[0], `${RETRY_FOR[1]} (default: a moment)`, durationMs);
}

/** A command that talks to a server and reports at once when none answers. */
export function probeCommand(name: string): Command {
  return new Command(name)
    .option(
      '--server <url>',
      `the URL of the server, or several separated by commas (LEASEHOLD_URL; default ${DEFAULT_URL})`,
    )
    .option('--token <token>', 'the bearer token to send (LEASEHOLD_TOKEN)')
    .option('--json', 'print JSON: one object, or one a line for lists');
}

export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

export function serverOf({ env }: Pick<Shell, 'env'>, options: ServerOptions): Server {
  const url = options.server ?? (env.LEASEHOLD_URL || DEFAULT_URL);
  const token = options.token ?? (env.LEASEHOLD_TOKEN || null);
  urlsIn(url).forEach(assertUrl);
  if (token !== null && !/^[\x21-\x7e]+$/.test(token)) {
    throw wrongUsage('The token must be visible ASCII characters without spaces.');
  }
  return options.isLive ? { url, token, isLive: true } : { url, token };
}

function assertUrl(text: string): void {
  if (!/^https?:\/\/[^/]/.test(text) || !URL.canParse(text)) {
    throw wrongUsage(`${text} is not the URL of a server; it looks like ${DEFAULT_URL}.`);
  }
  const { host, username, password, search, hash } = new URL(text);
  // The URL itself is not shown: it contains a secret.
  if (username !== '' || password !== '') {
    throw wrongUsage(`The URL of ${host} must not carry a password; give a token with --token instead.`);
  }
  if (search !== '' || hash !== '') {
    throw wrongUsage(`${text} must end with its path; a query or a fragment means nothing here.`);
  }
}

/** One URL, or several with commas between them. */
export function urlsIn(text: string): string[] {
  return text.split(',').map((url) => url.trim());
}

/** Connects, does the work, closes. Faults of the connection become sentences. */
export async function withServer<T>(
  shell: Shell,
  options: ServerOptions,
  work: (lh: Leasehold, server: Server) => Promise<T>,
): Promise<T> {
  const server = serverOf(shell, options);
  try {
    const lh = await shell.connect(server, retryingOf(shell, options, server));
    try {
      return await work(lh, server);
    } finally {
      const isClosed = await atMost(
        shell.timers,
        CLOSE_MS,
        lh.close().then(() => true),
      );
      if (!isClosed) shell.endWhenDone();
    }
  } catch (fault) {
    throw withTokenHint(connectionFailure(fault, server, options.retryFor), server);
  }
}

/** Reports once, on stderr, what a command waits for. */
export function retryingOf(
  { clock, err }: Shell,
  { retryFor: forMs, json }: ServerOptions,
  server: Server,
): Retrying | undefined {
  if (forMs === undefined) return undefined;
  const fromMs = clock.monotonicMs();
  let isSaid = false;
  return {
    forMs,
    onRetry(fault) {
      if (isSaid || clock.monotonicMs() - fromMs < SILENT_MS) return;
      isSaid = true;
      err.write(`${waitingLine(fault, server, forMs, json)}\n`);
    },
  };
}

function waitingLine(
  { code, message }: LeaseholdError,
  { url }: Server,
  forMs: number,
  json: boolean | undefined,
): string {
  if (json) return JSON.stringify({ waiting_for: url, code, message, retry_for_ms: forMs });
  return `leasehold: Waiting up to ${duration(forMs)} for the server at ${url}: ${code}: ${message}`;
}

const NO_SERVER =
  'Start one with `leasehold up`, or name another with --server or LEASEHOLD_URL. A data directory that a program has opened with open() has no server.';

/** Codes that mean that no process listens there. */
const AWAY: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET']);
/** Those of them with which a TLS port ends a plain connection. */
const CUT: ReadonlySet<string> = new Set(['ECONNRESET', 'UND_ERR_SOCKET']);
/** Codes of a certificate whose authority Node does not trust. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
]);

/** The error code of the system, found along the chain of causes. */
function codeIn(fault: unknown): string | undefined {
  const { code, cause } = Object(fault) as { readonly code?: string; readonly cause?: unknown };
  return code ?? (cause === undefined ? undefined : codeIn(cause));
}

/** The server gives a missing and a wrong token the same answer. */
function withTokenHint(fault: unknown, { token }: Server): unknown {
  if (!(fault instanceof Failure) || fault.code !== 'UNAUTHENTICATED') return fault;
  const hint =
    token === null
      ? 'No token was sent: give one with --token or LEASEHOLD_TOKEN.'
      : 'The server does not know the token of --token or LEASEHOLD_TOKEN.';
  return new Failure(`${fault.message} ${hint}`, fault.exitCode, fault.code);
}

/** A fault of the connection as a sentence; any other fault as it is. */
export function connectionFailure(fault: unknown, { url }: Server, retryForMs = 0): unknown {
  if (!(fault instanceof LeaseholdError)) return fault;
  if (fault.code === 'UNREACHABLE') {
    const reason = codeIn(fault.cause);
    if (reason !== undefined && !AWAY.has(reason)) {
      const hint = UNTRUSTED.has(reason)
        ? '; set NODE_EXTRA_CA_CERTS=FILE to a file (PEM) with the authority that signed its certificate'
        : '';
      return new Failure(
        `The server at ${url} cannot be reached: ${fault.message} (${reason})${hint}`,
        EXIT.failed,
        fault.code,
      );
    }
    if (fault.message.includes('did not answer within')) {
      const says = `The process at ${url} accepts connections but does not answer: it may be paused, or it is not a leasehold server.`;
      return new Failure(says, EXIT.failed, fault.code);
    }
    const next =
      reason !== undefined && CUT.has(reason) && url.startsWith('http:')
        ? `The connection was cut (${reason}): if the server speaks TLS, its URL begins with https://. ${NO_SERVER}`
        : NO_SERVER;
    return new Failure(
      `No leasehold server answers at ${url}${retryForMs === 0 ? '' : ` after ${duration(retryForMs)} of retries`}. ${next}`,
      EXIT.failed,
      fault.code,
    );
  }
  return refused(fault.code, fault.message);
}

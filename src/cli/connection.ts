/** Commands that talk to a server: their options, the handle while they run, and what it means when nobody answers. */
import { Command } from 'commander';
import type { Leasehold } from '../client/leasehold.ts';
import { atMost } from '../keeper/at-most.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { EXIT, Failure, refused, wrongUsage } from './failure.ts';
import type { Server, Shell } from './shell.ts';

export const DEFAULT_URL = 'http://127.0.0.1:7420';

/** How long a command that is done waits for answers that are on their way; a paused server would give none. */
const CLOSE_MS = 1_000;

export interface ServerOptions {
  readonly server?: string;
  readonly token?: string;
  readonly json?: boolean;
}

/** A command with the options that every command which talks to a server has. */
export function serverCommand(name: string): Command {
  return new Command(name)
    .option(
      '--server <url>',
      `where the server is, or several with commas (LEASEHOLD_URL; default ${DEFAULT_URL})`,
    )
    .option('--token <token>', 'the bearer token to show it (LEASEHOLD_TOKEN)')
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
  return { url, token };
}

function assertUrl(text: string): void {
  if (!/^https?:\/\/[^/]/.test(text) || !URL.canParse(text)) {
    throw wrongUsage(`${text} is not the URL of a server; it looks like ${DEFAULT_URL}.`);
  }
  const { host, username, password, search, hash } = new URL(text);
  // The URL itself is not shown: it has a secret in it.
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

/** Connects, does the work, lets go; faults of the connection come out as sentences. */
export async function withServer<T>(
  shell: Shell,
  options: ServerOptions,
  work: (lh: Leasehold, server: Server) => Promise<T>,
): Promise<T> {
  const server = serverOf(shell, options);
  try {
    const lh = await shell.connect(server);
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
    throw connectionFailure(fault, server);
  }
}

/** Codes that mean just that nobody is there. */
const AWAY: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET']);

/** What the system calls it, however many sentences were put around that. */
function codeIn(fault: unknown): string | undefined {
  const { code, cause } = Object(fault) as { readonly code?: string; readonly cause?: unknown };
  return code ?? (cause === undefined ? undefined : codeIn(cause));
}

/** The fault as a sentence when it is one of the connection, otherwise the fault itself. */
export function connectionFailure(fault: unknown, { url }: Server): unknown {
  if (!(fault instanceof LeaseholdError)) return fault;
  if (fault.code === 'UNREACHABLE') {
    const reason = codeIn(fault.cause);
    if (reason !== undefined && !AWAY.has(reason)) {
      return new Failure(
        `The server at ${url} cannot be reached: ${fault.message} (${reason})`,
        EXIT.failed,
        fault.code,
      );
    }
    if (fault.message.includes('did not answer within')) {
      const says = `What listens at ${url} takes connections and does not answer: it may be paused, or no server of ours.`;
      return new Failure(says, EXIT.failed, fault.code);
    }
    return new Failure(
      `No leasehold server answers at ${url}; start one with \`leasehold serve\`.`,
      EXIT.failed,
      fault.code,
    );
  }
  return refused(fault.code, fault.message);
}

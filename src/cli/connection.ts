/** Commands that talk to a server: their options, the handle while they run, and what it means when nobody answers. */
import { Command } from 'commander';
import { LeaseholdError } from '../client/error.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { EXIT, Failure, refused, wrongUsage } from './failure.ts';
import type { Server, Shell } from './shell.ts';

export const DEFAULT_URL = 'http://127.0.0.1:7420';

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
  for (const each of urlsIn(url)) {
    if (/^https?:\/\/[^/]/.test(each) && URL.canParse(each)) continue;
    throw wrongUsage(`${each} is not the URL of a server; it looks like ${DEFAULT_URL}.`);
  }
  return { url, token };
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
      await lh.close();
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
    return new Failure(
      `No leasehold server answers at ${url}; start one with \`leasehold serve\`.`,
      EXIT.failed,
      fault.code,
    );
  }
  return refused(fault.code, fault.message);
}

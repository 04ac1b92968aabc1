/** The real shell: this process, its terminal, the network and the disk. */
import { createInterface } from 'node:readline';
import type { RetryLimits } from '../client/retry-schedule.ts';
import type { Http } from '../seams/http.ts';
import { machineClock } from '../world/machine-clock.ts';
import { nodeProcesses } from '../world/node-processes.ts';
import { nodeTextFiles } from '../world/node-text-files.ts';
import { systemClock, systemTimers } from '../world/system-clock.ts';
import { systemIds } from '../world/system-ids.ts';
import { thisProcess } from '../world/this-process.ts';
import { urlsIn } from './connection.ts';
import { wrongUsage } from './failure.ts';
import { leaderFollowing } from './leader-http.ts';
import type { Retrying, Screen, Shell } from './shell.ts';

/** An unreachable server is reported soon, and a lost reply is still retried. */
const BRIEFLY = { tries: 4, maxMs: 2_000 };
/** The longest pause between two tries, so that a restarted server is found soon. */
const RETRY_EVERY_MS = 400;

type ShellOptions = Partial<Pick<Shell, 'endWhenDone' | 'outliveReaders'>>;

export function realShell({ endWhenDone, outliveReaders }: ShellOptions = {}): Shell {
  return {
    env: process.env,
    out: screenOf(process.stdout),
    err: screenOf(process.stderr),
    input: readInput,
    inputLines: (signal) => createInterface({ input: process.stdin, crlfDelay: Infinity, signal }),
    keys: hearKeys,
    async connect({ url, token, isLive }, retrying) {
      // Loaded here, because commands that only print need none of it.
      const [{ connectWith }, { Leasehold }, { undiciHttp }, { wsSockets }, { nodeWorld }] =
        await Promise.all([
          import('../client/connect.ts'),
          import('../client/leasehold.ts'),
          import('../world/undici-http.ts'),
          import('../world/ws-sockets.ts'),
          import('../world/node-world.ts'),
        ]);
      const onRetry = retrying?.onRetry;
      const world = onRetry === undefined ? nodeWorld : { ...nodeWorld, onRetry };
      const transport = isLive ? ('live' as const) : ('http' as const);
      const options = token === null ? { transport } : { transport, token };
      const urls = urlsIn(url);
      const http = (): Http => (urls.length > 1 ? undiciHttp() : leaderFollowing(undiciHttp(), url));
      return connectWith(Leasehold, { http, sockets: wsSockets }, world, urls, options, termsOf(retrying));
    },
    clock: systemClock,
    machineClock,
    timers: systemTimers,
    newToken: systemIds.token,
    ending: thisProcess.ending,
    files: nodeTextFiles,
    processes: nodeProcesses,
    endWhenDone: endWhenDone ?? (() => undefined),
    outliveReaders: outliveReaders ?? (() => undefined),
    exitWith(code) {
      process.exitCode = code;
    },
  };
}

function termsOf(retrying: Retrying | undefined): RetryLimits {
  if (retrying === undefined) return BRIEFLY;
  if (retrying.forMs === 0) return { tries: 1 };
  return { tries: Number.POSITIVE_INFINITY, maxMs: retrying.forMs, delayMaxMs: RETRY_EVERY_MS };
}

function screenOf(stream: NodeJS.WriteStream): Screen {
  return {
    write: (text) => void stream.write(text),
    isTerminal: stream.isTTY === true,
    // A file has no width, and some terminals do not report one.
    get columns() {
      return stream.columns || 80;
    },
    get rows() {
      return stream.rows || 24;
    },
  };
}

async function readInput(): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of process.stdin) pieces.push(piece as Buffer);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(pieces));
  } catch (fault) {
    if (!(fault instanceof TypeError)) throw fault;
    throw wrongUsage('Standard input is not UTF-8.');
  }
}

function hearKeys(pressed: (key: string) => void): () => void {
  const { stdin } = process;
  if (!stdin.isTTY) return () => undefined;
  const listener = (bytes: Buffer): void => pressed(bytes.toString('utf8'));
  stdin.setRawMode(true);
  stdin.resume();
  stdin.on('data', listener);
  return () => {
    stdin.off('data', listener);
    stdin.setRawMode(false);
    stdin.pause();
  };
}

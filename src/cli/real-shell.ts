/** The shell as it really is: this process, its terminal, the network and the disk. */
import { machineClock } from '../world/machine-clock.ts';
import { nodeProcesses } from '../world/node-processes.ts';
import { nodeTextFiles } from '../world/node-text-files.ts';
import { systemClock, systemTimers } from '../world/system-clock.ts';
import { systemIds } from '../world/system-ids.ts';
import { thisProcess } from '../world/this-process.ts';
import { urlsIn } from './connection.ts';
import { wrongUsage } from './failure.ts';
import type { Screen, Shell } from './shell.ts';

/** A person waits: a server that is not there is told of at once, and a lost reply is still asked for again. */
const RETRY = { tries: 4, within: '2s' } as const;

type Wishes = Partial<Pick<Shell, 'endWhenDone' | 'outliveReaders'>>;

export function realShell({ endWhenDone, outliveReaders }: Wishes = {}): Shell {
  return {
    env: process.env,
    out: screenOf(process.stdout),
    err: screenOf(process.stderr),
    input: readInput,
    keys: hearKeys,
    async connect({ url, token }, retry = RETRY) {
      const { connect } = await import('../client-node.ts');
      return connect(urlsIn(url), { retry, ...(token === null ? {} : { token }) });
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

function screenOf(stream: NodeJS.WriteStream): Screen {
  return {
    write: (text) => void stream.write(text),
    isTerminal: stream.isTTY === true,
    // A file has none, and some terminals do not say.
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

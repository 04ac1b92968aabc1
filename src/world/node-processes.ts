/** Real processes and signals: the Processes seam on `node:child_process`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Ended, Pipes, Processes, SignalName } from '../seams/processes.ts';
import { openChannel } from './node-channel.ts';
import { startTimeNow } from './node-process-table.ts';

/** Built, this file and the other one end in .js; run from source, on a Node that can, both end in .ts. */
const KEEPER = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../cli/keeper-main.ts' : '../cli/keeper-main.js',
    import.meta.url,
  ),
);

/** Waits for a line on descriptor 3 and becomes the program; without one, as when nobody is there to send it, it ends. */
const GATE = ['/bin/sh', '-c', 'IFS= read -r _ <&3 || exit 125; exec 3<&-; exec "$@"', 'sh'];

/** How long output may still come after the process has ended and its group is gone: somebody left the group with it. */
const LAST_OUTPUT_MS = 1_000;

export const nodeProcesses: Processes = {
  start(command, { env, pipes, begun }) {
    const own = pipes === null ? 'inherit' : 'pipe';
    const [program = '', ...args] = begun === undefined ? command : [...GATE, ...command];
    const child = spawn(program, args, {
      // A session of its own, and with it a process group.
      detached: true,
      env,
      stdio: begun === undefined ? own : [own, own, own, 'pipe'],
    });
    const ended = endOf(child);
    // Read before we can have collected it, so that it is never another's.
    const startTime = child.pid === undefined ? null : startTimeNow(child.pid);
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      if (child.pid !== undefined) openGate(child, begun);
      child.once('spawn', () => {
        child.off('error', reject);
        if (pipes !== null) connect(child, pipes);
        resolve({ pid: child.pid!, startTime, ended });
      });
    });
  },

  async lookFor(program, path) {
    const places = program.includes('/')
      ? [program]
      : path.split(':').map((dir) => join(dir || '.', program));
    let why: string | null = 'ENOENT';
    for (const place of places) {
      const found = await lookAt(place);
      if (found === null) return null;
      if (found === 'EACCES') why = found;
    }
    return why;
  },

  startKeeper({ sharesInput, heard, gone }) {
    const own = sharesInput ? 'inherit' : 'ignore';
    const child = spawn(process.execPath, [KEEPER], { detached: true, stdio: [own, own, 'inherit', 'pipe'] });
    let isGone = false;
    const end = (): void => {
      if (!isGone) gone();
      isGone = true;
    };
    child.once('error', end);
    // A machine that is out of descriptors gives none of these; the error says so in a moment.
    const stream = (child.stdio as typeof child.stdio | undefined)?.[3];
    if (!stream) return { send: () => undefined, close: () => undefined, kill: () => undefined };
    // Its end may be known before its last words are read, and one of them may be which program it has begun.
    child.once('close', end);
    child.once('exit', () => {
      const timer = setTimeout(() => stream.destroy(), LAST_OUTPUT_MS);
      child.once('close', () => clearTimeout(timer));
    });
    const channel = openChannel(stream as Duplex, heard, () => undefined);
    return {
      send: channel.send,
      close() {
        channel.close();
        child.unref();
      },
      kill: () => void child.kill('SIGKILL'),
    };
  },

  signalGroup,

  onSignals(signals, call) {
    const listener = (signal: SignalName): void => call(signal);
    for (const signal of signals) process.on(signal, listener);
    return () => {
      for (const signal of signals) process.off(signal, listener);
    };
  },
};

function openGate(child: ChildProcess, begun: ((pid: number) => void) | undefined): void {
  if (begun === undefined) return;
  begun(child.pid!);
  const gate = child.stdio[3] as Duplex;
  // Whoever stands there may have been killed meanwhile.
  gate.on('error', ignoreBrokenPipe);
  gate.end('\n');
}

async function lookAt(path: string): Promise<string | null> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isDirectory() ? 'EACCES' : null;
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault) return fault.code === 'EACCES' ? 'EACCES' : 'ENOENT';
    throw fault;
  }
}

function ignoreBrokenPipe(fault: NodeJS.ErrnoException): void {
  if (fault.code !== 'EPIPE' && fault.code !== 'ECONNRESET') throw fault;
}

function signalGroup(pid: number, signal: SignalName | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch (fault) {
    if (!(fault instanceof Error && 'code' in fault)) throw fault;
    if (fault.code === 'ESRCH') return false;
    // Somebody in the group runs as another user; the others have got it.
    if (fault.code === 'EPERM') return true;
    throw fault;
  }
}

/** Once it has ended: what it left behind in its group is ended too, and what it wrote has been read. */
function endOf(child: ChildProcess): Promise<Ended> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
      const end = { code, signal };
      const timer = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, LAST_OUTPUT_MS);
      child.once('close', () => {
        clearTimeout(timer);
        resolve(end);
      });
    });
  });
}

function connect(child: ChildProcess, { input, output, errors }: Pipes): void {
  child.stdout?.on('data', output);
  child.stderr?.on('data', errors);
  // A program need not read its input.
  child.stdin?.on('error', ignoreBrokenPipe);
  child.stdin?.end(input);
}

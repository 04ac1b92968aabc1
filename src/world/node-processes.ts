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

/** Both files end in `.js` when built and in `.ts` when a Node that supports it runs the sources. */
const KEEPER = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../cli/keeper-main.ts' : '../cli/keeper-main.js',
    import.meta.url,
  ),
);

/**
 * Waits for a line on descriptor 3, then executes the program. Exits when the line never comes, as when its sender
 * died.
 */
const GATE = ['/bin/sh', '-c', 'IFS= read -r _ <&3 || exit 125; exec 3<&-; exec "$@"', 'sh'];

/**
 * How long output may continue after the process and its group are gone: a process that left the group may hold it.
 */
const LAST_OUTPUT_MS = 1_000;

export const nodeProcesses: Processes = {
  start(command, { env, pipes, begun }) {
    const own = pipes === null ? 'inherit' : 'pipe';
    const [program = '', ...args] = begun === undefined ? command : [...GATE, ...command];
    const child = spawn(program, args, {
      // Its own session, and so its own process group.
      detached: true,
      env,
      stdio: begun === undefined ? own : [own, own, own, 'pipe'],
    });
    const ended = endOf(child);
    // Read before the process can be reaped, so that it is never that of another process.
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

  startKeeper({ sharesInput, received, gone }) {
    const own = sharesInput ? 'inherit' : 'ignore';
    const child = spawn(process.execPath, [KEEPER], { detached: true, stdio: [own, own, 'inherit', 'pipe'] });
    let isGone = false;
    const end = (): void => {
      if (!isGone) gone();
      isGone = true;
    };
    child.once('error', end);
    // When the machine is out of descriptors there is none; the error follows.
    const stream = (child.stdio as typeof child.stdio | undefined)?.[3];
    if (!stream) return { send: () => undefined, close: () => undefined, kill: () => undefined };
    // Its exit may be known before its last messages are read, and one of them may name the program it started.
    child.once('close', end);
    child.once('exit', () => {
      const timer = setTimeout(() => stream.destroy(), LAST_OUTPUT_MS);
      child.once('close', () => clearTimeout(timer));
    });
    const channel = openChannel(stream as Duplex, received, () => undefined);
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
  // The process at the gate may have been killed.
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
    // A process of the group runs as another user. The others got the signal.
    if (fault.code === 'EPERM') return true;
    throw fault;
  }
}

/** Resolves when it has ended, the rest of its group is killed and its output is read. */
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

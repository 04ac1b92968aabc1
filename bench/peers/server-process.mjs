/**
 * A server that a driver starts: on loopback, on a port from the OS, with its files in the directory of the measurement.
 * What it prints goes to a file there, so that a failed start can say why.
 */
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const START_MS = 60_000;
const STOP_MS = 10_000;

/** Starts `command` and resolves when `ready()` does; it is tried again while it throws. */
export async function serverProcess(command, args, { dir, ready, env = {} }) {
  const logFile = join(dir, 'server.log');
  const log = openSync(logFile, 'a');
  const child = spawn(command, args, {
    cwd: dir,
    stdio: ['ignore', log, log],
    env: { ...process.env, ...env },
  });
  closeSync(log);
  let ended = null;
  const exit = new Promise((resolve) => {
    const end = (says) => {
      ended ??= says;
      resolve();
    };
    child.once('error', (fault) => end(fault.message));
    child.once('exit', (code, signal) => end(`it ended with ${code ?? signal}`));
  });
  const says = () => readFileSync(logFile, 'utf8').trim().split('\n').slice(-5).join('\n');
  const untilMs = performance.now() + START_MS;
  for (;;) {
    try {
      await ready();
      break;
    } catch (fault) {
      if (ended !== null) throw new Error(`${command} did not start: ${ended}\n${says()}`);
      if (performance.now() > untilMs) {
        throw new Error(`${command} gave no answer in ${START_MS / 1_000} s.\n${says()}`, { cause: fault });
      }
      await pause(5);
    }
  }
  const end = async (signal) => {
    child.kill(signal);
    const isGone = await Promise.race([exit.then(() => true), pause(STOP_MS, false, { ref: false })]);
    if (!isGone) child.kill('SIGKILL');
    await exit;
  };
  return { pid: child.pid, stop: () => end('SIGTERM'), kill: () => end('SIGKILL') };
}

export async function freePort() {
  const server = createServer();
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

// The built command line as processes that go on while the test does something else: servers, holders, workers.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const PATIENCE_MS = 60_000;

export interface RunOptions {
  readonly env?: Record<string, string>;
  readonly input?: string | Uint8Array;
  /** Leaves standard input open behind `input`. */
  readonly staysOpen?: boolean;
  /** A program and its arguments that run it, such as `unshare`. */
  readonly under?: readonly string[];
}

/** Any JSON of the wire, as a test reads it. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies whose shape others have checked.
export type Body = any;

export interface Result {
  readonly status: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** One running `leasehold`. */
export class Process {
  stdout = '';
  stderr = '';
  readonly bytes: Buffer[] = [];
  readonly ended: Promise<Result>;
  private readonly child: ChildProcessWithoutNullStreams;

  constructor(args: readonly string[], { env = {}, input = '', staysOpen = false, under = [] }: RunOptions) {
    const [program = '', ...words] = [...under, process.execPath, MAIN, ...args];
    this.child = spawn(program, words, { env: { ...process.env, ...env } });
    this.child.stdout.on('data', (bytes: Buffer) => {
      this.bytes.push(bytes);
      this.stdout += bytes.toString('utf8');
    });
    this.child.stderr.on('data', (bytes: Buffer) => {
      this.stderr += bytes.toString('utf8');
    });
    this.child.stdin.on('error', () => undefined);
    if (staysOpen) this.child.stdin.write(input);
    else this.child.stdin.end(input);
    this.ended = new Promise((resolve) => {
      this.child.once('close', (status, signal) =>
        resolve({ status, signal, stdout: this.stdout, stderr: this.stderr }),
      );
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Whether the signal would be handled, and not end it. */
  catches(signal: NodeJS.Signals): boolean {
    return hasInMask(this.pid, 'SigCgt', signal);
  }

  /** Closes the reading end, as `head` does when it has seen enough. */
  unread(stream: 'stdout' | 'stderr'): void {
    this.child[stream].destroy();
  }

  /** One Ctrl-C under npm: it passes on what the terminal has sent to everybody already. */
  async interruptAsNpmDoes(): Promise<void> {
    this.kill('SIGINT');
    // Two of a kind that wait to be delivered would be one.
    await until('the first SIGINT to be delivered', () => !hasPending(this.pid, 'SIGINT'));
    if (!this.child.kill('SIGINT')) throw new Error('It had ended before the second SIGINT came.');
  }

  /** Ctrl-C again and again, as slowly as a person presses it, until it has ended. */
  async interruptAgainAndAgain(): Promise<void> {
    const ended = this.ended.then(() => true);
    for (let isEnded = false; !isEnded; ) {
      this.kill('SIGINT');
      const moment = new Promise<false>((resolve) => setTimeout(() => resolve(false), 400));
      isEnded = await Promise.race([ended, moment]);
    }
  }

  /** Waits until it has printed something that fits, and gives the match. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    let found: RegExpExecArray | null = null;
    await until(`${pattern} in the output of leasehold`, () => {
      found = pattern.exec(this.stdout) ?? pattern.exec(this.stderr);
      const { exitCode, signalCode } = this.child;
      if (found === null && (exitCode !== null || signalCode !== null)) {
        throw new Error(`It ended with ${exitCode ?? signalCode}: ${this.stdout}${this.stderr}`);
      }
      return found !== null;
    });
    return found!;
  }
}

/** A scratch directory, a server on it, and everything that was started; `close` ends it all. */
export class CliBench {
  readonly dir = mkdtempSync(join(tmpdir(), 'leasehold-cli-'));
  url = '';
  private server: Process | null = null;
  private readonly processes: Process[] = [];

  /** Starts the server, or another one on the same data after the first has ended. */
  async serve(env: Record<string, string> = {}): Promise<void> {
    const listen = this.url === '' ? '127.0.0.1:0' : new URL(this.url).host;
    const args = [
      'serve',
      '--data',
      join(this.dir, 'data'),
      '--listen',
      listen,
      '--json',
      '--log-level',
      'error',
    ];
    this.server = this.start(args, { env });
    const [, url] = await this.server.says(/"url":"([^"]+)"/);
    this.url = url!;
  }

  async stopServer(signal: NodeJS.Signals): Promise<Result> {
    this.server!.kill(signal);
    return this.server!.ended;
  }

  serverEnded(): Promise<Result> {
    return this.server!.ended;
  }

  get serverPid(): number {
    return this.server!.pid;
  }

  signalServer(signal: NodeJS.Signals): void {
    this.server!.kill(signal);
  }

  start(args: readonly string[], { env = {}, ...rest }: RunOptions = {}): Process {
    const started = new Process(args, { ...rest, env: { LEASEHOLD_URL: this.url, ...env } });
    this.processes.push(started);
    return started;
  }

  /** Runs a command to its end. */
  run(args: readonly string[], options?: RunOptions): Promise<Result> {
    return this.start(args, options).ended;
  }

  /** Asks the server itself, which is quicker than another process. */
  async get(path: string): Promise<Body> {
    return (await fetch(this.url + path)).json();
  }

  async post(path: string, body: object): Promise<Body> {
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(this.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return reply.json();
  }

  async close(): Promise<void> {
    for (const started of this.processes) {
      started.kill('SIGCONT');
      started.kill('SIGKILL');
    }
    await Promise.all(this.processes.map(({ ended }) => ended));
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Looks again and again until it is so; only what never comes is given up. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const from = performance.now();
  while (!(await isSo())) {
    if (performance.now() - from > PATIENCE_MS) throw new Error(`Waited in vain for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Whether a signal was sent to it that it has not seen yet. */
function hasPending(pid: number, signal: NodeJS.Signals): boolean {
  return hasInMask(pid, 'ShdPnd', signal);
}

function hasInMask(pid: number, name: string, signal: NodeJS.Signals): boolean {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, mask = ''] = new RegExp(`^${name}:\\s+([0-9a-f]+)$`, 'm').exec(status) ?? [];
  return ((BigInt(`0x${mask}`) >> BigInt(constants.signals[signal] - 1)) & 1n) === 1n;
}

/** Whether it still runs; what is dead and only waits to be collected does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

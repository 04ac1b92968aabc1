/**
 * `leasehold run`: holds a lease while a program runs, so that only one machine runs it at a time. The program
 * runs under a keeper, which ends it before the lease ends even when this process is killed or paused.
 */
import { constants, hostname } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { namedLeasesOf } from '../client/client.ts';
import type { LeaseHandle } from '../client/lease-handle.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { atMost } from '../keeper/at-most.ts';
import type { FromKeeper, Limits, ToKeeper } from '../keeper/keeper.ts';
import { hasMoved, limitsOf, tellEveryMs } from '../keeper/kill-deadlines.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { LIMITS } from '../protocol/limits.ts';
import type { Problem } from '../protocol/problem.ts';
import type { Timer } from '../seams/clock.ts';
import { exitCodeOf, type KeeperChannel, type SignalName } from '../seams/processes.ts';
import { boundedMs, defaulted, durationMs } from './arguments.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { hurriedInterrupts } from './ending-signals.ts';
import { EXIT, Failure, refused, startFailure } from './failure.ts';
import { heldText, visible } from './format.ts';
import type { Server, Shell } from './shell.ts';

/** Signals that are forwarded, because the program has its own terminal session. */
const PASSED_ON: readonly SignalName[] = [
  'SIGINT',
  'SIGTERM',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
];
const ENDING: readonly SignalName[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
/** The time limit of the release. The lease expires by itself, so a slow release must not delay the caller. */
const RELEASE_MS = 2_000;
const PROGRAM = 'program';

interface RunOptions extends ServerOptions {
  readonly ttl: number;
  readonly wait: number;
  readonly atLeast?: number;
  readonly holder?: string;
  readonly quiet?: boolean;
}

export function runCommand(shell: Shell): Command {
  return serverCommand('run')
    .description('Hold a lease while a program runs.')
    .usage('[options] <name> -- <command...>')
    .argument('<name>', 'the lease')
    .argument('<command...>', 'the program and its arguments, after --')
    .addOption(
      defaulted('--ttl <duration>', 'how long the lease lasts without renewal', durationMs, 15_000, '15s'),
    )
    .addOption(defaulted('--wait <duration>', 'how long to wait in line', durationMs, 0, 'not at all'))
    .option(
      '--at-least <duration>',
      'if the program ends sooner, exit at once but keep the lease until this long after its start',
      boundedMs(1, LIMITS.ttlMaxMs),
    )
    .option(
      '--holder <holder>',
      'the holder of the lease; runs with the same holder take it from each other (default: a new one for every run)',
    )
    .option('--quiet', 'print nothing on stderr when another run holds the lease; the exit code is still 73')
    .addHelpText(
      'after',
      `${examples(
        'leasehold run nightly-report -- ./make-report --full',
        'leasehold run deploy --wait 10m --ttl 30s -- ./deploy.sh',
        'leasehold run nightly-report --at-least 10m --quiet -- ./make-report   # in the crontab of two hosts: runs once',
        `leasehold run counter -- sh -c 'leasehold object put counter "$(./count)"'`,
      )}

The program finds in its environment:
  LEASEHOLD_LEASE_NAME, LEASEHOLD_LEASE_SEQ, LEASEHOLD_HOLDER   the lease and its fencing number
  LEASEHOLD_TOKEN_FILE   a file with the token of the grant, removed when the program has ended
  LEASEHOLD_URL          the server, so that \`leasehold object put\` needs nothing else

It runs in its own session and process group; signals are forwarded to the whole group, and processes left in the group
are ended with it. A second Ctrl-C within five seconds is forwarded as SIGKILL (two less than 200 ms apart count as one,
because npm forwards each twice). When the lease cannot be renewed, the group gets SIGTERM at 11/15 of --ttl after
the last renewal and SIGKILL 1/6 of --ttl later (at most 5s), before the lease ends. It is renewed every third of --ttl, so the
server may be away for 2/5 of --ttl at any time. When the lease is broken or superseded, the group gets SIGTERM at once,
and SIGKILL 1/6 of --ttl later (at most 1s). When another caller asks for the lease (\`leasehold lease ask\`), one line on stderr says so, with the reason;
the program keeps running.

Exit codes: the program's own, or 128 plus the number of the signal that ended it; 73 the lease was not acquired;
75 the lease was lost and the program was ended; 126 and 127 the program cannot be run or was not found.`,
    )
    .action((name: string, command: string[], options: RunOptions) =>
      withServer(shell, { ...options, isLive: true }, (lh, server) =>
        run(shell, lh, server, { name, command, ...options }),
      ),
    );
}

interface RunRequest extends RunOptions {
  readonly name: string;
  readonly command: readonly string[];
}

async function run(shell: Shell, lh: Leasehold, server: Server, request: RunRequest): Promise<void> {
  // Handled from start to end: before the program runs, a signal ends the attempt; afterwards, such as a Ctrl-C that npm
  // forwards, it must not end this process while the lease is released.
  const asked = new AbortController();
  shell.processes.onSignals(ENDING, (signal) => asked.abort(signal));
  // The keeper takes a moment to start, so it starts while the lease is acquired.
  const kept = new KeptProgram(shell);
  try {
    const token = shell.newToken();
    const holder = request.holder ?? `${hostname()}:${process.pid}:${shell.newToken().slice(0, 8)}`;
    const lease = await acquire(lh, { ...request, holder }, token, asked.signal);
    if (lease === null) {
      shell.exitWith(exitCodeBy(asked.signal));
      return;
    }
    const startedMs = shell.clock.monotonicMs();
    let exitCode: number;
    try {
      exitCode = await runUnder(shell, lease, kept, { server, token, request, asked: asked.signal });
    } catch (fault) {
      await atMost(shell.timers, RELEASE_MS, lease.release());
      throw fault;
    }
    const leftMs = startedMs + (request.atLeast ?? 0) - shell.clock.monotonicMs();
    if (leftMs > 0) {
      await keepFor(shell, lease, leftMs);
      await endByTime(shell, lh, lease, token);
      shell.exitWith(exitCode);
      return;
    }
    const loss = await atMost(shell.timers, RELEASE_MS, lease.finish());
    // Lost after the last renewal: the program has ended by itself, but ran for a while without the lease.
    if (loss) throw refused(loss.code, loss.message, EXIT.leaseLost);
    shell.exitWith(exitCode);
  } catch (fault) {
    const isBusy = fault instanceof Failure && fault.code === 'LEASE_HELD';
    if (!isBusy || !request.quiet) throw fault;
    shell.exitWith(fault.exitCode);
  } finally {
    kept.close();
  }
}

/** One renewal and no release: other runs are refused until the time is over, although this process has ended. */
async function keepFor(shell: Shell, lease: LeaseHandle, leftMs: number): Promise<void> {
  const { name } = lease;
  try {
    const kept = lease.extend(Math.max(leftMs, LIMITS.ttlMinMs)).then(() => true);
    if ((await atMost(shell.timers, RELEASE_MS, kept)) === true) return;
  } catch (fault) {
    if (!(fault instanceof LeaseholdError)) throw fault;
    if (fault.code === 'LEASE_LOST') throw refused(fault.code, fault.message, EXIT.leaseLost);
  }
  const says = `The server did not confirm the last renewal of ${name}: another run may begin sooner than --at-least says.`;
  shell.err.write(`leasehold: ${says}\n`);
}

/** Marks the lease as meant to expire: its end is then no incident. A renewal never shortens, so nothing else changes. */
async function endByTime(
  { timers }: Shell,
  lh: Leasehold,
  { name, holder }: LeaseHandle,
  token: string,
): Promise<void> {
  const request = { name, holder, token, ttl_ms: LIMITS.ttlMinMs, last: true };
  // Without an answer the console shows one false incident.
  await atMost(
    timers,
    RELEASE_MS,
    lh.call('lease.renew', request).catch(() => null),
  );
}

/** The exit code of a program that this signal ended. */
function exitCodeBy({ reason }: AbortSignal): number {
  return exitCodeOf({ code: null, signal: reason as SignalName }, constants.signals);
}

/** The lease; null when a signal ended the wait for it. */
async function acquire(
  lh: Leasehold,
  { name, command, ttl, wait, holder }: RunRequest & { readonly holder: string },
  token: string,
  asked: AbortSignal,
): Promise<LeaseHandle | null> {
  const metadata = { host: hostname(), pid: process.pid, program: command[0] };
  try {
    return await namedLeasesOf(lh).acquire(name, { ttl, wait, holder, token, metadata, signal: asked });
  } catch (fault) {
    if (asked.aborted && fault === asked.reason) return null;
    throw fault instanceof LeaseholdError && fault.problem !== null
      ? notAcquired(name, fault.problem)
      : fault;
  }
}

function notAcquired(name: string, problem: Problem): Failure {
  const { code, detail, holder, remaining_ms: remainingMs } = problem;
  // A grant that was over before it could be confirmed was not acquired either.
  const isContention = code === 'LEASE_HELD' || code === 'LEASE_NOT_HELD' || code === 'LEASE_EXPIRED';
  const who = code === 'LEASE_HELD' && holder !== undefined ? heldText(name, holder, remainingMs) : detail;
  return refused(code, who, isContention ? EXIT.notAcquired : undefined);
}

interface Setting {
  readonly server: Server;
  readonly token: string;
  readonly request: RunRequest;
  /** Aborted by a signal that asks for an end. */
  readonly asked: AbortSignal;
}

/** Runs the program and returns the exit code. */
async function runUnder(
  shell: Shell,
  lease: LeaseHandle,
  kept: KeptProgram,
  setting: Setting,
): Promise<number> {
  const { server, token, request, asked } = setting;
  const scratch = await shell.files.makeTemporary('leasehold-run-');
  const tokenFile = join(scratch, 'token');
  try {
    await shell.files.write(tokenFile, `${token}\n`);
    const env = {
      ...shell.env,
      LEASEHOLD_LEASE_NAME: lease.name,
      LEASEHOLD_LEASE_SEQ: String(lease.leaseSeq),
      LEASEHOLD_HOLDER: lease.holder,
      LEASEHOLD_TOKEN_FILE: tokenFile,
      LEASEHOLD_URL: server.url,
      ...(server.token === null ? {} : { LEASEHOLD_TOKEN: server.token }),
    };
    // Signals from here on are forwarded to the program.
    if (asked.aborted) return exitCodeBy(asked);
    lease.asked.addEventListener('abort', () => sayAsked(shell, lease), { once: true });
    const end = await kept.run({ command: request.command, env, scratch }, lease, request.ttl);
    if (end.is === 'not-started') throw startFailure(request.command[0]!, end);
    if (!end.isStopped) return exitCodeOf(end.end, constants.signals);
    throw refused('LEASE_LOST', `${lossOf(lease)} The program was ended.`, EXIT.leaseLost);
  } finally {
    await shell.files.remove(scratch);
  }
}

/** Whether to give way is decided by people: the program only gets signals. */
function sayAsked({ err }: Shell, { asked }: LeaseHandle): void {
  const { code, message } = asked.reason as LeaseholdError;
  err.write(`leasehold: ${code}: ${visible(message)}\n`);
}

function lossOf({ name, signal }: LeaseHandle): string {
  const { reason } = signal;
  return reason instanceof Error ? reason.message : `The lease on "${name}" could not be renewed in time.`;
}

type ProgramEnd = Extract<FromKeeper, { is: 'ended' | 'not-started' }>;

/** One program under a keeper of its own. */
class KeptProgram {
  private readonly shell: Shell;
  private readonly keeper: KeeperChannel;
  private pid = 0;
  private end: (end: ProgramEnd) => void = () => undefined;
  private fail: (fault: Failure) => void = () => undefined;
  private readonly ended: Promise<ProgramEnd>;

  constructor(shell: Shell) {
    this.shell = shell;
    this.ended = new Promise((resolve, reject) => {
      this.end = resolve;
      this.fail = reject;
    });
    // The keeper may end before `run` awaits this promise.
    this.ended.catch(() => undefined);
    this.keeper = shell.processes.startKeeper({
      sharesInput: true,
      received: (message) => this.hear(message as FromKeeper),
      gone: () => this.lost(),
    });
  }

  /** Runs until the program has ended, and forwards signals meanwhile. */
  async run(
    program: Pick<ToKeeper & { do: 'start' }, 'command' | 'env' | 'scratch'>,
    lease: LeaseHandle,
    ttlMs: number,
  ): Promise<ProgramEnd> {
    const { machineClock, processes, timers } = this.shell;
    const limitsNow = (): Limits => limitsOf(machineClock, ttlMs, () => lease.remaining());
    const stop = (): void => this.tell({ do: 'stop', id: PROGRAM });
    const isHurried = hurriedInterrupts(this.shell.clock);
    const unhear = processes.onSignals(PASSED_ON, (signal) =>
      this.tell({ do: 'signal', id: PROGRAM, signal: isHurried(signal) ? 'SIGKILL' : signal }),
    );
    let told = limitsNow();
    let timer: Timer | null = null;
    const tellAgain = (): void => {
      const limits = limitsNow();
      // The limits of a lost lease lie in the past, which would kill at once; `stop` leaves time to end.
      if (!lease.signal.aborted && hasMoved(told, limits)) {
        told = limits;
        this.tell({ do: 'limit', id: PROGRAM, limits });
      }
      timer = timers.after(tellEveryMs(ttlMs), tellAgain);
    };
    this.tell({ do: 'start', id: PROGRAM, ...program, limits: told, output: null });
    lease.signal.addEventListener('abort', stop, { once: true });
    if (lease.signal.aborted) stop();
    tellAgain();
    try {
      return await this.ended;
    } finally {
      (timer as Timer | null)?.cancel();
      unhear();
      lease.signal.removeEventListener('abort', stop);
    }
  }

  close(): void {
    this.keeper.close();
  }

  private tell(message: ToKeeper): void {
    this.keeper.send(message);
  }

  private hear(message: FromKeeper): void {
    if (message.is === 'started') this.pid = message.pid;
    else if (message.is === 'ended' || message.is === 'not-started') {
      this.pid = 0;
      this.end(message);
    }
  }

  /** Without a keeper the program could outlive the lease while this process is paused, so it ends now. */
  private lost(): void {
    if (this.pid !== 0) this.shell.processes.signalGroup(this.pid, 'SIGKILL');
    this.fail(
      new Failure(
        'The keeper process, which ends the program in time when its lease is lost, has died, so the program was ended too.',
      ),
    );
  }
}

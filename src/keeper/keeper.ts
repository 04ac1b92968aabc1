/**
 * The keeper: a small process beside `run`, `work` and `orchestrate`. It ensures that no program outlives its lease,
 * even when the process that holds the lease is killed or paused. Deadlines are moments of a clock that all processes
 * of the machine share, and the keeper acts on them by itself:
 *
 *   terminateBy reached    SIGTERM to the process group
 *   killBy reached         SIGKILL to the process group
 *   lease holder gone      SIGTERM now, SIGKILL one grace later or at killBy, whichever is first
 *
 * It starts the program itself (`start`), so that the program is never unsupervised, or watches a running one
 * (`watch`), which is enough where the authority cancels late completions.
 */
import type { Clock, Timer, Timers } from '../seams/clock.ts';
import type { Moment } from '../seams/deadline.ts';
import type { LogFiles } from '../seams/log-files.ts';
import type { Ended, Pipes, Processes, SignalName } from '../seams/processes.ts';
import { atMost } from './at-most.ts';
import { BoundedLog } from './bounded-log.ts';
import { LineWatch } from './line-watch.ts';

export interface Limits {
  readonly terminateBy: Moment;
  readonly killBy: Moment;
  /** Between SIGTERM and SIGKILL, when the program is stopped early. */
  readonly graceMs: number;
}

/** Where the output of a program without a terminal goes. */
export interface KeptOutput {
  readonly file: string;
  /** Limit for the file and its predecessor together. */
  readonly bytesMax: number;
  /** A regular expression. The first matching line of the standard output is reported as `ready`. */
  readonly ready: string | null;
}

export type ToKeeper =
  | {
      readonly do: 'start';
      readonly id: string;
      readonly command: readonly string[];
      readonly env: Readonly<Record<string, string | undefined>>;
      readonly limits: Limits;
      /** A file with a secret, removed when the program ends after its starter. */
      readonly scratch: string | null;
      /** Null: the program shares the keeper's input and output, which are those of its starter. */
      readonly output: KeptOutput | null;
    }
  | { readonly do: 'watch'; readonly id: string; readonly pid: number; readonly limits: Limits }
  | { readonly do: 'limit'; readonly id: string; readonly limits: Limits }
  | { readonly do: 'signal'; readonly id: string; readonly signal: SignalName }
  /** The program's own grace by default. A second stop can only make the end earlier. */
  | { readonly do: 'stop'; readonly id: string; readonly graceMs?: number }
  | { readonly do: 'forget'; readonly id: string };

export type FromKeeper =
  | {
      readonly is: 'started';
      readonly id: string;
      readonly pid: number;
      readonly startTime: string | null;
    }
  /** It has received the request to stop. */
  | { readonly is: 'stopping'; readonly id: string }
  | { readonly is: 'ready'; readonly id: string }
  /** Its output can no longer be written. It keeps running. */
  | { readonly is: 'unlogged'; readonly id: string; readonly message: string }
  | { readonly is: 'not-started'; readonly id: string; readonly code: string; readonly message: string }
  /** `isStopped`: the keeper ended it, on a deadline or on request. */
  | { readonly is: 'ended'; readonly id: string; readonly end: Ended; readonly isStopped: boolean };

export interface KeeperWorld {
  /** `machineClock`, or another clock that all senders of limits share. */
  readonly clock: Clock;
  readonly timers: Timers;
  readonly processes: Pick<Processes, 'start' | 'signalGroup'>;
  readonly files: LogFiles & { remove(path: string): Promise<void> };
}

/** A wall clock may jump, and a monotonic clock stops while the machine sleeps. No timer notices either. */
const LOOK_EVERY_MS = 100;
const KILLS_MAX = 50;
const LOG_CLOSE_MS = 1_000;

interface KeptProgram {
  /** 0 until it runs. */
  pid: number;
  /** Signals to forward once it runs. */
  readonly early: SignalName[];
  limits: Limits;
  isStopped: boolean;
  /** How many times SIGKILL was sent. */
  kills: number;
  /** Its end is not reported to us, so it has to be polled. */
  readonly isWatched: boolean;
}

export class Keeper {
  private readonly world: KeeperWorld;
  private readonly say: (message: FromKeeper) => void;
  private readonly programs = new Map<string, KeptProgram>();
  private timer: Timer | null = null;
  private hold: Timer | null = null;
  private isAlone = false;

  constructor(world: KeeperWorld, say: (message: FromKeeper) => void) {
    this.world = world;
    this.say = say;
  }

  receive(message: ToKeeper): void {
    if (message.do === 'start') {
      void this.start(message);
      return;
    }
    if (message.do === 'watch') {
      this.add(message.id, {
        pid: message.pid,
        early: [],
        limits: message.limits,
        isStopped: false,
        kills: 0,
        isWatched: true,
      });
      return;
    }
    const program = this.programs.get(message.id);
    // It has ended; the report is already on its way.
    if (program === undefined) return;
    if (message.do === 'limit') {
      // A program that was told to end ends, even if a renewal succeeds afterwards.
      if (!program.isStopped) program.limits = message.limits;
    } else if (message.do === 'signal') this.passOn(program, message.signal);
    else if (message.do === 'stop') {
      this.stop(program, message.graceMs);
      this.say({ is: 'stopping', id: message.id });
    } else this.remove(message.id);
    this.look();
  }

  /** The lease holder is gone: everything it started must end. */
  abandon(): void {
    this.isAlone = true;
    for (const program of this.programs.values()) this.stop(program);
    this.look();
  }

  private async start(message: ToKeeper & { do: 'start' }): Promise<void> {
    const { id, command, env, limits, scratch, output } = message;
    const program: KeptProgram = { pid: 0, early: [], limits, isStopped: false, kills: 0, isWatched: false };
    this.add(id, program);
    // The deadline has passed: the program is not started.
    if (program.isStopped) {
      this.say({ is: 'ended', id, end: { code: null, signal: 'SIGTERM' }, isStopped: true });
      this.remove(id);
      return;
    }
    const log = output === null ? null : this.openLog(id, output);
    try {
      const pipes = output === null || log === null ? null : this.pipesInto(id, output, log);
      const { pid, startTime, ended } = await this.world.processes.start(command, { env, pipes });
      program.pid = pid;
      this.say({ is: 'started', id, pid, startTime });
      // A stop or a signal may have arrived while it was starting.
      if (program.isStopped) this.signal(program, 'SIGTERM');
      for (const signal of program.early) this.signal(program, signal);
      this.look();
      const end = await ended;
      // A hanging disk must not delay the end.
      if (log !== null) await atMost(this.world.timers, LOG_CLOSE_MS, log.close());
      this.say({ is: 'ended', id, end, isStopped: program.isStopped });
    } catch (fault) {
      if (!(fault instanceof Error && 'code' in fault)) throw fault;
      this.say({ is: 'not-started', id, code: String(fault.code), message: fault.message });
    } finally {
      if (this.isAlone && scratch !== null) await this.world.files.remove(scratch);
      this.remove(id);
    }
  }

  private add(id: string, program: KeptProgram): void {
    this.programs.set(id, program);
    this.hold ??= this.world.timers.hold();
    if (this.isAlone) this.stop(program);
    this.look();
  }

  private remove(id: string): void {
    this.programs.delete(id);
    if (this.programs.size > 0) return;
    this.timer?.cancel();
    this.hold?.cancel();
    this.timer = null;
    this.hold = null;
  }

  private openLog(id: string, { file, bytesMax }: KeptOutput): BoundedLog {
    const { files } = this.world;
    return new BoundedLog(files, file, bytesMax, ({ message }) => this.say({ is: 'unlogged', id, message }));
  }

  private pipesInto(id: string, { ready }: KeptOutput, log: BoundedLog): Pipes {
    const watch =
      ready === null ? null : new LineWatch(new RegExp(ready), () => this.say({ is: 'ready', id }));
    return {
      input: new Uint8Array(),
      output: (bytes) => {
        watch?.read(bytes);
        log.write(bytes);
      },
      errors: (bytes) => log.write(bytes),
    };
  }

  private stop(program: KeptProgram, graceMs: number = program.limits.graceMs): void {
    const { limits, isStopped } = program;
    const { clock } = this.world;
    program.isStopped = true;
    const killBy = {
      monotonicMs: Math.min(limits.killBy.monotonicMs, clock.monotonicMs() + graceMs),
      wallMs: Math.min(limits.killBy.wallMs, clock.wallMs() + graceMs),
    };
    program.limits = { ...limits, killBy };
    if (!isStopped) this.signal(program, 'SIGTERM');
  }

  private passOn(program: KeptProgram, signal: SignalName): void {
    if (program.pid === 0) program.early.push(signal);
    else this.signal(program, signal);
  }

  private signal({ pid }: KeptProgram, signal: SignalName): boolean {
    return pid === 0 || this.world.processes.signalGroup(pid, signal);
  }

  /** Acts on every deadline that has passed and schedules the next look. */
  private look(): void {
    let soonestMs = LOOK_EVERY_MS;
    for (const [id, program] of this.programs) {
      // Not early: the lease leaves it all the time until killBy.
      if (!program.isStopped && this.leftMs(program.limits.terminateBy) <= 0)
        this.stop(program, Number.POSITIVE_INFINITY);
      const leftMs = this.leftMs(program.isStopped ? program.limits.killBy : program.limits.terminateBy);
      if (leftMs <= 0) {
        this.signal(program, 'SIGKILL');
        program.kills += 1;
      } else soonestMs = Math.min(soonestMs, leftMs);
      if (program.isWatched && this.isGone(program)) this.remove(id);
    }
    this.timer?.cancel();
    this.timer = this.programs.size === 0 ? null : this.world.timers.after(soonestMs, () => this.look());
  }

  /** A zombie that is never reaped still counts as a process, so polling has to end at some point. */
  private isGone({ pid, kills }: KeptProgram): boolean {
    return kills > KILLS_MAX || !this.world.processes.signalGroup(pid, 0);
  }

  private leftMs({ monotonicMs, wallMs }: Moment): number {
    const { clock } = this.world;
    return Math.min(monotonicMs - clock.monotonicMs(), wallMs - clock.wallMs());
  }
}

/**
 * The keeper: a small process beside `run`, `work` and `orchestrate` that sees to it that no program outlives its
 * lease, even when the process that holds the lease is killed or paused. It is told deadlines in moments that every process of
 * the machine reads alike, and it needs nobody to act on them:
 *
 *   terminateBy reached    SIGTERM to the whole group
 *   killBy reached         SIGKILL to the whole group
 *   whoever held it gone   SIGTERM now, SIGKILL one grace later or at killBy, whichever is first
 *
 * It either starts the program itself (`start`), so that there is no moment in which it runs unkept, or is shown
 * one that runs already (`watch`), which is good enough where the authority cancels whatever comes too late.
 */
import type { Clock, Timer, Timers } from '../seams/clock.ts';
import type { Moment } from '../seams/deadline.ts';
import type { LogFiles } from '../seams/log-files.ts';
import type { Ended, Pipes, Processes, SignalName } from '../seams/processes.ts';
import { BoundedLog } from './bounded-log.ts';
import { LineWatch } from './line-watch.ts';
import { atMost } from './waiting.ts';

export interface Limits {
  readonly terminateBy: Moment;
  readonly killBy: Moment;
  /** Between SIGTERM and SIGKILL, when it is stopped before its time. */
  readonly graceMs: number;
}

/** Where the output of a program goes that has no terminal to write to. */
export interface KeptOutput {
  readonly file: string;
  /** Of the file and its predecessor together. */
  readonly bytesMax: number;
  /** A regular expression; the first line of the standard output that fits it is told as `ready`. */
  readonly ready: string | null;
}

export type ToKeeper =
  | {
      readonly do: 'start';
      readonly id: string;
      readonly command: readonly string[];
      readonly env: Readonly<Record<string, string | undefined>>;
      readonly limits: Limits;
      /** What is to be removed should whoever starts it be gone by its end: it holds a secret. */
      readonly scratch: string | null;
      /** Null: the program shares the input and output of the keeper, which are those of whoever started it. */
      readonly output: KeptOutput | null;
    }
  | { readonly do: 'watch'; readonly id: string; readonly pid: number; readonly limits: Limits }
  | { readonly do: 'limit'; readonly id: string; readonly limits: Limits }
  | { readonly do: 'signal'; readonly id: string; readonly signal: SignalName }
  /** Its own grace unless given; a second one can only make the end come sooner. */
  | { readonly do: 'stop'; readonly id: string; readonly graceMs?: number }
  | { readonly do: 'forget'; readonly id: string };

export type FromKeeper =
  | {
      readonly is: 'started';
      readonly id: string;
      readonly pid: number;
      readonly startTime: string | null;
    }
  /** It has heard that it is to stop. */
  | { readonly is: 'stopping'; readonly id: string }
  | { readonly is: 'ready'; readonly id: string }
  /** Its output can no longer be written down; it runs on. */
  | { readonly is: 'unlogged'; readonly id: string; readonly message: string }
  | { readonly is: 'not-started'; readonly id: string; readonly code: string; readonly message: string }
  /** `isStopped`: the keeper ended it, by itself or because it was told to. */
  | { readonly is: 'ended'; readonly id: string; readonly end: Ended; readonly isStopped: boolean };

export interface KeeperWorld {
  /** `machineClock`, or another that all who send limits read as well. */
  readonly clock: Clock;
  readonly timers: Timers;
  readonly processes: Pick<Processes, 'start' | 'signalGroup'>;
  readonly files: LogFiles & { remove(path: string): Promise<void> };
}

/** A wall clock may jump, and a monotonic one stands still while the machine sleeps: neither timer would notice. */
const LOOK_EVERY_MS = 100;
const KILLS_MAX = 50;
const LOG_CLOSE_MS = 1_000;

interface Ward {
  /** 0 until it runs. */
  pid: number;
  /** What was to be passed on to it before that. */
  readonly early: SignalName[];
  limits: Limits;
  isStopped: boolean;
  /** How often it was told to die. */
  kills: number;
  /** Nobody will tell us that it has ended, so we have to look. */
  readonly isWatched: boolean;
}

export class Keeper {
  private readonly world: KeeperWorld;
  private readonly say: (message: FromKeeper) => void;
  private readonly wards = new Map<string, Ward>();
  private timer: Timer | null = null;
  private hold: Timer | null = null;
  private isAlone = false;

  constructor(world: KeeperWorld, say: (message: FromKeeper) => void) {
    this.world = world;
    this.say = say;
  }

  hear(message: ToKeeper): void {
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
    const ward = this.wards.get(message.id);
    // It has ended meanwhile, and the word of it is on its way.
    if (ward === undefined) return;
    if (message.do === 'limit') {
      // What has been told to end ends, even if a renewal got through after all.
      if (!ward.isStopped) ward.limits = message.limits;
    } else if (message.do === 'signal') this.passOn(ward, message.signal);
    else if (message.do === 'stop') {
      this.stop(ward, message.graceMs);
      this.say({ is: 'stopping', id: message.id });
    } else this.remove(message.id);
    this.look();
  }

  /** Whoever held the leases is gone: nothing it started may go on. */
  abandon(): void {
    this.isAlone = true;
    for (const ward of this.wards.values()) this.stop(ward);
    this.look();
  }

  private async start(message: ToKeeper & { do: 'start' }): Promise<void> {
    const { id, command, env, limits, scratch, output } = message;
    const ward: Ward = { pid: 0, early: [], limits, isStopped: false, kills: 0, isWatched: false };
    this.add(id, ward);
    // Too late already: what would be ended at once is not even begun.
    if (ward.isStopped) {
      this.say({ is: 'ended', id, end: { code: null, signal: 'SIGTERM' }, isStopped: true });
      this.remove(id);
      return;
    }
    const log = output === null ? null : this.openLog(id, output);
    try {
      const pipes = output === null || log === null ? null : this.pipesInto(id, output, log);
      const { pid, startTime, ended } = await this.world.processes.start(command, { env, pipes });
      ward.pid = pid;
      this.say({ is: 'started', id, pid, startTime });
      // It may have been told to stop while it was starting, or sent something.
      if (ward.isStopped) this.signal(ward, 'SIGTERM');
      for (const signal of ward.early) this.signal(ward, signal);
      this.look();
      const end = await ended;
      // A disk that hangs must not keep a slot.
      if (log !== null) await atMost(this.world.timers, LOG_CLOSE_MS, log.close());
      this.say({ is: 'ended', id, end, isStopped: ward.isStopped });
    } catch (fault) {
      if (!(fault instanceof Error && 'code' in fault)) throw fault;
      this.say({ is: 'not-started', id, code: String(fault.code), message: fault.message });
    } finally {
      if (this.isAlone && scratch !== null) await this.world.files.remove(scratch);
      this.remove(id);
    }
  }

  private add(id: string, ward: Ward): void {
    this.wards.set(id, ward);
    this.hold ??= this.world.timers.hold();
    if (this.isAlone) this.stop(ward);
    this.look();
  }

  private remove(id: string): void {
    this.wards.delete(id);
    if (this.wards.size > 0) return;
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

  private stop(ward: Ward, graceMs: number = ward.limits.graceMs): void {
    const { limits, isStopped } = ward;
    const { clock } = this.world;
    ward.isStopped = true;
    const killBy = {
      monotonicMs: Math.min(limits.killBy.monotonicMs, clock.monotonicMs() + graceMs),
      wallMs: Math.min(limits.killBy.wallMs, clock.wallMs() + graceMs),
    };
    ward.limits = { ...limits, killBy };
    if (!isStopped) this.signal(ward, 'SIGTERM');
  }

  private passOn(ward: Ward, signal: SignalName): void {
    if (ward.pid === 0) ward.early.push(signal);
    else this.signal(ward, signal);
  }

  private signal({ pid }: Ward, signal: SignalName): boolean {
    return pid === 0 || this.world.processes.signalGroup(pid, signal);
  }

  /** Acts on every deadline that has come, and comes back for the next. */
  private look(): void {
    let soonestMs = LOOK_EVERY_MS;
    for (const [id, ward] of this.wards) {
      if (!ward.isStopped && this.leftMs(ward.limits.terminateBy) <= 0) this.stop(ward);
      const leftMs = this.leftMs(ward.isStopped ? ward.limits.killBy : ward.limits.terminateBy);
      if (leftMs <= 0) {
        this.signal(ward, 'SIGKILL');
        ward.kills += 1;
      } else soonestMs = Math.min(soonestMs, leftMs);
      if (ward.isWatched && this.isGone(ward)) this.remove(id);
    }
    this.timer?.cancel();
    this.timer = this.wards.size === 0 ? null : this.world.timers.after(soonestMs, () => this.look());
  }

  /** A dead process that nobody collects still counts as one, so at some point asking has to end. */
  private isGone({ pid, kills }: Ward): boolean {
    return kills > KILLS_MAX || !this.world.processes.signalGroup(pid, 0);
  }

  private leftMs({ monotonicMs, wallMs }: Moment): number {
    const { clock } = this.world;
    return Math.min(monotonicMs - clock.monotonicMs(), wallMs - clock.wallMs());
  }
}

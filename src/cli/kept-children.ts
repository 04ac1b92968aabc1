/**
 * The programs of a worker, each in its own process group. One keeper watches them together with the deadlines of
 * their leases, so that none outlives its lease by much even when the worker is killed or paused.
 */

import type { Limits, ToKeeper } from '../keeper/keeper.ts';
import { hasMoved, limitsOf, tellEveryMs } from '../keeper/kill-deadlines.ts';
import type { Timer } from '../seams/clock.ts';
import type { Ended, KeeperChannel, StartOptions } from '../seams/processes.ts';
import type { Shell } from './shell.ts';

/** After losing this many keepers the worker starts no new one; it still ends its programs itself. */
const KEEPERS_LOST_MAX = 10;

interface Watched {
  readonly remainingMs: () => number;
  /** As last sent to the keeper. */
  limits: Limits;
}

/** How a program ended, and whether it was ended because its lease was lost. */
export interface KeptEnd extends Ended {
  readonly isStopped: boolean;
}

/** What ends a program: SIGTERM when the signal aborts, SIGKILL this much later. */
export interface Ender {
  readonly signal: AbortSignal;
  killAfterMs(): number;
}

export class KeptChildren {
  private readonly shell: Shell;
  private readonly ttlMs: number;
  private keeper: KeeperChannel | null = null;
  private keepersLost = 0;
  private readonly watched = new Map<number, Watched>();
  private timer: Timer | null = null;
  private isClosed = false;

  constructor(shell: Shell, ttlMs: number) {
    this.shell = shell;
    this.ttlMs = ttlMs;
    // Started now, because it takes a moment, and a program that starts earlier would be unwatched.
    this.startKeeper();
  }

  /** Starts a program and returns how it ended, by itself or because of one of the enders. */
  async run(
    command: readonly string[],
    options: Pick<StartOptions, 'env' | 'pipes'>,
    enders: readonly Ender[],
    remainingMs: () => number,
  ): Promise<KeptEnd> {
    const { processes, timers } = this.shell;
    const begun = (pid: number): void => this.watch(pid, remainingMs);
    const { pid, ended } = await processes.start(command, { ...options, begun });
    const kills: Timer[] = [];
    const unlisten = enders.map(({ signal, killAfterMs }) => {
      const end = (): void => {
        processes.signalGroup(pid, 'SIGTERM');
        kills.push(timers.after(killAfterMs(), () => processes.signalGroup(pid, 'SIGKILL')));
      };
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
      return () => signal.removeEventListener('abort', end);
    });
    try {
      const end = await ended;
      return { ...end, isStopped: enders.some(({ signal }) => signal.aborted) || this.isPast(pid) };
    } finally {
      for (const stop of unlisten) stop();
      for (const kill of kills) kill.cancel();
      this.watched.delete(pid);
      this.tell({ do: 'forget', id: String(pid) });
    }
  }

  close(): void {
    this.isClosed = true;
    this.timer?.cancel();
    this.keeper?.close();
  }

  private startKeeper(): void {
    this.keeper = this.shell.processes.startKeeper({
      sharesInput: false,
      received: () => undefined,
      gone: () => this.replaceKeeper(),
    });
  }

  /** Replaces a keeper that died; the new one watches all programs. */
  private replaceKeeper(): void {
    this.keeper = null;
    this.keepersLost += 1;
    if (this.isClosed || this.keepersLost > KEEPERS_LOST_MAX) return;
    this.startKeeper();
    for (const [pid, { remainingMs }] of this.watched) this.watch(pid, remainingMs);
  }

  private watch(pid: number, remainingMs: () => number): void {
    const limits = this.limits(remainingMs);
    this.watched.set(pid, { remainingMs, limits });
    this.tell({ do: 'watch', id: String(pid), pid, limits });
    if (this.timer === null) this.tellAgain();
  }

  /** Whether the keeper has ended it, by the limits last sent. */
  private isPast(pid: number): boolean {
    const { machineClock } = this.shell;
    const { monotonicMs, wallMs } = this.watched.get(pid)!.limits.terminateBy;
    return machineClock.monotonicMs() >= monotonicMs || machineClock.wallMs() >= wallMs;
  }

  private readonly tellAgain = (): void => {
    for (const [pid, watched] of this.watched) {
      // A program without remaining time is being ended; one that the keeper has ended gets no new limits.
      if (watched.remainingMs() <= 0 || this.isPast(pid)) continue;
      const limits = this.limits(watched.remainingMs);
      if (!hasMoved(watched.limits, limits)) continue;
      watched.limits = limits;
      this.tell({ do: 'limit', id: String(pid), limits });
    }
    this.timer =
      this.watched.size === 0 ? null : this.shell.timers.after(tellEveryMs(this.ttlMs), this.tellAgain);
  };

  private limits(remainingMs: () => number): Limits {
    return limitsOf(this.shell.machineClock, this.ttlMs, remainingMs);
  }

  private tell(message: ToKeeper): void {
    this.keeper?.send(message);
  }
}

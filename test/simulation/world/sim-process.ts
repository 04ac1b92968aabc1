/**
 * One run of a program on a machine. It can be killed between any two things that happen to it: then its timers never
 * ring, its reads and writes never come back, and whatever of it still waits for a promise waits for ever. It can be
 * stopped for a while: then everything that should have happened to it happens afterwards, in order.
 */
import type { Timer, Timers } from '../../../src/seams/clock.ts';
import type { Kernel, Owner } from './kernel.ts';
import type { Random } from './random.ts';
import type { SimClock } from './sim-clock.ts';

/** A timer is never early, and this much late at most while its loop is free. */
const LATE_MS = 0.5;

export class SimProcess implements Owner {
  readonly name: string;
  readonly clock: SimClock;
  readonly kernel: Kernel;
  isDead = false;
  stoppedUntilMs = 0;
  /** Its other threads stand still only while it is paused. */
  readonly threads: Owner & { stoppedUntilMs: number };
  readonly #random: Random;
  readonly #atDeath: (() => void)[] = [];

  constructor(kernel: Kernel, name: string, clock: SimClock, random: Random) {
    this.kernel = kernel;
    this.name = name;
    this.clock = clock;
    this.#random = random;
    const isDead = (): boolean => this.isDead;
    this.threads = {
      stoppedUntilMs: 0,
      get isDead() {
        return isDead();
      },
    };
  }

  readonly timers: Timers = {
    after: (ms, call) => this.#timer(ms, call),
    soon: (call) => {
      this.kernel.after(0, this, call);
    },
    hold: () => ({ cancel: () => undefined }),
  };

  readonly newToken = (): string => this.#random.token();

  /** Keeps its loop busy. */
  block(forMs: number): void {
    this.stoppedUntilMs = Math.max(this.stoppedUntilMs, this.kernel.nowMs + forMs);
  }

  /** Stops all of it, as SIGSTOP does. */
  pause(forMs: number): void {
    this.block(forMs);
    this.threads.stoppedUntilMs = this.stoppedUntilMs;
  }

  /** Ends whatever stops it. */
  resume(): void {
    this.stoppedUntilMs = 0;
    this.threads.stoppedUntilMs = 0;
  }

  /** Calls when the process dies, before anything else happens. */
  whenDead(call: () => void): void {
    this.#atDeath.push(call);
  }

  die(): void {
    if (this.isDead) return;
    this.isDead = true;
    for (const call of this.#atDeath.splice(0)) call();
  }

  /** Waits by the clock of this machine. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.timers.after(ms, resolve);
    });
  }

  #timer(ms: number, call: () => void): Timer {
    const dueMs = this.clock.monotonicMs() + Math.max(ms, 0);
    let arranged = { cancel: () => {} };
    const arrange = (leftMs: number): void => {
      const late = this.#random.span(0, LATE_MS);
      arranged = this.kernel.at(this.clock.simMsIn(leftMs) + late, this, () => {
        // The clock may have stood still, or slowed down, since.
        const stillMs = dueMs - this.clock.monotonicMs();
        if (stillMs > 0.000_5) arrange(stillMs);
        else call();
      });
    };
    arrange(Math.max(ms, 0));
    return { cancel: () => arranged.cancel() };
  }
}

/** A promise that never settles, because its waiter is dead. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

/**
 * Time that moves only on request: both clocks and their timers. Ids are sequential, so every run of a test is the
 * same. Subclasses decide how the event loop runs.
 */
import type { Timer } from '../seams/clock.ts';

/** The start of 2026. */
const START_MS = 1_767_225_600_000;

interface Pending {
  readonly dueMs: number;
  readonly call: () => void;
}

export abstract class ManualTime {
  wallMs = START_MS;
  monotonicMs = 1_000;
  private suspendedMs = 0;
  readonly hashSeed = 7;
  /** How many holds keep the process alive. */
  holds = 0;
  private pending: Pending[] = [];
  private tokens = 0;

  readonly clock = {
    wallMs: (): number => this.wallMs,
    monotonicMs: (): number => this.monotonicMs,
    uptimeMs: (): number => this.monotonicMs + this.suspendedMs,
  };

  readonly timers = {
    after: (ms: number, call: () => void): Timer => {
      const timer = { dueMs: this.monotonicMs + ms, call };
      this.pending.push(timer);
      return {
        cancel: () => {
          this.pending = this.pending.filter((other) => other !== timer);
        },
      };
    },
    soon: (call: () => void): void => this.soon(call),
    hold: (): Timer => {
      this.holds += 1;
      return {
        cancel: () => {
          this.holds -= 1;
        },
      };
    },
  };

  readonly newToken = (): string => {
    this.tokens += 1;
    return `token-${String(this.tokens).padStart(16, '0')}`;
  };

  protected abstract soon(call: () => void): void;

  /** Runs everything that is ready until nothing is. */
  abstract settle(): Promise<void>;

  /** Advances both clocks, timer by timer. */
  async advance(ms: number): Promise<void> {
    await this.settle();
    const untilMs = this.monotonicMs + ms;
    for (let due = this.takeDue(untilMs); due !== null; due = this.takeDue(untilMs)) {
      this.moveTo(due.dueMs);
      due.call();
      await this.settle();
    }
    this.moveTo(untilMs);
    await this.settle();
  }

  /** Sets the wall clock only, as an administrator would. The monotonic clock is unaffected. */
  setWall(ms: number): void {
    this.wallMs = ms;
  }

  /** The machine sleeps: its wall clock goes on, its monotonic clock and its timers stand still. */
  suspend(ms: number): void {
    this.wallMs += ms;
    this.suspendedMs += ms;
  }

  /** Of several timers due at the same time, the one set first. */
  private takeDue(untilMs: number): Pending | null {
    let first: Pending | null = null;
    for (const timer of this.pending) {
      if (timer.dueMs <= untilMs && (first === null || timer.dueMs < first.dueMs)) first = timer;
    }
    if (first !== null) this.pending = this.pending.filter((other) => other !== first);
    return first;
  }

  private moveTo(ms: number): void {
    const passedMs = Math.max(0, ms - this.monotonicMs);
    this.wallMs += passedMs;
    this.monotonicMs += passedMs;
  }
}

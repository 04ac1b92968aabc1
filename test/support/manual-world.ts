// A world whose time stands still until a test moves it: clocks, timers and the turn of the event loop.
import type { World } from '../../src/embedded/open.ts';

const GIVE_UP_MS = 15_000;

interface Pending {
  readonly dueMs: number;
  readonly call: () => void;
}

export class ManualWorld implements World {
  wallMs = Date.UTC(2026, 0, 1);
  monotonicMs = 1_000;
  readonly hashSeed = 7;
  private pending: Pending[] = [];
  private ready: (() => void)[] = [];
  private tokens = 0;
  /** How many want the process to stay alive. */
  holds = 0;

  readonly clock = {
    wallMs: (): number => this.wallMs,
    monotonicMs: (): number => this.monotonicMs,
  };

  readonly timers = {
    after: (ms: number, call: () => void) => {
      const timer = { dueMs: this.monotonicMs + ms, call };
      this.pending.push(timer);
      return {
        cancel: () => {
          this.pending = this.pending.filter((other) => other !== timer);
        },
      };
    },
    soon: (call: () => void): void => {
      this.ready.push(call);
    },
    hold: () => {
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

  /** Lets everything run that is ready to run, until nothing is. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 3; ) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      const ready = this.ready.splice(0);
      for (const call of ready) call();
      quiet = ready.length === 0 ? quiet + 1 : 0;
    }
  }

  /** Moves both clocks on, timer by timer. */
  async advance(ms: number): Promise<void> {
    await this.settle();
    const untilMs = this.monotonicMs + ms;
    for (;;) {
      const due = this.pending.filter((timer) => timer.dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs)[0];
      const nextMs = due?.dueMs ?? untilMs;
      this.wallMs += Math.max(0, nextMs - this.monotonicMs);
      this.monotonicMs = Math.max(this.monotonicMs, nextMs);
      if (due === undefined) break;
      this.pending = this.pending.filter((other) => other !== due);
      due.call();
      await this.settle();
    }
    await this.settle();
  }

  /** The wall clock alone is set, as by an administrator; the monotonic one does not notice. */
  setWall(ms: number): void {
    this.wallMs = ms;
  }

  /** Waits for a call while the event loop turns; time stands still. */
  async finish<T>(call: Promise<T>): Promise<T> {
    let done = false;
    const watched = call.finally(() => {
      done = true;
    });
    watched.catch(() => undefined);
    // A real disk may take its time; only a call that waits for something that never comes is given up.
    for (const from = performance.now(); !done && performance.now() - from < GIVE_UP_MS; )
      await this.settle();
    if (!done) throw new Error('The call did not finish by itself.');
    return watched;
  }
}

/** Whether a promise has settled by now. */
export async function isSettled(call: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const note = (): void => {
    settled = true;
  };
  call.then(note, note);
  await new Promise<void>((resolve) => setImmediate(resolve));
  return settled;
}

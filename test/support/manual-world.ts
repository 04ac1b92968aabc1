// A world whose time stands still until a test moves it: clocks, timers and the turn of the event loop.
import type { World } from '../../src/open.ts';
import { ManualTime } from '../../src/testing/manual-time.ts';

const GIVE_UP_MS = 15_000;

export class ManualWorld extends ManualTime implements World {
  private ready: (() => void)[] = [];

  protected soon(call: () => void): void {
    this.ready.push(call);
  }

  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 3; ) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      const ready = this.ready.splice(0);
      for (const call of ready) call();
      quiet = ready.length === 0 ? quiet + 1 : 0;
    }
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

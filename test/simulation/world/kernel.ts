/**
 * The world's own time and the order of everything in it. One thing happens at a time; after it, all promises that it
 * settled run to their ends before the next thing does. Real timers, disks and sockets are never waited for, so the order
 * depends on the seed and on nothing else. What belongs to a process waits while that is stopped, and is forgotten
 * when it is dead.
 */
import { EventQueue, type Happening } from './event-queue.ts';

/** Whom something happens to. */
export interface Owner {
  readonly isDead: boolean;
  /** Nothing happens to it before this time. */
  readonly stoppedUntilMs: number;
}

interface Event extends Happening {
  readonly owner: Owner | null;
  call: (() => void) | null;
}

export interface Arranged {
  cancel(): void;
}

export class Kernel {
  nowMs = 0;
  /** How many things have happened. */
  steps = 0;
  #tripwire: { isMeant: (owner: Owner | null) => boolean; countdown: number; call: () => void } | null = null;
  readonly #queue = new EventQueue<Event>();
  #order = 0;

  /** Arranges for something to happen; an owner's things happen only while it runs. */
  at(atMs: number, owner: Owner | null, call: () => void): Arranged {
    const event: Event = { atMs: Math.max(atMs, this.nowMs), order: ++this.#order, owner, call };
    this.#queue.put(event);
    return {
      cancel: () => {
        event.call = null;
      },
    };
  }

  after(ms: number, owner: Owner | null, call: () => void): Arranged {
    return this.at(this.nowMs + ms, owner, call);
  }

  /**
   * Calls back right after the n-th event of a matching owner from now on, before code that awaited it continues.
   * There is one such trip wire at a time.
   */
  trip(isMeant: (owner: Owner | null) => boolean, countdown: number, call: () => void): void {
    this.#tripwire = { isMeant, countdown, call };
  }

  untrip(): void {
    this.#tripwire = null;
  }

  /** Lets things happen until `isOver` says so, or until nothing is left to happen. */
  async run(isOver: () => boolean): Promise<void> {
    await settled();
    while (!isOver()) {
      const event = this.#queue.take();
      if (event === undefined) return;
      const { owner, call } = event;
      if (call === null || owner?.isDead) continue;
      this.nowMs = event.atMs;
      if (owner !== null && owner.stoppedUntilMs > this.nowMs) {
        this.at(owner.stoppedUntilMs, owner, call);
        continue;
      }
      this.steps += 1;
      call();
      this.#step(owner);
      await settled();
    }
  }

  #step(owner: Owner | null): void {
    const wire = this.#tripwire;
    if (wire === null || !wire.isMeant(owner)) return;
    wire.countdown -= 1;
    if (wire.countdown > 0) return;
    this.#tripwire = null;
    wire.call();
  }
}

/** Every promise that can go on has gone on: Node turns its loop only when nothing is left in the queue of promises. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

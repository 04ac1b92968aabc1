/**
 * Runs long work in small steps with pauses between them. A scheduler lets a thread finish its time slice of some
 * milliseconds before a thread that just woke up, whatever their priorities. A thread that pauses often does not
 * delay others.
 */
const STEPS = 256; // a fraction of a millisecond

export class Pace {
  readonly #pause: () => void;
  #left = STEPS;

  constructor(pause: () => void) {
    this.#pause = pause;
  }

  step(): void {
    this.#left -= 1;
    if (this.#left > 0) return;
    this.#left = STEPS;
    this.#pause();
  }

  *each<T>(items: Iterable<T>): Generator<T, void, undefined> {
    for (const item of items) {
      this.step();
      yield item;
    }
  }
}

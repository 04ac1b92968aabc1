/**
 * Long work in small steps, between which others get the processor. Schedulers let a thread finish its slice of some
 * milliseconds before one that has just woken up, however little it is entitled to; a thread that pauses is not in the way.
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

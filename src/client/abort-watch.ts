/**
 * Many calls may depend on one signal. One listener for each call would be expensive and make Node warn of a leak, so
 * each signal has one listener for as long as any call depends on it.
 */

/** A list rather than a `Set`: see `seams/churn-map.ts` for why. */
interface Watch {
  readonly call: (reason: unknown) => void;
  place: number;
}

export class AbortWatch {
  readonly #watches = new Map<AbortSignal, Watch[]>();

  /** Calls `call` once when the signal aborts. Returns a function that unsubscribes. */
  watch(signal: AbortSignal, call: (reason: unknown) => void): () => void {
    let watches = this.#watches.get(signal);
    if (watches === undefined) {
      watches = [];
      signal.addEventListener('abort', this.#abort, { once: true });
      this.#watches.set(signal, watches);
    }
    const watch = { call, place: watches.length };
    watches.push(watch);
    return () => this.#unwatch(signal, watch);
  }

  #unwatch(signal: AbortSignal, watch: Watch): void {
    const watches = this.#watches.get(signal);
    if (watches?.[watch.place] !== watch) return;
    const last = watches.pop()!;
    last.place = watch.place;
    if (last !== watch) watches[watch.place] = last;
    if (watches.length > 0) return;
    this.#watches.delete(signal);
    signal.removeEventListener('abort', this.#abort);
  }

  readonly #abort = ({ target }: Event): void => {
    const signal = target as AbortSignal;
    const watches = this.#watches.get(signal) ?? [];
    this.#watches.delete(signal);
    for (const { call } of watches) call(signal.reason);
  };
}

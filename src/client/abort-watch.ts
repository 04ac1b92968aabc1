/**
 * Many calls may depend on one signal. A listener for each would be expensive and make Node warn of a leak, so there
 * is one listener per signal, as long as any call depends on it.
 */

/** A list and not a `Set`, for the reason that `seams/churn-map.ts` gives. */
interface Watch {
  readonly call: (reason: unknown) => void;
  place: number;
}

export class AbortWatch {
  readonly #watches = new Map<AbortSignal, Watch[]>();

  /** Calls once when the signal aborts; returns a function that unsubscribes. */
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

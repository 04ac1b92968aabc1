/**
 * Many calls may depend on one signal. A listener for each would be expensive and make Node warn of a leak, so there
 * is one listener per signal, as long as any call depends on it.
 */
export class AbortWatch {
  readonly #calls = new Map<AbortSignal, Set<(reason: unknown) => void>>();

  /** Calls once when the signal aborts; returns a function that unsubscribes. */
  watch(signal: AbortSignal, call: (reason: unknown) => void): () => void {
    let calls = this.#calls.get(signal);
    if (calls === undefined) {
      calls = new Set();
      signal.addEventListener('abort', this.#abort, { once: true });
      this.#calls.set(signal, calls);
    }
    calls.add(call);
    return () => this.#unwatch(signal, call);
  }

  #unwatch(signal: AbortSignal, call: (reason: unknown) => void): void {
    const calls = this.#calls.get(signal);
    if (calls?.delete(call) !== true || calls.size > 0) return;
    this.#calls.delete(signal);
    signal.removeEventListener('abort', this.#abort);
  }

  readonly #abort = ({ target }: Event): void => {
    const signal = target as AbortSignal;
    const calls = this.#calls.get(signal) ?? [];
    this.#calls.delete(signal);
    for (const call of calls) call(signal.reason);
  };
}

/** How a client currently reaches its authority, and the listeners for changes. */

/**
 * `idle`: nothing was sent yet. `live`: over a live connection, or in this process. `polling`: over HTTP, because of
 * the option `transport` or because the upgrade was refused. `away`: the last attempt reached no server; calls are
 * retried.
 */
export interface Connection {
  readonly state: 'idle' | 'live' | 'polling' | 'away';
  /** The URL of the server; null before the first call and in process. */
  readonly url: string | null;
}

export class ConnectionWatch {
  #current: Connection = { state: 'idle', url: null };
  readonly #listeners = new Set<(connection: Connection) => void>();
  readonly #onFault: ((fault: unknown) => void) | undefined;

  constructor(onFault?: (fault: unknown) => void) {
    this.#onFault = onFault;
  }

  get current(): Connection {
    return this.#current;
  }

  set(state: Connection['state'], url: string | null): void {
    const { state: before, url: urlBefore } = this.#current;
    if (before === state && urlBefore === url) return;
    this.#current = { state, url };
    for (const listener of [...this.#listeners]) this.#notify(listener);
  }

  /** An exception of a listener must not fail the call whose answer caused the change. */
  #notify(listener: (connection: Connection) => void): void {
    try {
      listener(this.#current);
    } catch (fault) {
      this.#onFault?.(fault);
    }
  }

  on(listener: (connection: Connection) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}

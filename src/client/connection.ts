/** How a client reaches its authority at the moment, and those who want to know when that changes. */

/**
 * `idle`: nothing was sent yet. `live`: over a live connection, or in this process. `polling`: by HTTP, because `transport`
 * says so or an upgrade was refused. `away`: the last attempt reached no server; calls are retried.
 */
export interface Connection {
  readonly state: 'idle' | 'live' | 'polling' | 'away';
  /** The server; null before the first call and in process. */
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
    for (const listener of [...this.#listeners]) this.#tell(listener);
  }

  /** A listener that throws must not cost the call whose answer brought the change. */
  #tell(listener: (connection: Connection) => void): void {
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

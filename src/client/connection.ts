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
  #current: Connection;
  readonly #listeners = new Set<(connection: Connection) => void>();

  constructor(state: Connection['state'] = 'idle') {
    this.#current = { state, url: null };
  }

  get current(): Connection {
    return this.#current;
  }

  set(state: Connection['state'], url: string | null): void {
    const { state: before, url: urlBefore } = this.#current;
    if (before === state && urlBefore === url) return;
    this.#current = { state, url };
    for (const listener of [...this.#listeners]) listener(this.#current);
  }

  on(listener: (connection: Connection) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}

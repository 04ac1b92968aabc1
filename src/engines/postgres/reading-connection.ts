/**
 * A connection for reading rows that never change. When it is cut, given up or silent for too long, the statement
 * fails and the next one uses a new connection. So a standby keeps its warm state through a restart of the database,
 * and a leader recovers from a hanging read. The database has the same timeout and stops statements whose caller is
 * gone.
 */

import type {
  BytesRow,
  GuardWorld,
  Reading,
  SqlConnection,
  SqlConnections,
  SqlRow,
  SqlValue,
} from '../../seams/database.ts';
import { LogClosedError, LogGoneError, LogOutOfReachError } from '../log.ts';
import { isNotThere } from './tables.ts';

/** No statement takes long: reads are paged. */
const STATEMENT_MS_MAX = 10_000;

export class ReadingConnection implements Reading {
  readonly #connections: SqlConnections;
  readonly #timers: GuardWorld['timers'];
  readonly #name: string | null;
  #connection: Promise<SqlConnection> | null = null;
  #isClosed = false;
  /** Rejects the statements that wait for an answer. */
  readonly #waiting = new Set<(fault: Error) => void>();
  /** Set while a statement waits. */
  #limit: { cancel(): void } | null = null;

  /** `name`: see `ConnectOptions`. */
  constructor(connections: SqlConnections, timers: GuardWorld['timers'], name: string | null = null) {
    this.#connections = connections;
    this.#timers = timers;
    this.#name = name;
  }

  query(text: string, values?: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    return this.#ask((connection) => connection.query(text, values));
  }

  queryBytes(select: string): Promise<readonly BytesRow[]> {
    return this.#ask((connection) => connection.queryBytes(select));
  }

  async connected(): Promise<SqlConnection> {
    if (this.#isClosed) throw new LogClosedError('The connection to the log is closed.');
    this.#connection ??= this.#connect();
    return this.#connection;
  }

  /** Gives up a silent connection. Waiting statements fail at once. */
  hangUp(): void {
    const silent = this.#connection;
    this.#connection = null;
    // A connection that is established later is not needed.
    silent?.then((connection) => connection.close()).catch(() => undefined);
    for (const fail of this.#waiting)
      fail(new Error('the database did not answer, and the connection was given up'));
    this.#waiting.clear();
    this.#listen();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connection = await this.#connection?.catch(() => null);
    await connection?.close();
  }

  #ask<T>(statement: (connection: SqlConnection) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.add(reject);
      if (this.#limit === null) this.#listen();
      const answered = (): void => {
        // An abandoned statement says nothing about the current connection.
        if (this.#waiting.delete(reject)) this.#listen();
      };
      this.connected().then(statement).finally(answered).then(resolve, reject);
    }).catch(outOfReach);
  }

  /**
   * Restarts the timeout if an answer is outstanding: statements run one after the other, so each has the whole
   * timeout.
   */
  #listen(): void {
    this.#limit?.cancel();
    this.#limit = this.#waiting.size === 0 ? null : this.#timers.after(STATEMENT_MS_MAX, () => this.hangUp());
  }

  #connect(): Promise<SqlConnection> {
    const connecting = this.#connections.connect({
      statementMsMax: STATEMENT_MS_MAX,
      ...(this.#name === null ? {} : { name: this.#name }),
    });
    const forget = (): void => {
      if (this.#connection === connecting) this.#connection = null;
    };
    connecting.then((connection) => void connection.lost.then(forget), forget);
    return connecting;
  }
}

/** A failed read concerns its caller, not whether this process still holds the log. */
function outOfReach(cause: unknown): never {
  if (cause instanceof LogClosedError) throw cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  // Reads start only after the tables were found.
  if (isNotThere(cause)) throw new LogGoneError(`The tables of the log are gone: ${why}.`, { cause });
  throw new LogOutOfReachError(`The log cannot be read now: ${why}.`, { cause });
}

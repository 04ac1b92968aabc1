/**
 * A connection for reading what never changes. When it is cut, given up, or silent for too long, the statement fails, and
 * the next one goes over a new connection: a standby keeps its warm state through a restart of the database, and a
 * leader whose reads go nowhere can read again. The database has the same limit, so that it does not go on with what
 * nobody waits for.
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

/** No statement takes long: what there is to read comes in pages. */
const STATEMENT_MS_MAX = 10_000;

export class ReadingConnection implements Reading {
  readonly #connections: SqlConnections;
  readonly #timers: GuardWorld['timers'];
  #connection: Promise<SqlConnection> | null = null;
  #isClosed = false;
  /** What tells those who wait for an answer that none will come. */
  readonly #waiting = new Set<(fault: Error) => void>();
  /** There while anybody waits. */
  #limit: { cancel(): void } | null = null;

  constructor(connections: SqlConnections, timers: GuardWorld['timers']) {
    this.#connections = connections;
    this.#timers = timers;
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

  /** Gives up a connection that says nothing any more: whoever waits for an answer on it is told at once. */
  hangUp(): void {
    const silent = this.#connection;
    this.#connection = null;
    // One that comes about later is wanted by nobody.
    silent?.then((connection) => connection.close()).catch(() => undefined);
    for (const fail of this.#waiting) fail(new Error('no answer came, and the connection was given up'));
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
        // What was given up says nothing about the connection that is there now.
        if (this.#waiting.delete(reject)) this.#listen();
      };
      this.connected().then(statement).finally(answered).then(resolve, reject);
    }).catch(outOfReach);
  }

  /** Waits for the next answer, if there is one to come: statements run one after the other, so each has the whole limit. */
  #listen(): void {
    this.#limit?.cancel();
    this.#limit = this.#waiting.size === 0 ? null : this.#timers.after(STATEMENT_MS_MAX, () => this.hangUp());
  }

  #connect(): Promise<SqlConnection> {
    const connecting = this.#connections.connect({ statementMsMax: STATEMENT_MS_MAX });
    const forget = (): void => {
      if (this.#connection === connecting) this.#connection = null;
    };
    connecting.then((connection) => void connection.lost.then(forget), forget);
    return connecting;
  }
}

/** What became of a read concerns whoever reads, and not whether the log is still ours. */
function outOfReach(cause: unknown): never {
  if (cause instanceof LogClosedError) throw cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  // Nothing is read before the tables have been found.
  if (isNotThere(cause)) throw new LogGoneError(`The tables of the log are gone: ${why}.`, { cause });
  throw new LogOutOfReachError(`The log cannot be read now: ${why}.`, { cause });
}

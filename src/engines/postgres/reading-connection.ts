/**
 * A connection for reading what never changes. When it is cut or given up the statement fails, and the next one goes
 * over a new connection: a standby keeps its warm state through a restart of the database, and through its silence.
 */
import { LogClosedError, LogOutOfReachError } from '../log.ts';
import type { BytesRow, Reading, SqlConnection, SqlConnections, SqlRow, SqlValue } from './sql.ts';

export class ReadingConnection implements Reading {
  readonly #connections: SqlConnections;
  #connection: Promise<SqlConnection> | null = null;
  #isClosed = false;
  /** What tells those who wait for an answer that none will come. */
  readonly #waiting = new Set<(fault: Error) => void>();

  constructor(connections: SqlConnections) {
    this.#connections = connections;
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
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connection = await this.#connection?.catch(() => null);
    await connection?.close();
  }

  #ask<T>(statement: (connection: SqlConnection) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.add(reject);
      const answer = this.connected().then(statement);
      answer.finally(() => this.#waiting.delete(reject)).then(resolve, reject);
    }).catch(outOfReach);
  }

  #connect(): Promise<SqlConnection> {
    const connecting = this.#connections.connect();
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
  throw new LogOutOfReachError(`The log cannot be read now: ${why}.`, { cause });
}

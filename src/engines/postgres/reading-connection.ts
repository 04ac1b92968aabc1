/**
 * A connection for reading what never changes. When it is cut the statement fails, and the next one goes over a new
 * connection: a standby keeps its warm state through a restart of the database.
 */
import { LogClosedError, LogOutOfReachError } from '../log.ts';
import type { BytesRow, Reading, SqlConnection, SqlConnections, SqlRow, SqlValue } from './sql.ts';

export class ReadingConnection implements Reading {
  readonly #connections: SqlConnections;
  #connection: Promise<SqlConnection> | null = null;
  #isClosed = false;

  constructor(connections: SqlConnections) {
    this.#connections = connections;
  }

  async query(text: string, values?: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    const connection = await this.connected().catch(outOfReach);
    return await connection.query(text, values).catch(outOfReach);
  }

  async queryBytes(select: string): Promise<readonly BytesRow[]> {
    const connection = await this.connected().catch(outOfReach);
    return await connection.queryBytes(select).catch(outOfReach);
  }

  async connected(): Promise<SqlConnection> {
    if (this.#isClosed) throw new LogClosedError('The connection to the log is closed.');
    this.#connection ??= this.#connect();
    return this.#connection;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connection = await this.#connection?.catch(() => null);
    await connection?.close();
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

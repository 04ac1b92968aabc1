/**
 * The database, as far as the log needs it: a seam. A connection runs one statement at a time, in the order given;
 * each is its own transaction. Errors are thrown as the driver throws them, with the SQLSTATE as `code` when they
 * come from the server.
 */
export type SqlValue = string | number | Buffer | null;

/** Read access. */
export type Reading = Pick<SqlConnection, 'query' | 'queryBytes'>;

/** The columns of a row in order. 64-bit integers are strings, bytes are a Buffer. */
export type SqlRow = readonly unknown[];

/** Integers, and bytes in the last column. */
export interface BytesRow {
  readonly numbers: readonly number[];
  readonly bytes: Buffer;
}

export interface SqlConnection {
  query(text: string, values?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** Bulk reads: a SELECT of bigint columns and a final bytea, by the fastest available protocol. */
  queryBytes(select: string): Promise<readonly BytesRow[]>;
  /** Resolves when the connection ends without `close`. */
  readonly lost: Promise<Error>;
  /** Closes it: gracefully when no statement runs, else at once. Idempotent. */
  close(): Promise<void>;
}

export interface ConnectOptions {
  /** The connection's name in the database's list of connections, at most 63 bytes; default `leasehold`. */
  readonly name?: string;
  /**
   * Statement timeout in the database; a lower limit of its own counts. Soon after that, the side that still waits cuts
   * the connection: the client waiting for an answer, or the database, where it can, waiting for the rest of a message.
   * Otherwise a half-sent statement would keep its locks indefinitely.
   */
  readonly statementMsMax?: number;
}

export interface SqlConnections {
  connect(options?: ConnectOptions): Promise<SqlConnection>;
  /** The address from which another thread opens the same connections. */
  readonly address: string;
}

/** Opens connections to an address. */
export type Databases = (address: string) => SqlConnections;

/** The clock and timers a guard needs. Those of the authority fit. */
export interface GuardWorld {
  readonly clock: { wallMs(): number; monotonicMs(): number; uptimeMs(): number };
  readonly timers: { after(ms: number, call: () => void): { cancel(): void } };
  readonly newToken: () => string;
}

export const sqlState = (fault: unknown): string => String((Object(fault) as { code?: unknown }).code ?? '');

/**
 * A database, as far as the log in it needs one: a seam. A connection runs one statement at a time, in the order in
 * which they were given; each is a transaction of its own. Errors are thrown as the driver throws them, with the
 * SQLSTATE as their `code` when it was the server that spoke.
 */
export type SqlValue = string | number | Buffer | null;

/** What can be read from. */
export type Reading = Pick<SqlConnection, 'query' | 'queryBytes'>;

/** The columns of a row in their order. Whole numbers of eight bytes come as strings, bytes as a Buffer. */
export type SqlRow = readonly unknown[];

/** Whole numbers, and bytes in the last column. */
export interface BytesRow {
  readonly numbers: readonly number[];
  readonly bytes: Buffer;
}

export interface SqlConnection {
  query(text: string, values?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  /** For many bytes at once: a SELECT of bigint columns and a bytea at the end, by the fastest way there is. */
  queryBytes(select: string): Promise<readonly BytesRow[]>;
  /** Resolves when the connection has ended without our asking for it. */
  readonly lost: Promise<Error>;
  /** Ends it: politely when no statement runs, else at once. Harmless twice. */
  close(): Promise<void>;
}

export interface ConnectOptions {
  /**
   * After so long the database itself ends a statement; without it, or where it has a lower limit, its own counts. Soon
   * after that the connection is cut by whoever still waits: by us for an answer, by the database, where it can, for
   * the rest of what was sent. A statement of which only that is missing would keep its locks for ever.
   */
  readonly statementMsMax?: number;
}

export interface SqlConnections {
  connect(options?: ConnectOptions): Promise<SqlConnection>;
  /** What another thread makes the same connections from. */
  readonly address: string;
}

/** Makes connections from an address. */
export type Databases = (address: string) => SqlConnections;

/** The part of the world a guard needs; the authority's clock and timers fit. */
export interface GuardWorld {
  readonly clock: { wallMs(): number; monotonicMs(): number };
  readonly timers: { after(ms: number, call: () => void): { cancel(): void } };
  readonly newToken: () => string;
}

export const sqlState = (fault: unknown): string => String((Object(fault) as { code?: unknown }).code ?? '');

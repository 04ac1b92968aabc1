/**
 * Real connections to Postgres: the SqlConnections seam on `pg`. The package is loaded with the first connection,
 * because it is an optional dependency. Statements with values are prepared once per connection. An address is any
 * connection string of `pg`, including TLS; missing parts come from the PG… variables.
 */
import type {
  BytesRow,
  ConnectOptions,
  SqlConnection,
  SqlConnections,
  SqlRow,
  SqlValue,
} from '../seams/database.ts';
import { CopyQuery } from './pg-copy.ts';

type Pg = Pick<typeof import('pg'), 'Client' | 'Pool'>;
type Client = InstanceType<Pg['Client']>;

const CONNECT_TIMEOUT_MS = 10_000;
/** How long the database may take to close. A silent one never does. */
const FAREWELL_MS = 1_000;
/** How much longer than the statement timeout the database waits for the rest of a message, and we for the answer. */
const REST_MS = 1_000;
const ANSWER_MS = 2_000;

/** The package `pg` is not installed. */
export class PgMissingError extends Error {
  override readonly name = 'PgMissingError';
}

export async function loadPg(): Promise<Pg> {
  try {
    return (await import('pg')).default;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new PgMissingError(
      'The package pg is needed to talk to Postgres; install it with `npm install pg`, or `npm install --global pg` beside a global leasehold.',
      { cause },
    );
  }
}

export function pgConnections(address: string): SqlConnections {
  return {
    address,
    async connect({ statementMsMax, name = 'leasehold' }: ConnectOptions = {}) {
      const { Client } = await loadPg();
      const client = new Client({
        connectionString: address,
        application_name: name,
        keepAlive: true,
        connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      });
      const connection = new PgConnection(client, statementMsMax);
      let limit: NodeJS.Timeout | undefined;
      try {
        await client.connect();
        // The driver's own timeout ends when the server first answers.
        limit = setTimeout(() => void connection.close(), CONNECT_TIMEOUT_MS);
        await connection.query(SETTINGS);
        if (statementMsMax !== undefined) await connection.query(limitsText(statementMsMax));
      } catch (fault) {
        // A server that still waits for a password would keep the process alive. A failure to close is ignored.
        connection.close().catch(() => undefined);
        throw fault;
      } finally {
        clearTimeout(limit);
      }
      return connection;
    },
  };
}

/**
 * A connection that waits for its next statement is not idle. A dead peer is detected within seconds: its locks keep
 * others from leading, and the default keepalive is two hours. Settings that the database does not have are skipped.
 */
const SETTINGS = `SELECT set_config(name, value, false) FROM pg_catalog.pg_settings JOIN (VALUES
    ('idle_session_timeout', '0'),
    ('tcp_keepalives_idle', '5'), ('tcp_keepalives_interval', '2'), ('tcp_keepalives_count', '3')
  ) AS wanted (setting_name, value) ON name = setting_name`;

/** Every statement is its own transaction, so that gets a timeout too. Postgres has it since version 17. */
const limitsText = (ms: number): string => `SELECT set_config(name, most::text, false)
  FROM pg_catalog.pg_settings JOIN (VALUES
    ('statement_timeout', ${ms}), ('transaction_timeout', ${ms + REST_MS})
  ) AS wanted (setting_name, most) ON name = setting_name
  WHERE CASE WHEN name = setting_name THEN setting::bigint NOT BETWEEN 1 AND most END`;

/** Errors of databases that are compatible with Postgres but lack binary COPY. */
const NOT_KNOWN_HERE = ['0A000', '42601', '42704'];

class PgConnection implements SqlConnection {
  readonly lost: Promise<Error>;
  readonly #client: Client;
  readonly #names = new Map<string, string>();
  /** The previous statement. `pg` expects one at a time. */
  #before: Promise<unknown> = Promise.resolve();
  #knowsCopy = true;
  #isClosing = false;
  readonly #answerMsMax: number | null;

  constructor(client: Client, statementMsMax: number | undefined) {
    this.#client = client;
    this.#answerMsMax = statementMsMax === undefined ? null : statementMsMax + ANSWER_MS;
    this.lost = new Promise((resolve) => {
      const lose = (fault: Error): void => {
        if (!this.#isClosing) resolve(fault);
      };
      client.on('error', lose);
      client.on('end', () => lose(new Error('The database has ended the connection.')));
    });
  }

  query(text: string, values?: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    const prepared = values === undefined ? {} : { name: this.#nameOf(text), values: [...values] };
    return this.#inTurn(async () => {
      const { rows } = await this.#client.query<unknown[]>({ text, ...prepared, rowMode: 'array' });
      return rows;
    });
  }

  async queryBytes(select: string): Promise<readonly BytesRow[]> {
    if (this.#knowsCopy) {
      try {
        return await this.#inTurn(() => this.#client.query(new CopyQuery(select)).done);
      } catch (fault) {
        if (!NOT_KNOWN_HERE.includes(String((fault as { code?: unknown }).code))) throw fault;
        this.#knowsCopy = false;
      }
    }
    const rows = await this.query(select);
    return rows.map((row) => ({ numbers: row.slice(0, -1).map(Number), bytes: row.at(-1) as Buffer }));
  }

  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    const limit = setTimeout(() => this.#client.connection.stream.destroy(), FAREWELL_MS);
    await this.#client.end().finally(() => clearTimeout(limit));
  }

  #inTurn<T>(statement: () => Promise<T>): Promise<T> {
    const turn = this.#before.then(() => this.#inTime(statement));
    // The caller of the statement gets its failure. The next one runs anyway.
    this.#before = turn.catch(() => {});
    return turn;
  }

  /** Cuts the connection when no answer comes. This and all queued statements fail. */
  async #inTime<T>(statement: () => Promise<T>): Promise<T> {
    const ms = this.#answerMsMax;
    if (ms === null) return statement();
    const silent = (): Error => new Error(`The database has not answered for ${ms} ms.`);
    const limit = setTimeout(() => this.#client.connection.stream.destroy(silent()), ms);
    return statement().finally(() => clearTimeout(limit));
  }

  #nameOf(text: string): string {
    let name = this.#names.get(text);
    if (name === undefined) {
      name = `leasehold_${this.#names.size + 1}`;
      this.#names.set(text, name);
    }
    return name;
  }
}

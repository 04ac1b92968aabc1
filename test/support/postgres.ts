// A database of its own for a test file, on the Postgres of its worker.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { type Cluster, haltCluster, resumeCluster } from '../../scripts/postgres-cluster.mjs';

/** The Postgres of this worker. Vitest numbers its workers from 1. */
export function ownCluster(): Cluster {
  return inject('postgres')[Number(process.env.VITEST_POOL_ID) - 1]!;
}

export class TestDatabase {
  readonly url: string;
  readonly pool: pg.Pool;
  private readonly name: string;

  private constructor(name: string) {
    this.name = name;
    this.url = urlOf(name);
    this.pool = this.newPool(20);
  }

  static async create(): Promise<TestDatabase> {
    const name = `test_${randomUUID().replaceAll('-', '')}`;
    await asAdmin(`CREATE DATABASE ${name}`);
    return new TestDatabase(name);
  }

  /** Who makes a pool ends it. */
  newPool(max: number): pg.Pool {
    const pool = new pg.Pool({ connectionString: this.url, max });
    // An idle connection that is cut by a restart is no failure.
    pool.on('error', () => undefined);
    return pool;
  }

  /** What the psql of the seed does: every statement has a connection, and so a transaction, of its own. */
  readonly oneConnectionAStatement = {
    query: async (text: string, values?: unknown[]): Promise<pg.QueryResult> => {
      const client = new pg.Client({ connectionString: this.url });
      await client.connect();
      try {
        return await client.query(text, values);
      } finally {
        await client.end();
      }
    },
  };

  /** As behind a pooler in transaction mode: no two transactions have the same connection. */
  readonly oneConnectionATransaction = {
    ...this.oneConnectionAStatement,
    connect: async () => {
      const client = new pg.Client({ connectionString: this.url });
      await client.connect();
      return {
        query: (text: string, values?: unknown[]): Promise<pg.QueryResult> => client.query(text, values),
        release: () => void client.end(),
      };
    },
  };

  /** The first column of the first row. */
  async value(text: string, values: unknown[] = []): Promise<unknown> {
    const { rows } = await this.pool.query({ text, values, rowMode: 'array' });
    return rows[0]?.[0];
  }

  async leases(): Promise<number> {
    return Number(await this.value('SELECT count(*) FROM dot_iu_runtime_lease'));
  }

  /** Does something while the server is down. */
  async whileDown(work: () => Promise<void>): Promise<void> {
    await haltCluster(ownCluster());
    try {
      await work();
    } finally {
      await resumeCluster(ownCluster());
    }
  }

  async drop(): Promise<void> {
    await this.pool.end();
    await asAdmin(`DROP DATABASE ${this.name} WITH (FORCE)`);
  }
}

const urlOf = (name: string): string => `postgres://postgres@127.0.0.1:${ownCluster().port}/${name}`;

async function asAdmin(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf('postgres') });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

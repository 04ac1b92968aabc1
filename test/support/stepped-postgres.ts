// A Postgres whose clock a test can set, while the clocks of everything else on the machine go on.
import { tmpdir } from 'node:os';
import pg from 'pg';
import { type Cluster, startCluster, stopCluster } from '../../scripts/postgres-cluster.mjs';
import { SteppedClock } from './stepped-clock.ts';

export class SteppedPostgres {
  private readonly cluster: Cluster;
  private readonly clock: SteppedClock;
  private databases = 0;

  private constructor(cluster: Cluster, clock: SteppedClock) {
    this.cluster = cluster;
    this.clock = clock;
  }

  static async start(): Promise<SteppedPostgres> {
    const clock = new SteppedClock();
    try {
      return new SteppedPostgres(await startCluster(['fsync=off'], tmpdir(), clock.env), clock);
    } catch (fault) {
      clock.remove();
      throw fault;
    }
  }

  /** Sets its clock so far ahead of the true time, or behind it. */
  setAhead(seconds: number): void {
    this.clock.setAhead(seconds);
  }

  /** The URL of an empty database. */
  async newDatabase(): Promise<string> {
    this.databases += 1;
    const client = new pg.Client({ connectionString: this.urlOf('postgres') });
    await client.connect();
    try {
      await client.query(`CREATE DATABASE test_${this.databases}`);
    } finally {
      await client.end();
    }
    return this.urlOf(`test_${this.databases}`);
  }

  private urlOf(name: string): string {
    return `postgres://postgres@127.0.0.1:${this.cluster.port}/${name}`;
  }

  async stop(): Promise<void> {
    await stopCluster(this.cluster);
    this.clock.remove();
  }
}

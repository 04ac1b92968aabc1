// Relay, server and Postgres are killed in turn while transactions commit and roll back. Afterwards every committed row
// is exactly one task, and no other task exists. OUTBOX_ROUNDS sets how often, for longer runs by hand.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { resumeCluster } from '../../scripts/postgres-cluster.mjs';
import { defineTask } from '../../src/client-node.ts';
import { inTransaction } from '../../src/postgres/database.ts';
import { enqueueIn, migrateOutbox } from '../../src/postgres.ts';
import { CliBench, isAlive, type Process, until } from '../support/cli-processes.ts';
import { ownCluster, TestDatabase } from '../support/postgres.ts';

const ROUNDS = Number(process.env.OUTBOX_ROUNDS ?? 1);
const WRITERS = 4;
/** How much is committed between two kills. */
const ROWS_A_KILL = 60;

const invoice = defineTask<{ order: number }>('invoice');

let db: TestDatabase;
let bench: CliBench;
let relay: Process;

beforeEach(async () => {
  db = await TestDatabase.create();
  await migrateOutbox(db.pool);
  await db.pool.query('CREATE TABLE orders (id int PRIMARY KEY, task_id text NOT NULL)');
  bench = new CliBench();
  await bench.serve();
  startRelay();
});
afterEach(async () => {
  await bench.close();
  await db.drop();
});

function startRelay(): void {
  relay = bench.start(['postgres', 'relay', '--poll', '50ms'], { env: { DATABASE_URL: db.url } });
}

/** Writers that go on whatever fails; whether a commit without an answer counts, the table of orders says. */
class Writers {
  committed = 0;
  unanswered = 0;
  private isStopped = false;
  private orders = 0;
  private readonly all: Promise<void>[] = [];

  start(): void {
    for (let writer = 0; writer < WRITERS; writer++) this.all.push(this.write());
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.all);
  }

  private async write(): Promise<void> {
    while (!this.isStopped) {
      const order = ++this.orders;
      const isRolledBack = order % 5 === 0;
      try {
        await inTransaction(db.pool, async (tx) => {
          const { taskId } = await enqueueIn(tx, invoice, { order });
          await tx.query('INSERT INTO orders VALUES ($1, $2)', [order, taskId]);
          if (isRolledBack) throw new RolledBack();
        });
        this.committed += 1;
      } catch (fault) {
        if (!(fault instanceof RolledBack)) {
          this.unanswered += 1;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    }
  }
}

class RolledBack extends Error {}

async function killPostgres(): Promise<void> {
  const cluster = ownCluster();
  const pidFile = join(cluster.folder, 'data', 'postmaster.pid');
  const pid = Number(readFileSync(pidFile, 'utf8').split('\n', 1)[0]);
  process.kill(pid, 'SIGKILL');
  await until('Postgres to be dead', () => !isAlive(pid));
  // Its children see that it is dead and end; as long as one lives, no other server starts on the same data.
  await until('Postgres to start again', () =>
    resumeCluster(cluster).then(
      () => true,
      () => false,
    ),
  );
}

const KILLS: readonly (() => Promise<void>)[] = [
  async () => {
    relay.kill('SIGKILL');
    await relay.ended;
    startRelay();
  },
  async () => {
    await bench.stopServer('SIGKILL');
    await bench.serve();
  },
  killPostgres,
];

it('makes exactly one task of every committed row, and none of any other', {
  timeout: 60_000 + ROUNDS * 60_000,
}, async () => {
  const writers = new Writers();
  writers.start();
  for (let kill = 0; kill < ROUNDS * KILLS.length; kill++) {
    const before = writers.committed;
    await until('rows to be committed', () => writers.committed >= before + ROWS_A_KILL);
    await KILLS[kill % KILLS.length]!();
  }
  const before = writers.committed;
  await until('rows to be committed', () => writers.committed >= before + ROWS_A_KILL);
  await writers.stop();
  await until(
    'the outbox to be empty',
    async () => (await db.value('SELECT count(*) FROM leasehold_outbox')) === '0',
  );
  const { rows } = await db.pool.query<{ task_id: string }>('SELECT task_id FROM orders');
  const created = await createdTasks();
  expect(created.length).toBeGreaterThan(ROWS_A_KILL);
  expect(created.sort()).toEqual(rows.map(({ task_id }) => task_id).sort());
  console.log(
    `${created.length} tasks, ${writers.unanswered} transactions without an answer, ${ROUNDS} rounds.`,
  );
});

/** The task of every TaskCreated entry in the log. */
async function createdTasks(): Promise<string[]> {
  const found: string[] = [];
  for (let from = 1; ; ) {
    const reply = await fetch(`${bench.url}/v1/log?from=${from}&limit=1000`);
    const lines = (await reply.text()).split('\n').filter(Boolean);
    if (lines.length === 0) return found;
    for (const line of lines) {
      const entry = JSON.parse(line);
      if (entry.type === 'TaskCreated') found.push(entry.task_id);
      from = entry.seq + 1;
    }
  }
}

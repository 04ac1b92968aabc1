// An order and its e-mail, exactly one each: the task is written in the same Postgres transaction as the order, and a relay turns
// committed rows into tasks. Uses the database of DATABASE_URL, or starts one of the tests' for itself.
//
//   node examples/outbox.mjs [DIR]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { defineTask, open } from 'leasehold';
import { enqueueIn, migrateOutbox, relay } from 'leasehold/postgres';
import pg from 'pg';

const { DATABASE_URL } = process.env;
const database = DATABASE_URL ? { url: DATABASE_URL, stop: () => undefined } : await startPostgres();
const pool = new pg.Pool({ connectionString: database.url });
await migrateOutbox(pool);
await pool.query('CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, buyer text NOT NULL)');
console.log('A Postgres has the tables orders and outbox.');

const confirmation = defineTask('confirmation');

async function order(buyer, { isPaid }) {
  const tx = await pool.connect();
  try {
    await tx.query('BEGIN');
    const { rows } = await tx.query('INSERT INTO orders (buyer) VALUES ($1) RETURNING id', [buyer]);
    const { taskId } = await enqueueIn(tx, confirmation, { order: rows[0].id, buyer });
    await tx.query(isPaid ? 'COMMIT' : 'ROLLBACK');
    return taskId;
  } finally {
    tx.release();
  }
}

// No server is needed to enqueue: the order goes through while leasehold is down.
const annas = await order('anna', { isPaid: true });
await order('mallory', { isPaid: false });
console.log(
  'Anna orders and pays: order and task commit together. Mallory does not pay: both are rolled back.',
);

const dir = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'leasehold-outbox-'));
const lh = await open(dir);
const sent = [];
const worker = lh.work(confirmation, ({ input }) => {
  sent.push(input.buyer);
  return `sent to ${input.buyer}`;
});
// Two relays, as where two hosts run the same program: they take turns by a lease, and a row becomes one task.
const relays = [relay(pool, lh), relay(pool, lh)];
const output = await lh.receipt(confirmation, annas).output({ wait: '30s' });
console.log(`The relay turns the committed row into a task, and a worker runs it: ${output}.`);

await worker.drain();
await Promise.all(relays.map((each) => each.drain()));
const { rows } = await pool.query("SELECT count(*)::int AS orders FROM orders WHERE buyer = 'mallory'");
console.log(`E-mails sent: ${sent.join(', ')}. Orders of mallory: ${rows[0].orders}.`);
await lh.close();
await pool.end();
await database.stop();
if (process.argv[2] === undefined) rmSync(dir, { recursive: true });

async function startPostgres() {
  const { startCluster, stopCluster } = await import('../scripts/postgres-cluster.mjs');
  const cluster = await startCluster([]);
  return {
    url: `postgres://postgres@127.0.0.1:${cluster.port}/postgres`,
    stop: () => stopCluster(cluster),
  };
}

/**
 * A baseline: the minimum of a queue. Batches over HTTP, a Map, a list, and a log with group commit. It checks
 * nothing, leases never expire, and nothing survives a restart. Its speed is the yardstick of this machine for the
 * figures beside it.
 */
import { createServer } from 'node:http';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import { benchDir } from '../core/bench-world.mjs';
import { bareChild, listening } from './bare-child.mjs';
import { groupFile } from './group-commit-file.mjs';

const self = fileURLToPath(import.meta.url);

/** As in our client: a full batch is sent at once, the rest when fewer than two are in flight. */
const OPS_MAX = 512;
const GOOD_OPS = 128;
const IN_FLIGHT_MAX = 8;

export async function bareQueue() {
  const server = await bareChild(self);
  const pool = new Pool(server.url, { connections: IN_FLIGHT_MAX });
  const calls = [];
  let inFlight = 0;
  let isDue = false;
  let made = 0;
  const flush = () => {
    isDue = false;
    while (calls.length > 0 && inFlight < (calls.length < GOOD_OPS ? 2 : IN_FLIGHT_MAX)) {
      void send(calls.splice(0, OPS_MAX));
    }
  };
  const send = async (batch) => {
    inFlight += 1;
    const body = JSON.stringify({ ops: batch.map(({ op }) => op) });
    const reply = await pool.request({ method: 'POST', path: '/v1/batch', body });
    const { results } = await reply.body.json();
    inFlight -= 1;
    for (const [place, { resolve }] of batch.entries()) resolve(results[place]);
    flush();
  };
  const call = (op) =>
    new Promise((resolve) => {
      calls.push({ op, resolve });
      if (!isDue) queueMicrotask(flush);
      isDue = true;
    });
  return {
    pid: server.pid,
    task: {
      create: ({ payload }) => call({ op: 'create', task_id: `t-${made++}`, payload }),
      lease: ({ worker_id }) => call({ op: 'lease', worker_id }),
      complete: ({ task_id, lease_id }) => call({ op: 'complete', task_id, lease_id }),
    },
    /** The operations of a lifecycle, under leasehold's names. */
    call(operation, request) {
      return this.task[operation.slice('task.'.length)](request);
    },
    async close() {
      await pool.close();
      await server.stop();
    },
  };
}

async function main() {
  const append = await groupFile(join(benchDir(), 'queue.log'));
  const tasks = new Map();
  let waiting = [];
  let next = 0;
  let seq = 0;
  const run = {
    create({ task_id, payload }) {
      const task = { task_id, payload, lease_id: 0 };
      tasks.set(task_id, task);
      waiting.push(task);
      return { task_id, seq };
    },
    lease() {
      const task = waiting[next++];
      if (2 * next > waiting.length) {
        waiting = waiting.slice(next);
        next = 0;
      }
      task.lease_id = seq;
      return { leases: [task], seq };
    },
    complete({ task_id, lease_id }) {
      const isHeld = tasks.get(task_id)?.lease_id === lease_id;
      if (isHeld) tasks.delete(task_id);
      return { outcome: isHeld ? 'COMMITTED' : 'REJECTED', seq };
    },
  };
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    const { ops } = JSON.parse(Buffer.concat(chunks));
    let text = '';
    const results = ops.map((op) => {
      seq += 1;
      text += `${JSON.stringify(op)}\n`;
      return run[op.op](op);
    });
    await append(text);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ results }));
  });
  server.listen(0, '127.0.0.1', () => listening(server));
}

if (process.argv[1] === self) await main();

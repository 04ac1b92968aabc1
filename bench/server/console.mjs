/**
 * What the console costs the server. First every request its views make, at a thousand tasks and ten leases, and again at five
 * million tasks and 100 000 leases: the ratio of the medians shall stay below 1.5. Then renewals on another connection, without and
 * with ten consoles that refresh every two seconds. The time machine has a section of its own.
 */
import { connect } from '../../dist/index.js';
import { row, scaled } from '../core/bench-world.mjs';
import { inBatches, renewals } from './load.mjs';
import { percentile, served } from './served.mjs';

const SMALL = { tasks: 1_000, leases: 10 };
const LARGE = { tasks: scaled(5_000_000), leases: scaled(100_000) };
const QUEUES = 20;
const REPEATS = 200;
const WARM_UP = 50;
const REFRESH_MS = 2_000;
const CONSOLES = 10;
const RENEWAL_MS = 12_000;
/** How far back the console reads histories, and the end of the log. */
const HISTORY_ENTRIES = 20_000;
const TAIL_ENTRIES = 2_000;

const server = await served();
const lh = connect(server.url);
let taskCount = 0;
let leaseCount = 0;

await grow(SMALL);
const { token } = await lh.call('lease.acquire', { name: 'renewed', holder: 'h', ttl_ms: 600_000 });
await fill();
// The first round only warms up the compilers of both sides.
await measureAll();
const small = await measureAll();
const from = performance.now();
await grow(LARGE);
await fill();
row('loading', `${Math.round((performance.now() - from) / 1_000)} s`);
const large = await measureAll();
row('request of the console, median ms', '1 000 tasks', `${LARGE.tasks} tasks`, 'ratio');
for (const [name, ms] of small) {
  row(name, ms.toFixed(3), large.get(name).toFixed(3), (large.get(name) / ms).toFixed(2));
}

row('renewals beside consoles', 'p50 ms', 'p99 ms', 'max ms');
row('none', ...(await renewalsBeside(0)));
row(`${CONSOLES}`, ...(await renewalsBeside(CONSOLES)));
row('none again', ...(await renewalsBeside(0)));
await lh.close();
await server.stop();

/** Tasks that wait in twenty queues under a thousand keys, leases of a hundred holders, and 200 dead tasks each time. */
async function grow({ tasks, leases }) {
  await inBatches(server.url, tasks - taskCount, (n) => ({
    op: 'task.create',
    task_id: `task-${taskCount + n}`,
    queue: `queue-${n % QUEUES}`,
    key: `key-${n % 1_000}`,
    payload: n,
  }));
  taskCount = tasks;
  await inBatches(server.url, leases - leaseCount, (n) => ({
    op: 'lease.acquire',
    name: `lease:${leaseCount + n}`,
    holder: `holder-${n % 100}`,
    ttl_ms: 86_400_000,
  }));
  leaseCount = leases;
  for (let n = 0; n < 200; n++) {
    await lh.call('task.kill', { task_id: `task-${tasks - 1 - n}`, reason: 'bench' });
  }
}

/** The same end of the log at both sizes: histories and the Log look at the last entries. */
async function fill() {
  const { token: filler } = await lh.call('lease.acquire', { name: 'filler', holder: 'h', ttl_ms: 600_000 });
  await inBatches(server.url, HISTORY_ENTRIES, (n) => ({
    op: 'lease.renew',
    name: 'filler',
    holder: 'h',
    token: filler,
    ttl_ms: 600_001 + n,
  }));
}

/** What the views ask for, by name of view. */
function requests(seq) {
  const history = Math.max(1, seq - HISTORY_ENTRIES);
  const tail = Math.max(1, seq - TAIL_ENTRIES);
  const task = `task-${taskCount - 300}`;
  return [
    ['every view: status', '/v1/status'],
    ['Now: overview', '/v1/overview'],
    ['Leases: a page', '/v1/leases?limit=200'],
    ['Leases: by prefix', '/v1/leases?limit=200&prefix=lease:1'],
    ['Lease', '/v1/leases/lease:7'],
    ['Lease: waiters', '/v1/leases/lease:7/waiters?limit=100'],
    ['Lease: history', `/v1/leases/renewed/history?from=${history}&limit=1000`],
    ['Tasks: newest', '/v1/tasks?order=newest&limit=50'],
    ['Tasks: by state', '/v1/tasks?state=DEAD&order=newest&limit=50'],
    ['Tasks: by queue and state', '/v1/tasks?queue=queue-3&state=WAITING&order=newest&limit=50'],
    ['Tasks: by key', '/v1/tasks?key=key-7&order=newest&limit=50'],
    ['Task', `/v1/tasks/${task}`],
    ['Task: why', `/v1/tasks/${task}/why`],
    ['Task: history', `/v1/tasks/${task}/history?from=${history}&limit=1000`],
    ['Queue: counts', '/v1/queues'],
    ['Queue: figures', '/v1/queues/queue-3/figures'],
    ['Workers', '/v1/workers'],
    ['Schedules', '/v1/schedules'],
    ['Sessions', '/api/v3/sessions?limit=200'],
    ['Fences: objects', '/v1/objects?limit=200'],
    ['Fences: receipts', '/v1/receipts?limit=100'],
    ['Log: its end', `/v1/log?from=${tail}&limit=2000`],
  ];
}

async function measureAll() {
  const { seq } = await (await fetch(`${server.url}/v1/status`)).json();
  const medians = new Map();
  for (const [name, path] of requests(seq)) {
    const times = [];
    for (let n = 0; n < WARM_UP + REPEATS; n++) {
      const sentMs = performance.now();
      const reply = await fetch(server.url + path);
      await reply.arrayBuffer();
      if (!reply.ok) throw new Error(`${path}: ${reply.status}`);
      if (n >= WARM_UP) times.push(performance.now() - sentMs);
    }
    medians.set(name, percentile(times, 0.5));
  }
  return medians;
}

/** The latency of renewals while consoles are open: each asks for Now, a page of leases and a page of tasks. */
async function renewalsBeside(consoles) {
  const paths = ['/v1/status', '/v1/overview', '/v1/leases?limit=200', '/v1/tasks?order=newest&limit=50'];
  const timers = Array.from({ length: consoles }, () =>
    setInterval(
      () => {
        for (const path of paths) void fetch(server.url + path).then((reply) => reply.arrayBuffer());
      },
      REFRESH_MS * (0.9 + Math.random() / 5),
    ),
  );
  const figures = await renewals(lh, { name: 'renewed', holder: 'h', token }, scaled(RENEWAL_MS));
  for (const timer of timers) clearInterval(timer);
  return figures;
}

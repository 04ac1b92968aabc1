/**
 * The cost of heavy readers for other clients: the server's memory at its peak and afterwards, and the latency of
 * renewals on another connection. Connections that read nothing are the worst case for memory, those that read
 * everything for latency.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { connect } from '../../dist/index.js';
import { row, scaled } from '../core/bench-world.mjs';
import { rawConnections } from './raw-connections.mjs';
import { percentile, served } from './served.mjs';

const CHILD = fileURLToPath(new URL('./readers-child.mjs', import.meta.url));
const TASKS = 200;
const PAYLOAD = 'x'.repeat(255 * 1024 - 2);
const TASK = '/v1/tasks/task-$n';
const SCENARIOS = [
  ['4 × 3 000 pipelined GETs, unread', 4, 3_000, 'unread', TASK],
  ['4 × 3 000 pipelined GETs, read', 4, 3_000, 'reads', TASK],
  ['10 × 5 000 pipelined GETs, unread', 10, 5_000, 'unread', TASK],
  ['10 × 5 000 pipelined GETs, read', 10, 5_000, 'reads', TASK],
  ['3 000 × /v1/log, unread', 3_000, 1, 'unread', '/v1/log?from=$n'],
  ['5 000 followers, unread', 5_000, 1, 'unread', '/v1/log?follow=1&from=$n', '/v1/events?from=$n'],
  ['5 000 followers at the tip, unread', 5_000, 1, 'unread', '/v1/log?follow=1', '/v1/events'],
];
const MEASURE_MS = 15_000;
const AFTERWARDS_MS = 10_000;

// Every server and its readers end with this process.
process.setMaxListeners(2 * SCENARIOS.length + 10);
row('readers', 'peak MB', 'afterwards MB', 'renewal p50 ms', 'p99 ms', 'max ms', 'MB read');
for (const [title, connections, requests, how, ...paths] of SCENARIOS) {
  await measure(title, connections, requests, how, paths);
}

async function measure(title, connections, requests, how, paths) {
  const server = await served([]);
  const lh = connect(server.url);
  for (let n = 0; n < TASKS; n++) await lh.call('task.create', { payload: PAYLOAD, task_id: `task-${n}` });
  const { token } = await lh.call('lease.acquire', { name: 'renewed', holder: 'h', ttl_ms: 600_000 });
  const renewal = {
    method: 'POST',
    path: '/v1/leases/renewed/renew',
    body: JSON.stringify({ holder: 'h', token, ttl_ms: 600_000 }),
  };
  const { run, close } = await rawConnections(server.url, 1);
  const args = [new URL(server.url).port, connections, requests, how, ...paths].map(String);
  const child = spawn(process.execPath, [CHILD, ...args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  process.once('exit', () => child.kill('SIGKILL'));
  const reported = new Promise((resolve) => {
    child.on('message', (message) => {
      if (typeof message === 'number') resolve(message);
    });
  });
  // New entries for the followers at the tail.
  const creating = create(lh, scaled(MEASURE_MS));
  const { latencies } = await run(() => renewal, scaled(MEASURE_MS));
  await creating;
  child.send('report');
  const bytes = await reported;
  child.kill('SIGKILL');
  await once(child, 'exit');
  await run(() => renewal, scaled(AFTERWARDS_MS));
  const figures = [
    memoryMb(server.pid, 'VmHWM'),
    memoryMb(server.pid, 'VmRSS'),
    percentile(latencies, 0.5).toFixed(1),
    percentile(latencies, 0.99).toFixed(1),
    Math.max(...latencies).toFixed(1),
    Math.round(bytes / 1e6),
  ];
  row(title, ...figures);
  close();
  await lh.close();
  await server.stop();
}

async function create(lh, ms) {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs) {
    // A server that is too busy to answer is what is being measured.
    await lh.call('task.create', { payload: PAYLOAD }).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function memoryMb(pid, field) {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Math.round((Number(line[1]) * 1024) / 1e6);
}

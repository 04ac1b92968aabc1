// Clients that ask for far more than they read, against a real server: its memory stays bounded, renewals on other
// connections are answered meanwhile, and those who do read get everything, in order.
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CliBench, type Process, until } from '../support/cli-processes.ts';

const PAYLOAD = 'x'.repeat(255 * 1024 - 2);
const TASKS = 40;
const STREAMS = ['/v1/log?', '/v1/log?follow=1&', '/v1/events?'];
const PEAK_BYTES_MAX = 500e6;

let bench: CliBench;
let server: Process;
let sockets: Socket[];
let renewal: object;

beforeEach(async () => {
  sockets = [];
  bench = new CliBench();
  const listen = ['--listen', '127.0.0.1:0', '--json', '--log-level', 'error'];
  server = bench.start(['serve', '--data', join(bench.dir, 'data'), ...listen]);
  bench.url = (await server.says(/"url":"([^"]+)"/))[1]!;
  for (let n = 0; n < TASKS; n++) await bench.post('/v1/tasks', { task_id: `t${n}`, payload: PAYLOAD });
  const holder = { holder: 'h', ttl_ms: 600_000 };
  const { token } = await bench.post('/v1/leases/held/acquire', holder);
  renewal = { ...holder, token };
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await bench.close();
});

/** Sends requests in one write. Reads nothing until asked to. */
async function ask(...paths: readonly string[]): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(bench.url).port) });
  sockets.push(socket);
  // The server may cut those who take nothing.
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  socket.pause();
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''));
  return socket;
}

/** Reads whole answers, and gives the task that each of them shows. */
async function tasksIn(socket: Socket, count: number): Promise<string[]> {
  const found: string[] = [];
  let rest = '';
  for await (const chunk of socket.setEncoding('latin1')) {
    rest += chunk;
    for (let end = endOf(rest); end > 0; end = endOf(rest)) {
      found.push(/"task_id":"(\w+)"/.exec(rest)![1]!);
      rest = rest.slice(end);
    }
    if (found.length === count) break;
  }
  return found;
}

/** Where the first answer ends; 0 while it is not whole. */
function endOf(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
  return head >= 0 && text.length >= head + 4 + length ? head + 4 + length : 0;
}

async function renewed(times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    expect((await bench.post('/v1/leases/held/renew', renewal)).name).toBe('held');
  }
}

function peakBytes(): number {
  const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)![1]) * 1024;
}

describe('a server with clients that ask for much', () => {
  it('answers one request of a connection at a time, in bounded memory', async () => {
    const paths = Array.from({ length: 3_000 }, (_, n) => `/v1/tasks/t${n % TASKS}`);
    const reader = await ask(...paths.slice(0, 500));
    for (let n = 0; n < 4; n++) await ask(...paths);
    await renewed(100);
    const read = tasksIn(reader, 500);
    await renewed(100);
    expect((await read).map((id) => `/v1/tasks/${id}`)).toEqual(paths.slice(0, 500));
    expect(peakBytes()).toBeLessThan(PEAK_BYTES_MAX);
  });

  it('streams the log to those who take nothing of it in bounded memory', async () => {
    const count = 600;
    for (let n = 0; n < count; n++) {
      const from = 1 + (n % (TASKS / 2));
      await ask(`${STREAMS[n % 3]}from=${from}`);
    }
    await renewed(100);
    const followers = async () => {
      const text = await (await fetch(`${bench.url}/metrics`)).text();
      return Number(/^leasehold_followers (\d+)$/m.exec(text)?.[1]);
    };
    await until('all followers', async () => (await followers()) === (count * 2) / 3);
    await bench.post('/v1/tasks', { payload: PAYLOAD });
    await renewed(100);
    expect(peakBytes()).toBeLessThan(PEAK_BYTES_MAX);
    // Once they have gone their room is free for others.
    for (const socket of sockets) socket.destroy();
    const last = await bench.get('/v1/tasks/t0');
    expect(last.payload).toBe(PAYLOAD);
    await until('the followers to have left', async () => (await followers()) === 0);
  });
});

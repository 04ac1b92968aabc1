// Clients that close their side of the connection once they have sent a request, as `nc -N` does: they are answered
// before the connection is closed. What is granted or waits ends with it: a client that has died looks the same.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Answer,
  type RawConnection,
  requestOf,
  type Served,
  startServed,
  stopAllServed,
} from '../../test/support/served.ts';
import { expectProblem } from '../../test/support/wire-contract.ts';
import { countAll } from '../authority/reads.ts';
import { MemoryDisk } from '../engines/memory/memory-disk.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import type { Operation } from '../operations/table.ts';

const TOKEN = 'a-token-of-16-bytes';
const FREE = { holder: 'h', ttl_ms: 60_000 };

let served: Served;
let disk: MemoryDisk;

beforeEach(async () => {
  disk = new MemoryDisk();
  served = await startServed({ engine: memoryEngine(disk) });
});
afterEach(stopAllServed);

/** Sends requests and the end in one go, as a shell does. */
async function lastWords(...requests: readonly { method: string; path: string; body?: string }[]) {
  const connection = await served.connect({ allowHalfOpen: true });
  const texts = requests.map(({ method, path, body = '' }) => {
    const head = `Host: localhost\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
    return `${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`;
  });
  connection.socket.end(texts.join(''));
  return connection;
}

const lastCall = (operation: Operation, fields: object) => lastWords(requestOf(operation, fields));

/** Holds the answers to changes back until the test lets them go. */
function holdAppends(): { readonly isHeld: () => boolean; readonly go: () => void } {
  let go = (): void => undefined;
  let appends = 0;
  const released = new Promise<void>((resolve) => {
    go = resolve;
  });
  disk.sync = () => {
    appends += 1;
    return released;
  };
  return { isHeld: () => appends > 0, go };
}

/** The server has read the end of every connection: it has read others since. */
async function endsRead(): Promise<void> {
  for (let times = 0; times < 3; times++) await served.send('GET', '/healthz');
}

async function answerOf(connection: RawConnection): Promise<Answer> {
  const answer = await connection.answer();
  await connection.closed;
  return answer;
}

describe('a client that has closed its side of the connection', () => {
  it('is answered before the connection is closed, however long the change takes', async () => {
    const { isHeld, go } = holdAppends();
    const other = served.done('task.create', { payload: 0 });
    await served.until(isHeld);
    const created = await lastCall('task.create', { task_id: 't', payload: 1 });
    const released = await lastCall('lease.release', { name: 'n', holder: 'h', token: TOKEN });
    const read = await lastCall('status.get', {});
    const batch = await lastWords({
      method: 'POST',
      path: '/v1/batch',
      body: JSON.stringify({ ops: [{ op: 'task.create', payload: 2 }] }),
    });
    await served.until(() => served.authority.waiting === 4);
    await endsRead();
    go();
    await other;
    expect((await answerOf(created)).status).toBe(201);
    expect((await answerOf(released)).status).toBe(200);
    expect((await answerOf(read)).status).toBe(200);
    expect(JSON.parse((await answerOf(batch)).text).results).toMatchObject([{ status: 201 }]);
  });

  it('is given all answers to what it has sent, in their order', async () => {
    const connection = await lastWords(
      ...Array.from({ length: 100 }, (_, n) => requestOf('task.create', { task_id: `t${n}`, payload: n })),
    );
    for (let n = 0; n < 100; n++) {
      const { status, text } = await connection.answer();
      expect([status, JSON.parse(text).task_id]).toEqual([201, `t${n}`]);
    }
    await connection.closed;
  });

  it('is given the whole of a long answer, and of a part of the log', async () => {
    const payload = 'x'.repeat(250_000);
    for (let n = 0; n < 8; n++) await served.done('task.create', { task_id: `t${n}`, payload });
    expect((await answerOf(await lastCall('task.list', {}))).text.length).toBeGreaterThan(8 * payload.length);
    const log = await lastWords({ method: 'GET', path: '/v1/log?from=1' });
    await log.closed;
    expect(log.rest.match(/"type":"TaskCreated"/g)).toHaveLength(8);
    expect(log.rest.endsWith('\r\n0\r\n\r\n')).toBe(true);
  });

  it.each([
    ['task.lease', { worker_id: 'w' }],
    ['lease.acquire', { name: 'n', ...FREE }],
    ['lease.acquire_all', { names: ['n', 'm'], ...FREE }],
  ] as const)('is granted nothing, and told so: %s', async (operation, fields) => {
    await served.done('task.create', { task_id: 't', payload: 1 });
    const { isHeld, go } = holdAppends();
    const other = served.done('task.create', { queue: 'other', payload: 0 });
    await served.until(isHeld);
    const leaving = await lastCall(operation, fields);
    await served.until(() => served.authority.waiting === 1);
    await endsRead();
    go();
    await other;
    const { code, detail } = expectProblem(await answerOf(leaving));
    expect([code, detail]).toEqual(['INVALID_ARGUMENT', expect.stringContaining('nothing was granted')]);
    // Given back at once: the next waiter is served.
    const wait = { wait_ms: 60_000 };
    expect((await served.done('lease.acquire', { name: 'n', ...FREE, ...wait })).holder).toBe('h');
    expect((await served.done('task.lease', { worker_id: 'next', ...wait })).leases).toHaveLength(1);
  });

  it('is granted nothing in a batch, and told so there', async () => {
    const { isHeld, go } = holdAppends();
    const other = served.done('task.create', { queue: 'other', payload: 0 });
    await served.until(isHeld);
    const ops = [
      { op: 'task.create', payload: 1 },
      { op: 'lease.acquire', name: 'n', ...FREE },
    ];
    const leaving = await lastWords({ method: 'POST', path: '/v1/batch', body: JSON.stringify({ ops }) });
    await served.until(() => served.authority.waiting === 2);
    await endsRead();
    go();
    await other;
    const { results } = JSON.parse((await answerOf(leaving)).text);
    expect(results).toMatchObject([{ status: 201 }, { status: 400, body: { code: 'INVALID_ARGUMENT' } }]);
    expect((await served.done('lease.acquire', { name: 'n', ...FREE, wait_ms: 60_000 })).holder).toBe('h');
  });

  it('keeps the lease it renews', async () => {
    await served.done('lease.acquire', { name: 'n', ...FREE, token: TOKEN });
    const renewed = await lastCall('lease.renew', { name: 'n', ...FREE, token: TOKEN });
    expect((await answerOf(renewed)).status).toBe(200);
    expect((await served.done('lease.get', { name: 'n' })).holder).toBe('h');
  });

  it.each([
    ['task.lease', { worker_id: 'w' }],
    ['lease.acquire', { name: 'n', ...FREE, holder: 'other' }],
    ['task.get', { task_id: 't' }],
  ] as const)('does not wait, and is told so: %s', async (operation, fields) => {
    await served.done('task.create', { task_id: 't', queue: 'q', payload: 1 });
    await served.done('lease.acquire', { name: 'n', ...FREE, token: TOKEN });
    const leaving = await lastCall(operation, { ...fields, wait_ms: 600_000 });
    expect(expectProblem(await answerOf(leaving)).code).toBe('INVALID_ARGUMENT');
    expect(await served.authority.read((machine) => countAll(machine).waiters)).toBe(0);
  });

  it.each(['/v1/log?follow=1', '/v1/events'])('has its stream ended: %s', async (path) => {
    const stream = await lastWords({ method: 'GET', path });
    await stream.closed;
    expect(stream.rest).toMatch(/^HTTP\/1.1 200 /);
    const { text } = await served.send('GET', '/metrics');
    expect(text).toContain('\nleasehold_followers 0\n');
  });
});

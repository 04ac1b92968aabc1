// Client and server each read what the other writes most often in a way of their own. If one of them wrote it differently
// one day, nothing would break, and both would be slower without a word; so their forms are held together here.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { opText } from '../../src/client/request-text.ts';
import { readUsualReply } from '../../src/client/usual-replies.ts';
import { connect } from '../../src/client-node.ts';
import type { BatchOperation, Body } from '../../src/operations/table.ts';
import { FormReader } from '../../src/protocol/form-reader.ts';
import { Json } from '../../src/protocol/json.ts';
import { JsonBytes } from '../../src/server/json-bytes.ts';
import { bodyWriter } from '../../src/server/reply-bytes.ts';
import { readUsualBatch } from '../../src/server/usual-batch.ts';
import { startServed, stopAllServed } from '../support/served.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

describe('what the client writes most', () => {
  it.each<[BatchOperation, Record<string, unknown>]>([
    ['task.create', { payload: Json.of({ a: 'ü' }) }],
    ['task.create', { payload: Json.of(null), queue: 'mail' }],
    ['task.lease', { worker_id: 'host:12:dETsBDc-ej4e' }],
    ['task.complete', { task_id: 't', lease_id: 'l0000000000a' }],
    ['task.complete', { task_id: 't', lease_id: 'l0000000000a', result: Json.of([1]) }],
  ])('is recognised by the server: %s %j', (operation, request) => {
    const made = operation === 'task.complete' ? '' : 'tYBn2TKdzDmxfjWre-384';
    const text = opText(operation, request, made) as string;
    expect(readUsualBatch(Buffer.from(`{"ops":[${text},${text}]}`))?.checked).toEqual([true, true]);
  });
});

describe('a client on Node', () => {
  it('reads what its tasks are answered as it is expected', async () => {
    const served = await startServed();
    const lh = connect(served.url);
    const readAny = vi.spyOn(FormReader.prototype, 'any');
    const readForm = vi.spyOn(FormReader.prototype, 'oneOf');
    try {
      await lh.call('task.create', { payload: 1 });
      const leased = await lh.call('task.lease', { worker_id: 'w' });
      const { task_id, lease_id } = (leased as Extract<typeof leased, { ok: true }>).leases[0]!;
      expect(await lh.call('task.complete', { task_id, lease_id })).toMatchObject({ outcome: 'COMMITTED' });
      // Three requests, and three replies.
      expect(readForm).toHaveBeenCalledTimes(6);
      expect(readAny).not.toHaveBeenCalled();
    } finally {
      await lh.close();
      await stopAllServed();
    }
  });
});

const INSTANT = '2026-01-02T03:04:05.678Z';

const created: Body<'task.create'> = {
  ok: true,
  task_id: 'tYBn2TKdzDmxfjWre-384',
  seq: 2 ** 40,
  state: 'WAITING',
  attempt: 0,
  queue: 'mail',
  priority: 0,
  created_at: INSTANT,
  due_at: INSTANT,
};

const leased: Body<'task.lease'> = {
  ok: true,
  leases: [
    {
      task_id: created.task_id,
      lease_id: 'l0000000000a',
      lease_seq: 2 ** 40 + 1,
      attempt: 1,
      payload: Json.text('{"a": "ü"}'),
      queue: 'mail',
      expiry_timestamp: INSTANT,
      expires_at: INSTANT,
      remaining_ms: 30_000,
    },
  ],
  seq: 2 ** 40 + 1,
};

const completed: Body<'task.complete'> = {
  ok: true,
  outcome: 'COMMITTED',
  task_id: created.task_id,
  state: 'COMPLETED',
  seq: 2 ** 40 + 2,
};

function textOf(operation: BatchOperation, body: object): string {
  const out = new JsonBytes();
  bodyWriter(operation)(out, body);
  return String(out.take());
}

describe('what the server writes most', () => {
  it.each<[BatchOperation, number, object]>([
    ['task.create', 201, created],
    ['task.lease', 200, leased],
    ['task.complete', 200, completed],
  ])('is recognised by the client: %s', (operation, status, body) => {
    const text = `{"results":[{"status":${status},"body":${textOf(operation, body)}}]}`;
    const readAny = vi.spyOn(FormReader.prototype, 'any');
    const reply = readUsualReply(Buffer.from(text));
    expect(readAny).not.toHaveBeenCalled();
    expect(reply).toMatchObject({ results: [{ status, body: withoutJson(body) }] });
  });

  it('is recognised by a worker that waited: task.lease', () => {
    const reply = readUsualReply(Buffer.from(textOf('task.lease', leased)));
    expect(reply).toMatchObject({ leases: [withoutJson(leased.leases[0]!)], seq: leased.seq });
  });
});

/** What travels of it and can be compared as it is. */
function withoutJson(body: object): object {
  return Object.fromEntries(
    Object.entries(body).filter(([key]) => key !== 'payload' && key !== 'leases' && key !== 'ok'),
  );
}

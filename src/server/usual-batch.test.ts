// Batches as our client writes them are read in a way of their own, which must tell nothing that the other would not.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesInUse } from '../../test/support/collect-garbage.ts';
import { BATCH_CHECKS } from '../operations/checks.ts';
import type { BatchOperation } from '../operations/table.ts';
import { Json } from '../protocol/json.ts';
import { readBatch } from './request-bytes.ts';
import { readUsualBatch } from './usual-batch.ts';

type Op = Record<string, unknown>;

const bytes = (text: string): Buffer => Buffer.from(text);
const batchOf = (...ops: string[]): Buffer => bytes(`{"ops":[${ops.join(',')}]}`);

/** With the text of opaque values in their place, and without fields that are not there. */
function plain(ops: readonly unknown[]): unknown {
  const text = (_: string, value: unknown) => (value instanceof Json ? { text: value.text() } : value);
  const shown = (op: unknown) =>
    typeof op === 'object' && op !== null
      ? Object.fromEntries(Object.entries(op).map(([key, value]) => [key, text(key, value)]))
      : op;
  return JSON.parse(JSON.stringify(ops.map(shown)));
}

/** What is read in this way is what anybody else reads, and what is said to be checked passes the check. */
function expectAlike(body: Buffer): void {
  const usual = readUsualBatch(body);
  if (usual === null) return;
  const { ops } = readBatch(body) as { ops: Op[] };
  expect(plain(usual.ops)).toEqual(plain(ops));
  for (const [place, op] of ops.entries()) {
    if (!usual.checked[place]) continue;
    expect(op).not.toHaveProperty('wait_ms');
    expect(BATCH_CHECKS[op.op as BatchOperation].accepts(op)).toBe(true);
  }
}

const CREATE = '{"op":"task.create","task_id":"t-1","payload":{"n": 1.0}}';
const LEASE = '{"op":"task.lease","request_id":"r:1","worker_id":"w.1"}';
const COMPLETE = '{"op":"task.complete","task_id":"t-1","lease_id":"l0000000000a"}';

describe('a batch as our client writes it', () => {
  it.each([
    ['a task created', CREATE],
    ['a task created in a queue', CREATE.replace('}}', '},"queue":"mail"}')],
    ['a task leased', LEASE],
    ['a task completed', COMPLETE],
    ['a task completed with a result', COMPLETE.replace('}', ',"result":"ü"}')],
  ])('is recognised: %s', (_, op) => {
    expect(readUsualBatch(batchOf(op, op))?.checked).toEqual([true, true]);
    expectAlike(batchOf(op, op));
  });

  it('gives its opaque values as the bytes that came in', () => {
    const body = batchOf(CREATE);
    const [op] = readUsualBatch(body)!.ops as [{ payload: Json }];
    expect(op.payload.text()).toBe('{"n": 1.0}');
    expect(op.payload.bytes.buffer).toBe(body.buffer);
  });

  it('may hold operations in another form, which are still to be checked', () => {
    const others = ['{"op":"task.extend","ttl_ms":10}', '{ "op" : "task.lease" }', '[1]', 'null'];
    const body = batchOf(CREATE, ...others, COMPLETE, LEASE);
    const usual = readUsualBatch(body)!;
    expect(usual.checked).toEqual([true, false, false, false, false, true, true]);
    expectAlike(body);
  });

  it('is left alone when there is anything around it', () => {
    for (const text of [
      '{"ops":[]}',
      `{"ops":[${LEASE}]} `,
      ` {"ops":[${LEASE}]}`,
      `{"ops":[${LEASE}],"more":1}`,
      `{"ops":[${LEASE},]}`,
      `{"ops":[${LEASE}`,
      `{"ops":[${LEASE}]}]`,
      `{"ops":[${CREATE.slice(0, -4)}]}`,
      '{"ops":[',
      '',
    ])
      expect(readUsualBatch(bytes(text))).toBe(null);
    expect(readUsualBatch(undefined)).toBe(null);
  });

  it('is left alone when it is not UTF-8, be it in a value that nobody reads', () => {
    const body = batchOf(CREATE.replace('1.0', '"?"'));
    expect(readUsualBatch(body)).not.toBe(null);
    body[body.indexOf('?')] = 0xff;
    expect(readUsualBatch(body)).toBe(null);
  });

  it('counts the depth of what it does not recognise from outside', () => {
    const nested = (depth: number) => `{"op":"task.extend","lease":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    expect(readUsualBatch(batchOf(nested(997)))).not.toBe(null);
    expect(readUsualBatch(batchOf(nested(998)))).toBe(null);
    expect(readBatch(batchOf(nested(997)))).toHaveProperty('ops');
    expect(readBatch(batchOf(nested(998)))).toHaveProperty('refused');
  });

  it('is not kept in memory until the next one', () => {
    const readLong = () => readUsualBatch(batchOf(CREATE.replace('1.0', `"${'x'.repeat(3_500_000)}"`)));
    // The reader for all JSON keeps some room for the next text, which is not what is looked for here.
    readLong();
    readUsualBatch(batchOf(LEASE));
    const before = bytesInUse();
    readLong();
    expect(bytesInUse() - before).toBeLessThan(1_500_000);
  });

  it('is left alone when it has more operations than are allowed', () => {
    expect(readUsualBatch(batchOf(...new Array<string>(5_000).fill(LEASE)))?.ops).toHaveLength(5_000);
    expect(readUsualBatch(batchOf(...new Array<string>(5_001).fill(LEASE)))).toBe(null);
  });

  it.each([
    ['an id that is empty', CREATE.replace('t-1', '')],
    ['an id with a slash', CREATE.replace('t-1', 'a/b')],
    ['an id with a space', CREATE.replace('t-1', 'a b')],
    ['an id with an escape', CREATE.replace('t-1', 'a\\u0062')],
    ['an id beyond ASCII', CREATE.replace('t-1', 'ü')],
    ['an id with a control character', CREATE.replace('t-1', 'a\u007f')],
    ['an id that is too long', CREATE.replace('t-1', 'a'.repeat(257))],
    ['another order', '{"op":"task.create","payload":1,"task_id":"t-1"}'],
    ['one field more', LEASE.replace('}', ',"max":2}')],
    ['the same field again', LEASE.replace('}', ',"worker_id":"w.1"}')],
    ['a wait', LEASE.replace('}', ',"wait_ms":1}')],
  ])('leaves %s to the check', (_, op) => {
    const usual = readUsualBatch(batchOf(op));
    if (usual !== null) expect(usual.checked).toEqual([false]);
    expectAlike(batchOf(op));
  });

  it('with an id as long as one may be is recognised', () => {
    expect(readUsualBatch(batchOf(CREATE.replace('t-1', 'a'.repeat(256))))?.checked).toEqual([true]);
  });

  it('leaves a payload that is no JSON, or nested too deeply, to who can say so', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    for (const payload of ['', '01', '{"a":}', '"\n"', nested(1_001)])
      expect(readUsualBatch(batchOf(CREATE.replace('{"n": 1.0}', payload)))).toBe(null);
    expectAlike(batchOf(CREATE.replace('{"n": 1.0}', nested(1_000))));
  });

  it('tells nothing else than any reader would, whatever became of it on its way', () => {
    const id = fc.oneof(
      fc.stringMatching(/^[!-~]{1,8}$/),
      fc.string({ maxLength: 4 }),
      fc.constant('a'.repeat(256)),
    );
    const payload = fc.oneof(fc.json(), fc.constantFrom('1.0', '"ü"', '{"a" : [ ]}', ''));
    const op = fc.oneof(
      fc.tuple(id, payload).map(([a, b]) => `{"op":"task.create","task_id":"${a}","payload":${b}}`),
      fc
        .tuple(id, payload, id)
        .map(([a, b, c]) => `{"op":"task.create","task_id":"${a}","payload":${b},"queue":"${c}"}`),
      fc.tuple(id, id).map(([a, b]) => `{"op":"task.lease","request_id":"${a}","worker_id":"${b}"}`),
      fc.tuple(id, id).map(([a, b]) => `{"op":"task.complete","task_id":"${a}","lease_id":"${b}"}`),
      fc
        .tuple(id, id, payload)
        .map(([a, b, c]) => `{"op":"task.complete","task_id":"${a}","lease_id":"${b}","result":${c}}`),
      fc.constantFrom('{"op":"task.extend"}', '1', '{"op":"task.create"}'),
    );
    const edit = fc.record({
      place: fc.nat(),
      take: fc.nat(3),
      put: fc.string({ unit: 'binary-ascii', maxLength: 3 }),
    });
    fc.assert(
      fc.property(
        fc.array(op, { minLength: 1, maxLength: 4 }),
        fc.array(edit, { maxLength: 2 }),
        (ops, edits) => {
          let text = `{"ops":[${ops.join(',')}]}`;
          for (const { place, take, put } of edits) {
            const from = place % (text.length + 1);
            text = text.slice(0, from) + put + text.slice(from + take);
          }
          expectAlike(bytes(text));
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

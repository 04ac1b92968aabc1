// The server reads what the client writes most often in a way of its own. If the client wrote it differently one day,
// nothing would break, and the server would be slower without a word; so the two are held together here.
import { describe, expect, it } from 'vitest';
import { opText } from '../../src/client/request-text.ts';
import type { BatchOperation } from '../../src/operations/table.ts';
import { Json } from '../../src/protocol/json.ts';
import { readUsualBatch } from '../../src/server/usual-batch.ts';

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

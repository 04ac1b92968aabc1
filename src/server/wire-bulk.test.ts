// One action on all tasks that match a filter, over a real socket: every action, dry runs, cursors, bounds of a call.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DamagedDisk } from '../../test/support/damaged-disk.ts';
import { type Body, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { TestDisk } from '../../test/support/test-disk.ts';
import { expectProblem } from '../../test/support/wire-contract.ts';
import { fileEngine } from '../engines/file/file-engine.ts';

let served: Served;

beforeEach(async () => {
  served = await startServed();
});
afterEach(stopAllServed);

const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

async function batch(ops: readonly object[]): Promise<Body[]> {
  const { text } = await served.send('POST', '/v1/batch', { body: { ops } });
  return JSON.parse(text).results;
}

const create = (ids: readonly string[], fields: object = {}): Promise<Body[]> =>
  batch(ids.map((task_id) => ({ op: 'task.create', task_id, payload: task_id, queue: 'q', ...fields })));

async function dead(ids: readonly string[], fields: object = {}): Promise<void> {
  await create(ids, fields);
  await batch(ids.map((task_id) => ({ op: 'task.kill', task_id, reason: 'broken' })));
}

const bulk = (action: string, filter: object, more: object = {}): Promise<Body> =>
  served.done('task.bulk', { action, filter, reason: 'for a test', ...more });
const refusal = async (request: object): Promise<Body> => {
  const answer = await served.call('task.bulk', {
    action: 'cancel',
    filter: { queue: 'q' },
    reason: 'r',
    ...request,
  });
  return expectProblem(answer);
};
const get = (task_id: string): Promise<Body> => served.done('task.get', { task_id });
const inQueue = async (queue: string): Promise<string[]> =>
  (await served.done('task.list', { queue, limit: 1000 })).tasks.map(({ task_id }: Body) => task_id);

describe('task.bulk', () => {
  it('requeues dead tasks as new ones with a copy of their payload, and skips those with a successor', async () => {
    await dead(['a', 'b', 'c']);
    await served.done('task.requeue', { task_id: 'b' });
    const set = { queue: 'again', priority: 4, delay_ms: 60_000 };
    expect(await bulk('requeue', { queue: 'q', state: 'DEAD' }, { set })).toMatchObject({
      matched: 2,
      changed: 2,
      refused: [],
      task_ids: ['a', 'c'],
    });
    const [first] = await inQueue('again');
    expect(await get(first!)).toMatchObject({ payload: 'a', requeued_from: 'a', priority: 4 });
    expect(await served.done('task.why', { task_id: first! })).toMatchObject({ code: 'DELAYED' });
    expect(await get('a')).toMatchObject({ state: 'DEAD', requeued_as: first });
    expect(await bulk('requeue', { state: 'DEAD' })).toMatchObject({ matched: 0, changed: 0, task_ids: [] });
  });

  it('cancels, kills, changes and purges', async () => {
    await create(['a', 'b', 'c']);
    await bulk('change', { queue: 'q' }, { set: { priority: 7 } });
    expect(await get('c')).toMatchObject({ state: 'WAITING', priority: 7 });
    await served.done('task.lease', { worker_id: 'w', queues: ['q'] });
    expect(await bulk('cancel', { queue: 'q' })).toMatchObject({ matched: 3, changed: 3 });
    expect(await get('a')).toMatchObject({ state: 'LEASED', cancel_requested: true });
    expect(await get('b')).toMatchObject({ state: 'DEAD', reason: 'CANCELLED', reason_detail: 'for a test' });
    expect(await bulk('kill', { worker_id: 'w' })).toMatchObject({ matched: 1, task_ids: ['a'] });
    expect(await get('a')).toMatchObject({ state: 'DEAD', reason: 'for a test' });
    expect(await bulk('purge', { reason: 'CANCELLED' })).toMatchObject({ changed: 2, task_ids: ['b', 'c'] });
    expect(await inQueue('q')).toEqual(['a']);
  });

  it('tells what the rules refuse, and does the rest', async () => {
    await dead(['ended']);
    await create(['waiting']);
    const outcome = { matched: 2, changed: 1, task_ids: ['waiting'] };
    expect(await bulk('kill', { queue: 'q' })).toMatchObject({
      ...outcome,
      refused: [{ task_id: 'ended', code: 'TASK_TERMINAL' }],
    });
  });

  it('changes nothing in a dry run; with its cursor the same tasks are changed and no later ones', async () => {
    await create(['a', 'b']);
    const dry = await bulk('kill', { queue: 'q' }, { dry_run: true });
    expect(dry).toMatchObject({ matched: 2, changed: 0, task_ids: ['a', 'b'], seq: 3 });
    await create(['later']);
    expect(await bulk('kill', { queue: 'q' }, { cursor: dry.cursor })).toMatchObject({
      task_ids: ['a', 'b'],
      seq: 6,
    });
    expect(await get('later')).toMatchObject({ state: 'WAITING' });
  });

  it('goes on from its cursor, over several calls, to the position of the first call and not beyond', async () => {
    await dead(numbered('t', 5));
    const filter = { queue: 'q' };
    const seen: string[][] = [];
    let cursor: string | undefined;
    do {
      const more = cursor === undefined ? {} : { cursor };
      const { task_ids, next_cursor } = await bulk('requeue', filter, { max: 2, ...more });
      seen.push(task_ids);
      cursor = next_cursor;
      // What was requeued has ended again by the next call: a new task, which no later call may touch.
      await served.done('task.bulk', { action: 'kill', filter: { state: 'WAITING' }, reason: 'again' });
    } while (cursor !== undefined);
    expect(seen).toEqual([['t0', 't1'], ['t2', 't3'], ['t4']]);
    expect(await inQueue('q')).toHaveLength(10);
  });

  it('ends a call at so many bytes, with a cursor', async () => {
    const payload = 'x'.repeat(200_000);
    await dead(numbered('t', 4), { payload });
    const { matched, next_cursor } = await bulk('requeue', { queue: 'q' });
    expect(matched).toBe(3);
    expect(await bulk('requeue', { queue: 'q' }, { cursor: next_cursor })).toMatchObject({
      task_ids: ['t3'],
    });
  });

  it('scans a bounded number of tasks, and may find none and still have a cursor', async () => {
    for (let made = 0; made < 10_001; made += 1_000) await create(numbered(`t${made}-`, 1_000));
    await create(['last'], { key: 'k', queue: 'other' });
    const filter = { created_after: '2000-01-01T00:00:00.000Z', reason: 'never' };
    const first = await bulk('cancel', filter);
    expect(first).toMatchObject({ matched: 0, changed: 0 });
    const second = await bulk('cancel', filter, { cursor: first.next_cursor });
    expect(second).not.toHaveProperty('next_cursor');
  });

  it('never touches tasks of system queues', async () => {
    await served.done('intent.accept', { type: 'live', serviceRef: 'ard', profileID: 'p' });
    await create(['ours'], { queue: 'system:q' });
    await create(['theirs'], { queue: 'q' });
    expect(await bulk('kill', { state: 'WAITING' })).toMatchObject({ matched: 1, task_ids: ['theirs'] });
    expect(await bulk('purge', { queue: 'system:q' })).toMatchObject({ matched: 0 });
  });

  it('is refused without a filter, with a set that is missing or out of place, and to a system queue', async () => {
    expect((await refusal({ filter: {} })).detail).toBe(
      'The filter must have a field: no filter at all would mean every task.',
    );
    expect((await refusal({ filter: { tag: 'x' } })).detail).toContain(
      'The field filter.tag is unknown; known are',
    );
    expect((await refusal({ action: 'change' })).detail).toContain('must be given');
    expect((await refusal({ set: { priority: 1 } })).detail).toContain('the action is cancel');
    expect((await refusal({ max: 1_001 })).code).toBe('INVALID_ARGUMENT');
    expect((await refusal({ cursor: 'x' })).code).toBe('INVALID_ARGUMENT');
    expect((await refusal({ reason: '' })).code).toBe('INVALID_ARGUMENT');
    expect((await refusal({ action: 'requeue', set: { queue: 'system:q' } })).code).toBe('FORBIDDEN');
  });

  it('does nothing on a full disk, where a dry run still answers', async () => {
    const KIB = 1024;
    const disk = new TestDisk();
    const sizes = { segmentBytes: 8 * KIB, batchBytesMax: KIB, operationBytesMax: KIB };
    served = await startServed({ engine: fileEngine({ dir: '/data', files: disk, ...sizes }) });
    await create(['waiting']);
    disk.capacityBytes = disk.paths().reduce((sum, path) => sum + disk.contentOf(path).length, 0);
    const fill = () => served.call('task.create', { payload: 'x'.repeat(500), queue: 'other' });
    for (let tries = 0; tries < 1_000 && (await fill()).status !== 507; tries++);
    for (const action of ['cancel', 'kill', 'purge', 'requeue']) {
      expect(await refusal({ action })).toMatchObject({ status: 507, code: 'DISK_FULL' });
    }
    expect(await bulk('kill', { queue: 'q' }, { dry_run: true })).toMatchObject({ matched: 1 });
    expect(await get('waiting')).toMatchObject({ state: 'WAITING' });
  });

  it('refuses a task whose payload is damaged, and requeues the others', async () => {
    const disk = new DamagedDisk();
    served = await startServed({ engine: disk.engine() });
    await dead(['damaged', 'whole']);
    await stopAllServed();
    disk.damage('damaged"');
    served = await startServed({ engine: disk.engine() });
    expect(await bulk('requeue', { queue: 'q' })).toMatchObject({
      matched: 2,
      task_ids: ['whole'],
      refused: [{ task_id: 'damaged', code: 'PAYLOAD_DAMAGED' }],
    });
  });
});

describe('a batch', () => {
  it('takes requeue, cancel, kill and checkpoint of single tasks, and no bulk', async () => {
    await create(['a', 'b', 'c']);
    const { leases } = await served.done('task.lease', { worker_id: 'w', queues: ['q'] });
    const results = await batch([
      { op: 'task.checkpoint', task_id: 'a', lease_id: leases[0].lease_id, value: 1 },
      { op: 'task.cancel', task_id: 'b', reason: 'r' },
      { op: 'task.kill', task_id: 'c', reason: 'r' },
      { op: 'task.requeue', task_id: 'c' },
      { op: 'task.bulk', action: 'cancel', filter: { queue: 'q' }, reason: 'r' },
    ]);
    expect(results.map(({ status }) => status)).toEqual([200, 200, 200, 201, 400]);
  });
});

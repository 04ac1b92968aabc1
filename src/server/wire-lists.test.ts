// Lists over a real socket: the order of creation, filters, ranges of time, cursors, and who waits for a name.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Body, requestOf, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { countAll } from '../authority/reads.ts';

let served: Served;

beforeEach(async () => {
  served = await startServed();
});
afterEach(stopAllServed);

const create = (task_id: string, fields: object = {}): Promise<Body> =>
  served.done('task.create', { task_id, payload: 1, ...fields });
const lease = (worker_id: string, fields: object = {}): Promise<Body> =>
  served.done('task.lease', { worker_id, ...fields });

/** All pages of a list, in order. Asserts that none but the last is empty. */
async function list(filter: object, limit = 2): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined, pages = 0; pages < 50; pages++) {
    const page = await served.done('task.list', { ...filter, limit, ...(cursor ? { cursor } : {}) });
    ids.push(...page.tasks.map(({ task_id }: Body) => task_id));
    cursor = page.next_cursor;
    if (cursor === undefined) return ids;
    expect(page.tasks).not.toEqual([]);
  }
  throw new Error('The list does not end.');
}

describe('GET /v1/tasks', () => {
  /** a and d completed, b leased by w1, c dead, e waiting, f leased by w2; created in the order of their names. */
  async function sixTasks(): Promise<void> {
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) await create(id, { queue: id < 'd' ? 'mail' : 'video' });
    const mail = (await lease('w1', { queues: ['mail'], max: 2 })).leases;
    await served.done('task.complete', { task_id: 'a', lease_id: mail[0].lease_id });
    await served.done('task.kill', { task_id: 'c', reason: 'unwanted' });
    const video = (await lease('w2', { queues: ['video'], max: 3 })).leases;
    await served.done('task.complete', { task_id: 'd', lease_id: video[0].lease_id });
    await served.done('task.release', { task_id: 'e', lease_id: video[1].lease_id });
  }

  it('lists all tasks in the order of their creation, oldest or newest first', async () => {
    await sixTasks();
    expect(await list({})).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(await list({ order: 'newest' })).toEqual(['f', 'e', 'd', 'c', 'b', 'a']);
  });

  it('filters by queue, by state, by both, and by worker', async () => {
    await sixTasks();
    expect(await list({ queue: 'mail' })).toEqual(['a', 'b', 'c']);
    expect(await list({ state: 'COMPLETED', order: 'newest' }, 1)).toEqual(['d', 'a']);
    expect(await list({ state: 'LEASED' }, 1)).toEqual(['b', 'f']);
    expect(await list({ queue: 'video', state: 'WAITING' })).toEqual(['e']);
    expect(await list({ worker_id: 'w2' })).toEqual(['f']);
    expect(await list({ worker_id: 'w2', queue: 'mail' })).toEqual([]);
    expect(await list({ worker_id: 'unknown' })).toEqual([]);
    expect(await list({ queue: 'nothing' })).toEqual([]);
  });

  it('keeps its place when tasks come, end and go back between two pages', async () => {
    await sixTasks();
    const first = await served.done('task.list', { limit: 3 });
    await create('g');
    await lease('w3', { queues: ['video'] });
    await served.done('task.kill', { task_id: 'b', reason: 'unwanted' });
    const rest = await served.done('task.list', { limit: 10, cursor: first.next_cursor });
    expect(rest.tasks.map(({ task_id }: Body) => task_id)).toEqual(['d', 'e', 'f', 'g']);
  });

  it('takes a range of time, whose bounds are not included', async () => {
    const times: string[] = [];
    for (const id of ['a', 'b', 'c', 'd']) {
      times.push((await create(id)).created_at);
      served.advance(10);
    }
    const [, second, , fourth] = times;
    expect(await list({ created_after: second })).toEqual(['c', 'd']);
    expect(await list({ created_before: fourth })).toEqual(['a', 'b', 'c']);
    expect(await list({ created_after: second, created_before: fourth, order: 'newest' }, 1)).toEqual(['c']);
    expect(await list({ created_after: second, order: 'newest', state: 'WAITING' }, 1)).toEqual(['d', 'c']);
  });

  it('refuses an instant without a time zone, and an order it does not know', async () => {
    for (const query of ['created_after=2026-01-01T00:00:00', 'created_before=yesterday', 'order=best']) {
      const { status, text } = await served.send('GET', `/v1/tasks?${query}`);
      expect([status, JSON.parse(text).code], query).toEqual([400, 'INVALID_ARGUMENT']);
    }
  });

  it('shows a task whose lease has run out as waiting, and not among the leased', async () => {
    await create('a');
    await lease('w1', { ttl_ms: 10 });
    await served.until(async () => (await list({ state: 'LEASED' })).length === 0);
    expect(await list({ state: 'WAITING' })).toEqual(['a']);
    expect(await list({ worker_id: 'w1' })).toEqual([]);
  });
});

describe('GET /v1/leases?holder=', () => {
  it('lists the live leases of one holder, page by page', async () => {
    const acquire = (name: string, holder: string): Promise<Body> =>
      served.done('lease.acquire', { name, holder, ttl_ms: 60_000 });
    const released = await acquire('n0', 'h1');
    for (const name of ['n1', 'n2', 'n3', 'n4', 'n5']) await acquire(name, name < 'n4' ? 'h1' : 'h2');
    await served.done('lease.release', { name: 'n0', holder: 'h1', token: released.token });
    const first = await served.done('lease.list', { holder: 'h1', limit: 2 });
    const rest = await served.done('lease.list', { holder: 'h1', limit: 2, cursor: first.next_cursor });
    const names = [...first.leases, ...rest.leases].map(({ name }: Body) => name);
    expect(names.sort()).toEqual(['n1', 'n2', 'n3']);
    expect(rest.next_cursor).toBeUndefined();
    expect((await served.done('lease.list', { holder: 'h1', prefix: 'n3' })).leases).toHaveLength(1);
    expect((await served.done('lease.list', { holder: 'h3' })).leases).toEqual([]);
  });
});

describe('GET /v1/leases/{name}/waiters', () => {
  it('says who waits, in order, since when, and for which other names', async () => {
    for (const name of ['a', 'b'])
      await served.done('lease.acquire', { name, holder: 'owner', ttl_ms: 60_000 });
    const wait = async (count: number, operation: 'lease.acquire' | 'lease.acquire_all', fields: object) => {
      const {
        method,
        path,
        body = '',
      } = requestOf(operation, { ttl_ms: 60_000, wait_ms: 60_000, ...fields });
      const connection = await served.connect();
      connection.write(
        `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
      await served.until(
        async () => (await served.authority.read((machine) => countAll(machine).waiters)) === count,
      );
    };
    await wait(1, 'lease.acquire', { name: 'a', holder: 'first' });
    await wait(2, 'lease.acquire_all', { names: ['b', 'a', 'free'], holder: 'second' });
    const { waiters } = await served.done('lease.waiters', { name: 'a' });
    expect(waiters).toMatchObject([
      { holder: 'first', names: ['a'], blocked_by: ['a'] },
      { holder: 'second', names: ['b', 'a', 'free'], blocked_by: ['b', 'a'] },
    ]);
    expect(waiters[0].waiting_since <= waiters[1].waiting_since).toBe(true);
    expect(waiters[0].remaining_ms).toBeLessThanOrEqual(60_000);
    const page = await served.done('lease.waiters', { name: 'a', limit: 1 });
    const rest = await served.done('lease.waiters', { name: 'a', limit: 1, cursor: page.next_cursor });
    expect([page, rest].map((each) => each.waiters[0].holder)).toEqual(['first', 'second']);
    expect(rest.next_cursor).toBeUndefined();
  });
});

describe('GET /v1/tasks/{task_id}/why', () => {
  it('says since when it knows that no worker has asked, after a start of the server', async () => {
    await served.done('task.create', { task_id: 'lonely', payload: 1, queue: 'lonely' });
    const says = async () => (await served.done('task.why', { task_id: 'lonely' })).says;
    expect(await says()).toMatch(
      /No worker has asked this queue since this server opened the log \d+\S* \w+ ago\.$/,
    );
    served.advance(10 * 60_000);
    expect(await says()).toMatch(/No worker has asked this queue in the last ten minutes\.$/);
  });

  it('says how many tasks are ahead, and which workers poll the queue', async () => {
    for (const id of ['a', 'b', 'c']) await create(id, { queue: 'mail' });
    await create('urgent', { queue: 'mail', priority: 5 });
    await create('elsewhere', { queue: 'video', priority: 9 });
    const before = await served.done('task.why', { task_id: 'c' });
    expect(before).toMatchObject({ code: 'WAITING_FOR_WORKER', queue: 'mail', ahead: 3, polled_by: [] });
    expect(before.says).toContain('3 tasks are ahead');
    expect(before.says).toContain('No worker has asked');
    await lease('w1', { queues: ['mail'] });
    const after = await served.done('task.why', { task_id: 'c' });
    expect(after).toMatchObject({ ahead: 2, polled_by: [{ worker_id: 'w1' }] });
    expect(after.says).toMatch(/ w1 asked last, \d+ m?s ago, and has urgent for \d+ m?s\.$/);
    expect(await served.done('worker.list')).toMatchObject({
      workers: [{ worker_id: 'w1', queues: ['mail'], active_leases: 1, task_ids: ['urgent'] }],
    });
  });

  it('counts tasks that were handed back before those that came later', async () => {
    for (const id of ['a', 'b', 'c', 'd']) await create(id);
    const { leases } = await lease('w1', { max: 3 });
    for (const { task_id, lease_id } of leases) await served.done('task.release', { task_id, lease_id });
    expect(await served.done('task.why', { task_id: 'b' })).toMatchObject({ ahead: 1 });
    expect(await served.done('task.why', { task_id: 'd' })).toMatchObject({ ahead: 3 });
  });

  it('says when a delay ends', async () => {
    const { due_at } = await create('later', { delay_ms: 60_000 });
    expect(await served.done('task.why', { task_id: 'later' })).toMatchObject({ code: 'DELAYED', due_at });
  });
});

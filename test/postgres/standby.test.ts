// Two servers on one database: what the second one says while the first leads, and what it has read along.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/cli-processes.ts';
import { TestDatabase } from '../support/postgres.ts';
import { Fleet, type FleetServer, STEADY } from '../support/server-fleet.ts';

let database: TestDatabase;
let fleet: Fleet;
let leader: FleetServer;
let standby: FleetServer;

beforeAll(async () => {
  database = await TestDatabase.create();
  fleet = new Fleet(database.url);
  leader = await fleet.start(STEADY);
  standby = await fleet.start(STEADY);
});

afterAll(async () => {
  await fleet.close();
  await database.drop();
});

/** Waits until the standby has read along as far as the leader has come. */
async function readAlong(): Promise<number> {
  const { seq } = (await leader.ask('GET', '/v1/status')).body;
  await until(`seq ${seq} at the standby`, async () => {
    return (await standby.ask('GET', '/v1/status')).body.seq >= seq;
  });
  return seq;
}

describe('a standby', () => {
  it('lives, is not ready, and says that it is a standby and who leads', async () => {
    expect((await standby.ask('GET', '/healthz')).status).toBe(200);
    const ready = await standby.ask('GET', '/readyz');
    expect([ready.status, ready.body.code]).toEqual([503, 'NOT_LEADER']);
    expect(ready.body).not.toHaveProperty('leader_url');
    expect((await leader.ask('GET', '/readyz')).status).toBe(200);
    const status = await standby.ask('GET', '/v1/status');
    expect(status.body).toMatchObject({ role: 'standby', leader_url: leader.url });
    expect((await leader.ask('GET', '/v1/status')).body).toMatchObject({ role: 'leader' });
  });

  it('refuses every call with NOT_LEADER, when to come back, and where the leader is', async () => {
    const calls: [string, string, object?][] = [
      ['POST', '/v1/tasks', { payload: 1 }],
      ['POST', '/v1/leases/a/acquire', { holder: 'h', ttl_ms: 1_000 }],
      ['POST', '/v1/batch', { ops: [] }],
      ['GET', '/v1/tasks'],
      ['GET', '/v1/leases/a'],
      ['GET', '/v1/log'],
      ['GET', '/v1/log?follow=1'],
      ['GET', '/v1/events'],
      ['GET', '/v1/backup'],
      // The history is in the log and the others are soft state of the leader.
      ['GET', '/v1/tasks/t/history?stale=ok'],
      ['GET', '/v1/workers?stale=ok'],
      ['GET', '/v1/receipts?stale=ok'],
    ];
    for (const [method, path, body] of calls) {
      const answer = await standby.ask(method, path, body);
      expect([path, answer.status, answer.body.code]).toEqual([path, 503, 'NOT_LEADER']);
      expect(answer.body.leader_url).toBe(leader.url);
      expect(answer.headers.get('leasehold-leader')).toBe(leader.url);
      expect(answer.headers.get('retry-after')).toBe('1');
    }
  });

  it('answers looks at the state from what it has read along, if asked to, and says how far that is', async () => {
    const { task_id } = (await leader.ask('POST', '/v1/tasks', { payload: { a: [1, 2] }, queue: 'stale' }))
      .body;
    await leader.ask('POST', '/v1/leases/stale/acquire', { holder: 'h', ttl_ms: 600_000 });
    const seq = await readAlong();
    const task = await standby.ask('GET', `/v1/tasks/${task_id}?stale=ok`);
    expect(task.status).toBe(200);
    expect(task.body).toMatchObject({ task_id, payload: { a: [1, 2] }, state: 'WAITING' });
    expect(Number(task.headers.get('leasehold-stale'))).toBeGreaterThanOrEqual(seq);
    const looks: [string, object][] = [
      ['/v1/tasks?queue=stale&stale=ok', { tasks: [{ task_id }] }],
      [`/v1/tasks/${task_id}/why?stale=ok`, { code: 'WAITING_FOR_WORKER' }],
      ['/v1/leases/stale?stale=ok', { holder: 'h' }],
      ['/v1/leases?prefix=stale&stale=ok', { leases: [{ name: 'stale' }] }],
      ['/v1/queues?stale=ok', { queues: [{ queue: 'stale', waiting: 1 }] }],
    ];
    for (const [path, body] of looks) {
      const answer = await standby.ask('GET', path);
      expect([path, answer.status]).toEqual([path, 200]);
      expect(answer.body).toMatchObject(body);
    }
    const none = await standby.ask('GET', '/v1/objects/none?stale=ok');
    expect([none.status, none.body.code]).toEqual([404, 'OBJECT_NOT_FOUND']);
  });

  it('wakes the callers that wait for a task when it reads that the task has ended', async () => {
    const { task_id } = (await leader.ask('POST', '/v1/tasks', { payload: 1, queue: 'waits' })).body;
    await readAlong();
    const waiting = standby.ask('GET', `/v1/tasks/${task_id}?wait_ms=30000&stale=ok`);
    await leader.ask('POST', `/v1/tasks/${task_id}/kill`, { reason: 'enough' });
    expect((await waiting).body).toMatchObject({ state: 'DEAD', reason: 'enough' });
  });

  it('shows in its metrics that it does not serve, and how far it has read along', async () => {
    const seq = await readAlong();
    const { body } = await standby.ask('GET', '/metrics');
    expect(body).toMatch(/^leasehold_serving 0$/m);
    expect(Number(/^leasehold_log_seq (\d+)$/m.exec(body)![1])).toBeGreaterThanOrEqual(seq);
    expect((await leader.ask('GET', '/metrics')).body).toMatch(/^leasehold_serving 1$/m);
  });

  it('takes stale=ok for what it is at the leader, who answers as always', async () => {
    const answer = await leader.ask('GET', '/v1/queues?stale=ok');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('leasehold-stale')).toBeNull();
    expect((await leader.ask('GET', '/v1/queues?stale=yes')).body.code).toBe('INVALID_ARGUMENT');
    expect((await standby.ask('GET', '/v1/queues?stale=ok&other=1')).body.code).toBe('INVALID_ARGUMENT');
  });
});

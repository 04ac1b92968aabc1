// The database goes away under the leader: it stops acknowledging and showing anything at once, and everything comes
// back by itself when the database does.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../../src/client-node.ts';
import { until } from '../support/cli-processes.ts';
import { FleetLoad, wholeLog } from '../support/fleet-load.ts';
import { TestDatabase } from '../support/postgres.ts';
import { Fleet, type FleetServer, PATIENT } from '../support/server-fleet.ts';

let database: TestDatabase;
let fleet: Fleet;

beforeEach(async () => {
  database = await TestDatabase.create();
  fleet = new Fleet(database.url);
  await fleet.start(PATIENT);
  await fleet.start(PATIENT);
});

afterEach(async () => {
  await fleet.close();
  await database.drop();
});

async function answersNothing(server: FleetServer): Promise<void> {
  for (const [method, path, body] of [
    ['POST', '/v1/tasks', { payload: 1, task_id: 'known' }],
    ['POST', '/v1/tasks', { payload: 1 }],
    ['GET', '/v1/tasks/known'],
    ['GET', '/v1/log?from=1'],
    ['GET', '/readyz'],
  ] as const) {
    const answer = await server.ask(method, path, body);
    expect([path, answer.status]).toEqual([path, 503]);
  }
}

describe('while the database is down', () => {
  it('no server acknowledges or shows anything, and afterwards all continue by themselves', async () => {
    const leader = await fleet.leader();
    expect((await leader.ask('POST', '/v1/tasks', { payload: 1, task_id: 'known' })).status).toBe(201);
    await database.whileDown(async () => {
      for (const server of fleet.servers) {
        await server.becomes('standby');
        await answersNothing(server);
        await until('the server to say why', async () => {
          return (await server.ask('GET', '/v1/status')).body.log_trouble?.includes('cannot be reached');
        });
        const { code, detail } = (await server.ask('GET', '/v1/queues')).body;
        expect([code, detail]).toEqual(['NOT_LEADER', expect.stringContaining('cannot be reached')]);
        expect((await server.ask('GET', '/healthz')).status).toBe(200);
      }
    });
    const lh = connect(fleet.urls);
    expect((await (await fleet.leader()).ask('GET', '/v1/status')).body).not.toHaveProperty('log_trouble');
    expect(await lh.call('task.create', { payload: 1, task_id: 'after' })).toMatchObject({ ok: true });
    expect(await lh.call('task.get', { task_id: 'known' })).toMatchObject({ ok: true, state: 'WAITING' });
    await lh.close();
    for (const { process } of fleet.servers) expect(process.stderr).not.toContain('a request failed inside');
  });
});

describe('when connections are cut under load', () => {
  it('loses nothing that was acknowledged', async () => {
    const load = new FleetLoad(fleet.urls);
    load.start(2);
    for (let round = 0; round < 3; round++) {
      const before = load.acknowledged;
      await until('work to go on', () => load.acknowledged >= before + 20 || load.faults.length > 0);
      await database.pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name LIKE 'leasehold%'`,
      );
    }
    const before = load.acknowledged;
    await until('work to go on', () => load.acknowledged >= before + 20 || load.faults.length > 0);
    await load.stop();
    expect(load.faults).toEqual([]);
    expect(load.complaints(await wholeLog(fleet.urls))).toEqual([]);
  });
});

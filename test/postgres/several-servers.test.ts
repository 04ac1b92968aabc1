// `connect([urls])` and the command line with several servers, and servers that are replaced one by one: callers find
// the leader, waiting calls are carried over, and the outage is only a pause.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect, type Leasehold } from '../../src/client-node.ts';
import { Process, until } from '../support/cli-processes.ts';
import { FleetLoad, wholeLog } from '../support/fleet-load.ts';
import { TestDatabase } from '../support/postgres.ts';
import { Fleet, type FleetServer, PATIENT, STEADY } from '../support/server-fleet.ts';

let database: TestDatabase;
let fleet: Fleet;
let lh: Leasehold;

beforeEach(async () => {
  database = await TestDatabase.create();
  fleet = new Fleet(database.url);
});

afterEach(async () => {
  await lh?.close();
  await fleet.close();
  await database.drop();
});

/** A leader and a standby, in this order. */
async function startTwo(more: readonly string[] = STEADY): Promise<readonly [FleetServer, FleetServer]> {
  return [await fleet.start(more), await fleet.start(more)];
}

describe('the leader', () => {
  const standbysOf = async (server: FleetServer): Promise<string[]> =>
    (await server.ask('GET', '/v1/overview')).body.standbys.map(({ url }: { url: string }) => url);

  it('lists the servers that stand by while they are connected to the database', async () => {
    const [leader, standby] = await startTwo(PATIENT);
    const third = await fleet.start([...PATIENT, '--advertise', 'http://third.example:7420']);
    await until('both', async () => (await standbysOf(leader)).length === 2);
    expect((await standbysOf(leader)).sort()).toEqual([standby.url, 'http://third.example:7420'].sort());
    third.process.kill('SIGKILL');
    await until('one to go', async () => (await standbysOf(leader)).length === 1);
    leader.process.kill('SIGTERM');
    await standby.becomes('leader');
    await until('none to be left', async () => (await standbysOf(standby)).length === 0);
  });
});

describe('a client of several servers', () => {
  it('finds the leader, whichever it asks first', async () => {
    const [leader, standby] = await startTwo();
    lh = connect([standby.url, leader.url]);
    expect(await lh.call('task.create', { payload: 1 })).toMatchObject({ ok: true });
    expect((await lh.status()).role).toBe('leader');
  });

  it('does not go where a server sends it unless it was told of that place', async () => {
    const [, standby] = await startTwo();
    lh = connect(standby.url, { token: 'a-secret', retry: { tries: 2 } });
    await expect(lh.call('task.create', { payload: 1 })).rejects.toMatchObject({
      code: 'NOT_LEADER',
      retryable: true,
      effect: 'none',
    });
  });

  it('carries a waiting call and a follower over to the next leader', async () => {
    const [leader, standby] = await startTwo(PATIENT);
    lh = connect([leader.url, standby.url]);
    const held = await lh.call('lease.acquire', { name: 'n', holder: 'first', ttl_ms: 600_000 });
    if (!held.ok) throw new Error(held.detail);
    const seen: number[] = [];
    const ending = new AbortController();
    const following = (async () => {
      for await (const { seq, type } of lh.follow({ from: 1, signal: ending.signal })) {
        seen.push(seq);
        if (type === 'NameReleased') return;
      }
    })();
    const waiting = lh.call('lease.acquire', {
      name: 'n',
      holder: 'second',
      ttl_ms: 60_000,
      wait_ms: 50_000,
    });
    await until('the line', async () => (await leader.ask('GET', '/v1/status')).body.counts.waiters === 1);
    leader.process.kill('SIGKILL');
    await standby.becomes('leader');
    await until('the line', async () => (await standby.ask('GET', '/v1/status')).body.counts.waiters === 1);
    await lh.call('lease.release', { name: 'n', holder: 'first', token: held.token });
    const granted = await waiting;
    expect(granted).toMatchObject({ ok: true, holder: 'second' });
    await following;
    ending.abort();
    expect(seen).toEqual(seen.map((_, index) => index + 1));
  });

  it('may be the command line, with commas between the URLs', async () => {
    const [leader, standby] = await startTwo();
    const env = { LEASEHOLD_URL: `${standby.url},${leader.url}` };
    const added = await new Process(['task', 'add', '{"a":1}', '--id', 'from-the-shell', '--json'], { env })
      .ended;
    expect([added.status, added.stderr]).toEqual([0, '']);
    expect((await leader.ask('GET', '/v1/tasks/from-the-shell')).status).toBe(200);
    const wrong = await new Process(['task', 'ls', '--server', `${leader.url},nowhere`], {}).ended;
    expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining('nowhere is not the URL')]);
  });

  it('may be the command line, which follows one standby to the leader and waits for the next leader', async () => {
    const [leader, standby] = await startTwo();
    const env = { LEASEHOLD_URL: standby.url };
    const followed = await new Process(['task', 'add', '1', '--id', 'before'], { env }).ended;
    expect(followed).toMatchObject({ status: 0, stderr: '' });
    const own = await new Process(['status', '--json'], { env }).ended;
    expect(JSON.parse(own.stdout)).toMatchObject({ role: 'standby', leader_url: leader.url });
    leader.process.kill('SIGTERM');
    const both = { LEASEHOLD_URL: `${leader.url},${standby.url}` };
    const added = await new Process(['task', 'add', '2', '--id', 'meanwhile'], { env: both }).ended;
    expect(added.status).toBe(0);
    await standby.becomes('leader');
    for (const id of ['before', 'meanwhile'])
      expect((await standby.ask('GET', `/v1/tasks/${id}`)).status).toBe(200);
  });
});

describe('servers that are replaced one by one', () => {
  it('hand over at once, long before the guard would have run out', async () => {
    const [first, second] = await startTwo();
    const load = new FleetLoad(fleet.urls);
    load.start(2);
    for (const leaving of [first, second]) {
      const before = load.acknowledged;
      await until('work', () => load.acknowledged > before + 20 || load.faults.length > 0);
      const leader = await fleet.leader();
      expect(leader.url).toBe(leaving.url);
      const staying = fleet.servers.find((server) => server !== leader)!;
      leader.process.kill('SIGTERM');
      const fromMs = performance.now();
      expect((await leader.process.ended).status).toBe(0);
      const goneMs = performance.now();
      await staying.becomes('leader');
      console.log(
        `stopped within ${Math.round(goneMs - fromMs)} ms, led ${Math.round(performance.now() - goneMs)} ms later`,
      );
      await fleet.replace(leader, 'SIGTERM', STEADY);
    }
    await load.stop();
    expect(load.faults).toEqual([]);
    expect(load.complaints(await wholeLog(fleet.urls))).toEqual([]);
  });
});

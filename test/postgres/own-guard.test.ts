// A server that was killed while it led and comes back at the same address: until the guard of its former life runs out
// it stands by like any other, and must not send those who ask for the leader back to itself.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestDatabase } from '../support/postgres.ts';
import { Fleet, type FleetServer, STEADY } from '../support/server-fleet.ts';

const ADVERTISED = 'http://leasehold-1.localhost:7420';

let database: TestDatabase;
let fleet: Fleet;

beforeEach(async () => {
  database = await TestDatabase.create();
  fleet = new Fleet(database.url);
});

afterEach(async () => {
  await fleet.close();
  await database.drop();
});

/** What its former life has left in the guard, and what it says itself. */
async function saysOf(server: FleetServer): Promise<object> {
  const refused = await server.ask('POST', '/v1/tasks', { payload: 1 });
  const status = (await server.ask('GET', '/v1/status')).body;
  return {
    guard: await database.value('SELECT url FROM leasehold.leasehold_guard'),
    role: status.role,
    code: refused.body.code,
    status: status.leader_url,
    problem: refused.body.leader_url ?? null,
    header: refused.headers.get('leasehold-leader'),
  };
}

const NOBODY = { role: 'standby', code: 'NOT_LEADER', status: null, problem: null, header: null };

describe('a server that waits for the guard of its former life', () => {
  it('does not name itself as the leader, while another standby cannot know better', async () => {
    const { url } = await fleet.start(STEADY);
    const other = await fleet.start(STEADY);
    await fleet.replace(fleet.servers[0]!, 'SIGKILL', STEADY);
    expect(await saysOf(fleet.servers[0]!)).toEqual({ ...NOBODY, guard: url });
    expect(await saysOf(other)).toMatchObject({ status: url, problem: url, header: url });
  });

  it.each([
    ['in both lives', [...STEADY, '--advertise', ADVERTISED], ADVERTISED],
    ['only now', STEADY, null],
  ])('knows itself by what it advertises %s', async (_when, former, guard) => {
    const { url } = await fleet.start(former);
    await fleet.replace(fleet.servers[0]!, 'SIGKILL', [...STEADY, '--advertise', ADVERTISED]);
    expect(await saysOf(fleet.servers[0]!)).toEqual({ ...NOBODY, guard: guard ?? url });
  });
});

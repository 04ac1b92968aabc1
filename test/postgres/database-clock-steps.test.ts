// The database's clock is set forward or back by a minute while servers run on it. A step elects no leader: one that
// renews its guard goes on, and the next one leads only after it has seen nothing of the last for the whole guard. Nor
// does a step end a lease: a server that takes over goes on with the time of the leader before it.
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../support/cli-processes.ts';
import { Fleet, type FleetServer, PATIENT } from '../support/server-fleet.ts';
import { INSTALL_MS_MAX } from '../support/stepped-clock.ts';
import { SteppedPostgres } from '../support/stepped-postgres.ts';

const GUARD_TTL_MS = 1_500;
const STEP_S = 60;
const LEASE_MS = 45_000;
const HELD = { holder: 'h', token: 'a-token-of-our-own-choice' };
/** What a take-over may take on a busy machine; the step is longer. */
const TAKE_OVER_MS_MAX = 20_000;
/** How much later than it should a lease may end: one look of a standby, and what a busy machine adds. */
const LATE_MS_MAX = 3_000;

let postgres: SteppedPostgres;
let database: pg.Pool;
let fleet: Fleet;

beforeAll(async () => {
  postgres = await SteppedPostgres.start();
}, INSTALL_MS_MAX);

beforeEach(async () => {
  postgres.setAhead(0);
  const url = await postgres.newDatabase();
  database = new pg.Pool({ connectionString: url });
  fleet = new Fleet(url);
});

afterEach(async () => {
  await fleet.close();
  await database.end();
});

afterAll(() => postgres.stop());

const acquire = async (server: FleetServer): Promise<void> => {
  const { status } = await server.ask('POST', '/v1/leases/kept/acquire', { ...HELD, ttl_ms: LEASE_MS });
  expect(status).toBe(200);
};

const guardOf = async (): Promise<string> => {
  const { rows } = await database.query('SELECT epoch, expires_at FROM leasehold.leasehold_guard');
  return JSON.stringify(rows[0]);
};

/** Waits until the leader has renewed its guard so often. */
async function renewals(times: number): Promise<void> {
  for (let count = 0; count < times; count++) {
    const before = await guardOf();
    await until('a renewal', async () => (await guardOf()) !== before);
  }
}

/** Steps the clock, and waits until the database says so. */
async function step(seconds: number): Promise<void> {
  const { rows } = await database.query('SELECT clock_timestamp() AS now');
  postgres.setAhead(seconds);
  await until('the step', async () => {
    const { rows: later } = await database.query('SELECT clock_timestamp() AS now');
    const by = (later[0].now.getTime() - rows[0].now.getTime()) / 1_000;
    return Math.sign(seconds) * by > STEP_S / 2;
  });
}

/** The lease as a server tells of it, and what its holder knows is left. */
async function remainingAt(server: FleetServer, grantedMs: number): Promise<{ told: number; real: number }> {
  const { status, body } = await server.ask('GET', '/v1/leases/kept');
  const real = LEASE_MS - (performance.now() - grantedMs);
  expect([status, body.holder]).toEqual([200, HELD.holder]);
  return { told: body.remaining_ms, real };
}

describe.each([STEP_S, -STEP_S])("a step of the database's clock by %i s", (seconds) => {
  it('elects no other leader: the leader stays, and its standby stands by', async () => {
    const leader = await fleet.start(PATIENT);
    const standby = await fleet.start(PATIENT);
    await acquire(leader);
    await step(seconds);
    // Three heartbeats are a guard; twice that, so that it would have run out by any count.
    await renewals(6);
    expect([await leader.role(), await standby.role()]).toEqual(['leader', 'standby']);
    const renewed = await leader.ask('POST', '/v1/leases/kept/renew', { ...HELD, ttl_ms: LEASE_MS });
    expect(renewed.status).toBe(200);
    expect((await leader.ask('GET', '/v1/status')).body.epoch).toBe(1);
  });

  it.each([
    ['before its standby started', true],
    ['while its standby read along', false],
  ])('and the end of the leader, %s, take nothing off a lease', async (_when, isBefore) => {
    const leader = await fleet.start(PATIENT);
    const grantedMs = performance.now();
    await acquire(leader);
    if (isBefore) await step(seconds);
    const standby = await fleet.start(PATIENT);
    await renewals(3);
    if (!isBefore) await step(seconds);
    leader.process.kill('SIGKILL');
    const killedMs = performance.now();
    await standby.becomes('leader');
    expect(performance.now() - killedMs).toBeLessThan(TAKE_OVER_MS_MAX);
    const { told, real } = await remainingAt(standby, grantedMs);
    expect(told).toBeGreaterThan(real - LATE_MS_MAX / 10);
    expect(told).toBeLessThan(real + LATE_MS_MAX);
  });
});

describe('a server that starts on a guard that was not given back', () => {
  it('waits for the whole guard, whatever the database says the time is', async () => {
    const leader = await fleet.start(PATIENT);
    leader.process.kill('SIGKILL');
    await leader.process.ended;
    await step(STEP_S);
    const startedMs = performance.now();
    const next = await fleet.start(PATIENT);
    expect(await next.role()).toBe('standby');
    await next.becomes('leader');
    expect(performance.now() - startedMs).toBeGreaterThan(GUARD_TTL_MS);
  });
});

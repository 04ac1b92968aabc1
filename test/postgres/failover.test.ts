// Three servers on one database, and the leader killed under load again and again: nothing acknowledged is lost and no
// number is given out twice. LEASEHOLD_FAILOVERS says how often; a hundred times takes about two minutes.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../../src/client-node.ts';
import { until } from '../support/cli-processes.ts';
import { FleetLoad, wholeLog } from '../support/fleet-load.ts';
import { TestDatabase } from '../support/postgres.ts';
import { Fleet } from '../support/server-fleet.ts';

const FAILOVERS = Number(process.env.LEASEHOLD_FAILOVERS ?? 6);
const PAUSES = Math.ceil(FAILOVERS / 4);
/** How much must have been acknowledged between two ends of a leader. */
const WORK_BETWEEN = 50;
const LIMIT_MS = 60_000 + FAILOVERS * 15_000;

let database: TestDatabase;
let fleet: Fleet;

beforeEach(async () => {
  database = await TestDatabase.create();
  fleet = new Fleet(database.url);
  await fleet.start();
  await Promise.all([fleet.start(), fleet.start()]);
});

afterEach(async () => {
  await fleet.close();
  await database.drop();
});

async function under(load: FleetLoad, times: number, once: () => Promise<void>): Promise<void> {
  load.start(4);
  for (let count = 0; count < times; count++) {
    const before = load.acknowledged;
    await until('work to go on', () => load.acknowledged >= before + WORK_BETWEEN || load.faults.length > 0);
    await once();
  }
  await load.stop();
  expect(load.faults).toEqual([]);
  expect(load.complaints(await wholeLog(fleet.urls))).toEqual([]);
}

describe('a leader under load', () => {
  it(`may be killed ${FAILOVERS} times`, { timeout: LIMIT_MS }, async () => {
    const follower = connect(fleet.urls, { retry: { within: '2m' } });
    const followed: number[] = [];
    const following = (async () => {
      for await (const { seq } of follower.follow({ from: 1 })) followed.push(seq);
    })();
    const load = new FleetLoad(fleet.urls);
    await under(load, FAILOVERS, async () => fleet.replace(await fleet.leader(), 'SIGKILL'));
    const { body } = await (await fleet.leader()).ask('GET', '/v1/status');
    expect(body.epoch).toBeGreaterThan(FAILOVERS);
    await until('the follower to have caught up', () => followed.length >= body.seq);
    await follower.close();
    await following;
    // Without gap or repeat over all of them.
    expect(followed.slice(0, body.seq)).toEqual(Array.from({ length: body.seq }, (_, index) => index + 1));
    console.log(
      `${FAILOVERS} fail-overs: ${load.acknowledged} acknowledged, seq ${body.seq}, epoch ${body.epoch}`,
    );
  });

  it(`may be paused past its guard ${PAUSES} times, and wake up as a standby`, {
    timeout: LIMIT_MS,
  }, async () => {
    await under(new FleetLoad(fleet.urls), PAUSES, async () => {
      const paused = await fleet.leader();
      paused.process.kill('SIGSTOP');
      const others = fleet.servers.filter((server) => server !== paused);
      await until('another leader', async () => {
        return (await Promise.all(others.map((server) => server.role()))).includes('leader');
      });
      paused.process.kill('SIGCONT');
      await paused.becomes('standby');
    });
  });
});

// A leader that is stopped past its guard and wakes up with requests waiting in its sockets: nothing of what only its
// memory knows gets out, and nothing of what it would write gets in. Another has led meanwhile.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../../src/client-node.ts';
import { wholeLog } from '../support/fleet-load.ts';
import { TestDatabase } from '../support/postgres.ts';
import { type Answer, RawConnection } from '../support/served.ts';
import { Fleet, type FleetServer, PATIENT } from '../support/server-fleet.ts';

const ROUNDS = 4;
/** What would be written. Every other round is without them: what goes with a write fails with the write. */
const WRITES: ReadonlySet<string> = new Set(['create', 'acquire another', 'renew']);
const TOKEN = 'a-token-of-our-own-choice';
const LONG_MS = 3_600_000;

let database: TestDatabase;
let fleet: Fleet;

beforeAll(async () => {
  database = await TestDatabase.create();
  fleet = new Fleet(database.url);
  await fleet.start(PATIENT);
  await fleet.start(PATIENT);
});

afterAll(async () => {
  await fleet.close();
  await database.drop();
});

/** What is in the sockets when it wakes up. Each of them would have been answered with a yes before. */
function requests(round: number): Record<string, readonly [method: string, path: string, body?: object]> {
  const lease = { holder: 'h', token: TOKEN + round };
  return {
    create: ['POST', '/v1/tasks', { payload: 1, task_id: `late-${round}` }],
    'create again': ['POST', '/v1/tasks', { payload: 1, task_id: `early-${round}` }],
    'acquire another': ['POST', `/v1/leases/late-${round}/acquire`, { holder: 'h', ttl_ms: LONG_MS }],
    'acquire again': ['POST', `/v1/leases/held-${round}/acquire`, { ...lease, ttl_ms: LONG_MS }],
    renew: ['POST', `/v1/leases/held-${round}/renew`, { ...lease, ttl_ms: 2 * LONG_MS }],
    'renew for less': ['POST', `/v1/leases/held-${round}/renew`, { ...lease, ttl_ms: 1_000 }],
    'release of another': ['POST', `/v1/leases/held-${round}/release`, { ...lease, holder: 'x' }],
    'lease nothing': ['POST', '/v1/tasks/lease', { worker_id: 'w', queues: ['empty'] }],
    batch: ['POST', '/v1/batch', { ops: [{ op: 'task.create', payload: 1, task_id: `early-${round}` }] }],
    'get lease': ['GET', `/v1/leases/held-${round}`],
    'get task': ['GET', `/v1/tasks/early-${round}`],
    'list leases': ['GET', '/v1/leases'],
    history: ['GET', `/v1/leases/held-${round}/history`],
    queues: ['GET', '/v1/queues'],
    ready: ['GET', '/readyz'],
    log: ['GET', '/v1/log?from=1'],
    follow: ['GET', '/v1/log?from=1&follow=1'],
    events: ['GET', '/v1/events?from=1'],
    // Last, because the first answer would have told the others.
    status: ['GET', '/v1/status'],
  };
}

function textOf([method, path, body]: readonly [string, string, object?]): string {
  const text = body === undefined ? '' : JSON.stringify(body);
  const type = body === undefined ? '' : 'content-type: application/json\r\n';
  return `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${type}content-length: ${text.length}\r\n\r\n${text}`;
}

async function lateAnswers(
  paused: FleetServer,
  other: FleetServer,
  round: number,
): Promise<[string, Answer][]> {
  const port = Number(new URL(paused.url).port);
  const waiting = Object.entries(requests(round)).filter(([name]) => round % 2 === 0 || !WRITES.has(name));
  const connections = await Promise.all(waiting.map(() => RawConnection.to(port)));
  await paused.ask('GET', '/healthz');
  paused.process.kill('SIGSTOP');
  const written = waiting.map(([, request], index) => {
    return new Promise((resolve) => connections[index]!.socket.write(textOf(request), resolve));
  });
  await Promise.all(written);
  await other.becomes('leader');
  // What would make lies of the answers.
  expect((await other.ask('POST', `/v1/leases/held-${round}/break`, { reason: 'test' })).status).toBe(200);
  expect((await other.ask('POST', `/v1/tasks/early-${round}/kill`, { reason: 'test' })).status).toBe(200);
  paused.process.kill('SIGCONT');
  const answers = await Promise.all(connections.map((connection) => connection.answer()));
  for (const connection of connections) connection.destroy();
  return waiting.map(([name], index) => [name, answers[index]!]);
}

describe('a leader that was paused past its guard', () => {
  it.each(Array.from({ length: ROUNDS }, (_, round) => round))(
    'acknowledges nothing, shows nothing and writes nothing when it wakes up (round %i)',
    async (round) => {
      const paused = await fleet.leader();
      const other = fleet.servers.find((server) => server !== paused)!;
      await other.becomes('standby');
      const held = { holder: 'h', token: TOKEN + round, ttl_ms: LONG_MS };
      expect((await paused.ask('POST', `/v1/leases/held-${round}/acquire`, held)).status).toBe(200);
      expect((await paused.ask('POST', '/v1/tasks', { payload: 1, task_id: `early-${round}` })).status).toBe(
        201,
      );
      const answers = await lateAnswers(paused, other, round);
      for (const [name, { status, text }] of answers) {
        const { code, role, results } = JSON.parse(text);
        if (name === 'status' && status === 200) expect(role).toBe('standby');
        else if (name === 'batch' && status === 200) expect(results[0].body.code).toBe('UNAVAILABLE');
        else expect([name, status, ['UNAVAILABLE', 'NOT_LEADER'].includes(code)]).toEqual([name, 503, true]);
      }
      await paused.becomes('standby');
      const log = JSON.stringify(await wholeLog(fleet.urls));
      expect(log).toContain(`early-${round}`);
      expect(log).not.toContain(`late-${round}`);
    },
  );

  it('goes on as a standby in the same process, and leads again when its turn comes', async () => {
    const leader = await fleet.leader();
    const standby = fleet.servers.find((server) => server !== leader)!;
    await standby.becomes('standby');
    leader.process.kill('SIGKILL');
    await standby.becomes('leader');
    const lh = connect([standby.url]);
    expect(await lh.call('task.create', { payload: 1, task_id: 'at the end' })).toMatchObject({ ok: true });
    await lh.close();
  });
});

// `leasehold session` against an authority in memory, with a test that plays the orchestrator.
import { beforeEach, describe, expect, it } from 'vitest';
import { isSettled } from '../../test/support/manual-world.ts';
import { ndjson, TestShell } from '../../test/support/test-shell.ts';
import type { SessionRecord } from '../operations/records.ts';

const GUARD = { name: 'system:orchestrator:guard_lock', holder: 'o', token: 'x'.repeat(22) };

const FORBIDDEN = {
  ok: false,
  code: 'FORBIDDEN',
  status: 403,
  title: 'Forbidden.',
  detail: 'This needs the scope v3:admin.',
} as const;

let test: TestShell;

beforeEach(async () => {
  test = await TestShell.open();
  const guard = await test.world.finish(test.lh.call('lease.acquire', { ...GUARD, ttl_ms: 600_000 }));
  expect(guard.ok).toBe(true);
});

/** Asks for a session and gives its id. */
async function accepted(serviceRef: string, profileID = 'low'): Promise<string> {
  const [reply] = ndjson(
    await test.run('session', 'start', 'live', serviceRef, '--profile', profileID, '--json'),
  );
  return String(reply!.session_id);
}

/** Gives the oldest session that waits the first free of these slots, or fails it. */
async function begin(...slots: string[]): Promise<void> {
  const { lh, world } = test;
  const queues = ['system:session-starts'];
  const reply = await world.finish(lh.call('task.lease', { worker_id: 'o', queues, guard: GUARD }));
  if (!reply.ok) throw new Error(reply.detail);
  const { task_id: session_id, lease_id } = reply.leases[0]!;
  const started = await world.finish(
    lh.call('session.start', { session_id, guard: GUARD, lease_id, slots, ttl_ms: 60_000 }),
  );
  if (!started.ok) throw new Error(started.detail);
}

async function happens(session_id: string, event: 'ready' | 'process_ended' | 'stopped', detail?: string) {
  const told = detail === undefined ? {} : { detail };
  const reply = await test.world.finish(
    test.lh.call('session.change', { session_id, guard: GUARD, event, ...told }),
  );
  if (!reply.ok) throw new Error(reply.detail);
}

describe('top', () => {
  it('shows nothing of sessions where there are none that run', async () => {
    expect((await test.run('top')).out).not.toMatch(/session/i);
    expect(ndjson(await test.run('top', '--json'))[0]).toMatchObject({ sessions: [] });
    const id = await accepted('gone');
    await test.run('session', 'stop', id);
    expect((await test.run('top')).out).not.toMatch(/^Sessions/m);
  });

  it('shows those that run: where they stand, on which slot, how old they are and how long they are ready', async () => {
    const first = await accepted('1:0:19');
    await begin('0', '1');
    await test.world.advance(20_000);
    await happens(first, 'ready');
    await test.world.advance(10_000);
    const second = await accepted('1:0:20');
    const { out } = await test.run('top');
    expect(out).toMatch(/^Sessions\nSESSION +STATE +TARGET +SLOT +AGE +READY FOR$/m);
    expect(out).toMatch(new RegExp(`^${first} +READY +1:0:19 +0 +30\\.0s +10\\.0s$`, 'm'));
    expect(out).toMatch(new RegExp(`^${second} +NEW +1:0:20 +0ms *$`, 'm'));
    expect(ndjson(await test.run('top', '--json'))[0]).toMatchObject({
      sessions: [{ session_id: first }, { session_id: second }],
    });
  });

  it('gives sessions their part of a small screen', async () => {
    for (let service = 0; service < 9; service++) await accepted(`service-${service}`);
    test.out.isTerminal = true;
    test.out.rows = 28;
    const top = test.start('top');
    await test.world.settle();
    const lines = test.out.take().split('\n');
    expect(lines.length).toBeLessThanOrEqual(28);
    expect(lines.join('\n')).toMatch(/Sessions.*\(3 of 9\)/);
    expect(lines.join('\n')).toContain('Workers');
    test.press('q');
    await test.world.finish(top);
  });

  it('goes without them where the token may not see them', async () => {
    await accepted('1:0:19');
    const { shell } = test;
    test.shell = () => {
      const real = shell.call(test);
      return {
        ...real,
        async connect(server) {
          const lh = await real.connect(server);
          const call = lh.call.bind(lh);
          const forbidding: typeof call = async (operation, ...rest) =>
            operation === 'session.list' ? FORBIDDEN : call(operation, ...rest);
          return Object.assign(lh, { call: forbidding });
        },
      };
    };
    const run = await test.run('top');
    expect(run).toMatchObject({ code: 0, err: '' });
    expect(run.out).toContain('Workers');
    expect(run.out).not.toMatch(/^Sessions/m);
    expect(ndjson(await test.run('top', '--json'))[0]).not.toHaveProperty('sessions');
  });
});

describe('session start', () => {
  it('exits once the request is durable, and returns the existing session for the same request', async () => {
    const args = ['session', 'start', 'live', '1:0:19', '--profile', 'low'];
    expect(await test.run(...args)).toEqual({
      code: 0,
      out: 's00000000003 is accepted, durable at seq 3.\n',
      err: '',
    });
    expect(await test.run(...args)).toMatchObject({
      code: 0,
      out: 's00000000003 is there already, durable at seq 3.\n',
    });
    const [reply] = ndjson(await test.run(...args, '--json'));
    expect(reply).toMatchObject({ session_id: 's00000000003', status: 'idempotent_replay' });
  });

  it('asks for a recording from some point on', async () => {
    await test.run('session', 'start', 'vod', 'film-7', '--profile', 'low', '--start-ms', '61500');
    const [session] = ndjson(await test.run('session', 'ls', '--json'));
    expect(session).toMatchObject({ type: 'vod', recordingID: 'film-7', start_ms: 61_500, profileID: 'low' });
  });

  it('exits with 2 and calls no server when the request is invalid', async () => {
    const wrong = [
      ['radio', 'x', '--profile', 'low'],
      ['live', 'x'],
      ['live', 'x', '--profile', 'low', '--start-ms', '5'],
      ['vod', 'x', '--profile', 'low', '--start-ms', 'soon'],
      ['live', 'x', '--profile', 'low', '--timeout', '5s'],
    ];
    for (const words of wrong) {
      const run = await test.run('session', 'start', ...words);
      expect(run, words.join(' ')).toMatchObject({ code: 2, out: '' });
      expect(run.err).toMatch(/^leasehold: .+\n$/);
    }
    expect((await test.world.finish(test.lh.status())).seq).toBe(2);
  });

  it('exits with 2 and the code when the server finds the request invalid', async () => {
    expect(await test.run('session', 'start', 'live', 'x', '--profile', 'a|b')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringMatching(/^leasehold: INVALID_ARGUMENT: /),
    });
  });
});

describe('session start --wait', () => {
  const args = ['session', 'start', 'live', 'ard', '--profile', 'low', '--wait'];

  it('goes on until the session is READY, and says on which slot', async () => {
    const run = test.start(...args);
    await test.world.settle();
    expect(test.out.text).toBe('s00000000003 is accepted, durable at seq 3.\n');
    await begin('7');
    await test.world.advance(2_000);
    expect(await isSettled(run)).toBe(false);
    await happens('s00000000003', 'ready');
    await test.world.advance(2_000);
    expect(await test.world.finish(run)).toEqual({
      code: 0,
      out: 's00000000003 is accepted, durable at seq 3.\nREADY on slot 7.\n',
      err: '',
    });
  });

  it('leaves with 1 and the reason when the session ends instead', async () => {
    const run = test.start(...args);
    await test.world.settle();
    await begin();
    await test.world.advance(2_000);
    expect(await test.world.finish(run)).toMatchObject({
      code: 1,
      err: 'leasehold: s00000000003 is FAILED: R_NO_TUNER (REJECTED_NO_TUNER).\n',
    });
  });

  it('prints one object with --json, and that of a session that has failed as well', async () => {
    const run = test.start(...args, '--json');
    await test.world.settle();
    await begin('0');
    await happens('s00000000003', 'process_ended', 'exit code 3');
    await test.world.advance(2_000);
    const ended = await test.world.finish(run);
    expect(ended.code).toBe(1);
    expect(ndjson(ended)).toEqual([
      {
        session_id: 's00000000003',
        state: 'FAILED',
        reason: 'R_PIPELINE_START_FAILED',
        reason_detail: 'exit code 3',
      },
    ]);
  });

  it('gives up after --timeout, and leaves the session alone', async () => {
    const run = test.start(...args, '--timeout', '5s');
    await test.world.advance(4_000);
    expect(await isSettled(run)).toBe(false);
    await test.world.advance(1_000);
    expect(await test.world.finish(run)).toMatchObject({
      code: 1,
      err: 'leasehold: s00000000003 is still NEW after 5.0s; it continues.\n',
    });
    expect((await test.run('session', 'show', 's00000000003')).out).toMatch(/^state +NEW$/m);
  });
});

describe('session ls', () => {
  it('shows every session with its slot, and how those that have ended did', async () => {
    const ready = await accepted('ard');
    await begin('0', '1');
    await happens(ready, 'ready');
    const late = await accepted('zdf', 'high');
    await begin('0');
    const waits = await accepted('arte');
    const run = await test.run('session', 'ls');
    expect(run.out.split('\n').map((line) => line.trimEnd())).toEqual([
      'SESSION       STATE   SLOT  TYPE  TARGET  PROFILE  CHANGED  REASON',
      `${ready}  READY   0     live  ard     low      now`,
      `${waits}  NEW           live  arte    low      now`,
      `${late}  FAILED        live  zdf     high     now      R_NO_TUNER (REJECTED_NO_TUNER)`,
      '',
    ]);
  });

  it('takes a state in small letters, and says so when there is nothing', async () => {
    expect((await test.run('session', 'ls')).out).toBe('There are no such sessions.\n');
    const id = await accepted('ard');
    await accepted('zdf');
    await test.run('session', 'stop', id);
    const found = ndjson(await test.run('session', 'ls', '--state', 'cancelled', '--json'));
    expect(found.map(({ session_id }) => session_id)).toEqual([id]);
    expect(await test.run('session', 'ls', '--state', 'gone')).toMatchObject({ code: 2, out: '' });
  });

  it('follows the cursor to the end, and stops at the limit', async () => {
    for (let count = 0; count < 250; count++) {
      const intent = { type: 'live', serviceRef: `service-${count}`, profileID: 'low' } as const;
      await test.world.finish(test.lh.call('intent.accept', intent));
    }
    const found = ndjson(await test.run('session', 'ls', '--json')) as unknown as SessionRecord[];
    expect(new Set(found.map(({ session_id }) => session_id)).size).toBe(250);
    expect(ndjson(await test.run('session', 'ls', '--json', '--limit', '201'))).toHaveLength(201);
  });
});

describe('session show', () => {
  it('shows what runs, and where', async () => {
    const id = await accepted('ard');
    await begin('3');
    const { out } = await test.run('session', 'show', id);
    for (const line of [
      /^session +s0/m,
      /^state +STARTING$/m,
      /^live +ard$/m,
      /^profile +low$/m,
      /^slot +3$/m,
    ]) {
      expect(out).toMatch(line);
    }
    const [record] = ndjson(await test.run('session', 'show', id, '--json'));
    expect(record).toMatchObject({ session_id: id, state: 'STARTING', slot: '3', serviceRef: 'ard' });
  });

  it('shows how a session has ended, and leaves with 0, because it was found', async () => {
    const id = await accepted('ard');
    await test.run('session', 'stop', id);
    const shown = await test.run('session', 'show', id);
    expect(shown).toMatchObject({ code: 0, err: '' });
    expect(shown.out).toMatch(/^session +s\S+\nstate +CANCELLED\nreason +R_CANCELLED\n$/);
    expect(ndjson(await test.run('session', 'show', id, '--json'))).toEqual([
      { session_id: id, state: 'CANCELLED', reason: 'R_CANCELLED', reason_detail: null },
    ]);
  });

  it('exits with 1 for an unknown session, and with 2 for a malformed id', async () => {
    expect(await test.run('session', 'show', 's00000000099')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^leasehold: SESSION_NOT_FOUND: /),
    });
    expect(await test.run('session', 'show', 'no id')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^leasehold: INVALID_ARGUMENT: /),
    });
  });
});

describe('session stop', () => {
  it('cancels a session at once that has not started', async () => {
    const id = await accepted('ard');
    expect(await test.run('session', 'stop', id)).toEqual({
      code: 0,
      out: `${id} is CANCELLED: R_CANCELLED.\n`,
      err: '',
    });
  });

  it('asks for the end of what runs, and waits for it with --wait', async () => {
    const id = await accepted('ard');
    await begin('0');
    expect((await test.run('session', 'stop', id)).out).toBe(`${id} is STOPPING: R_CLIENT_STOP.\n`);
    const run = test.start('session', 'stop', id, '--wait');
    await test.world.advance(5_000);
    expect(await isSettled(run)).toBe(false);
    await happens(id, 'stopped');
    await test.world.advance(2_000);
    expect(await test.world.finish(run)).toMatchObject({
      code: 0,
      out: `${id} is STOPPED: R_CLIENT_STOP.\n`,
    });
  });

  it('leaves with 1 when the session has ended already', async () => {
    const id = await accepted('ard');
    await test.run('session', 'stop', id);
    expect(await test.run('session', 'stop', id)).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^leasehold: SESSION_TERMINAL: .*CANCELLED/),
    });
  });
});

// Starts and stops under fire: more intents than tuners, stops at every point of a start, pipelines that fail or do not
// heed anything, crashes between an intent and its start, and a server that goes away. Afterwards every lease is free.
import { afterEach, describe, expect, it } from 'vitest';
import { isAlive, type Process, until } from '../support/cli-processes.ts';
import { FAIL_CLOSED_MS, GUARD, QUICK, SessionBench, timed } from '../support/session-bench.ts';
import { TERMINAL } from '../support/session-log.ts';

let bench: SessionBench;

afterEach(() => bench.close());

const START = /\/sessions\/\w+\/start /;
const TUNERS = ['0', '1', '2', '3'];

async function killed(orchestrator: Process): Promise<void> {
  orchestrator.kill('SIGKILL');
  await orchestrator.ended;
}

/** How often the sessions of the log were started, by their id. */
async function starts(): Promise<string[]> {
  const entries = await bench.log();
  return entries.filter(({ state }) => state === 'STARTING').map(({ session_id }) => session_id!);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('200 intents at once on 4 tuners', () => {
  it('give 4 sessions that run and 196 that found no tuner', async () => {
    bench = await SessionBench.open({ tuners: TUNERS });
    await bench.orchestrate();
    const ids = await Promise.all(Array.from({ length: 200 }, (_, index) => bench.ask(`channel-${index}`)));
    expect(new Set(ids).size).toBe(200);
    const ends = await Promise.all(ids.map((id) => bench.reaches(id, 'READY', 'FAILED')));
    const running = ends.filter(({ state }) => state === 'READY');
    expect(running.map(({ slot }) => slot).sort()).toEqual(TUNERS);
    for (const end of ends.filter(({ state }) => state === 'FAILED')) {
      expect(end).toMatchObject({ reason: 'R_NO_TUNER', reason_detail: 'REJECTED_NO_TUNER' });
    }
    expect(await bench.metric('xg2g_tuners_in_use')).toBe(4);
    // A session that found no tuner has released its service.
    expect(await bench.leases()).toHaveLength(8);
    for (const { session_id: id = '' } of running) await bench.stop(id);
    for (const { session_id: id = '' } of running) await bench.reaches(id, 'STOPPED');
    await bench.finish();
  });
});

describe('positions of one recording', () => {
  it('run beside each other and beside the live service of the same name, each position once', async () => {
    bench = await SessionBench.open({ tuners: TUNERS });
    await bench.orchestrate();
    const from = async (start_ms: number, profileID: string): Promise<string> => {
      const intent = { type: 'vod', recordingID: 'film', start_ms, profileID };
      const { status, body } = await bench.call('POST', '/api/v3/intents', intent);
      expect(status, JSON.stringify(body)).toBe(202);
      return body.session_id;
    };
    const running = [await from(0, 'plain'), await from(61_500, 'plain'), await bench.ask('film')];
    for (const id of running) await bench.reaches(id, 'READY');
    const names = (await bench.leases()).map(({ name }) => name).sort();
    expect(names).toEqual([
      'lease:service:film',
      'lease:tuner:0',
      'lease:tuner:1',
      'lease:tuner:2',
      'lease:vod:film:0',
      'lease:vod:film:61',
    ]);
    const second = await from(61_000, 'stubborn');
    expect(await bench.reaches(second, 'FAILED')).toMatchObject({ reason: 'R_LEASE_BUSY' });
    for (const id of running) await bench.stop(id);
    for (const id of running) await bench.reaches(id, 'STOPPED');
    expect(await bench.leases()).toEqual([]);
    await bench.finish();
  });
});

describe('a stop', () => {
  it.each([
    [
      'while its start task is on the way to the orchestrator',
      /tasks\/lease/,
      'has its reply held',
      'CANCELLED',
    ],
    ['while its start is on the way to the server', START, 'is held', 'CANCELLED'],
    ['while the answer to its start is on the way back', START, 'has its reply held', 'STOPPED'],
    ['before the server hears that it is ready', /"event":"ready"/, 'is held', 'STOPPED'],
    ['before it hears that this was heard', /"event":"ready"/, 'has its reply held', 'STOPPED'],
  ] as const)('%s ends the session and frees its slot', async (_, pattern, fate, state) => {
    bench = await SessionBench.open({ tuners: ['0'] });
    const proxy = await bench.proxy();
    await bench.orchestrate({ url: proxy.url });
    proxy.let(pattern, fate);
    const id = await bench.ask('channel-a');
    await proxy.holds(pattern);
    expect((await bench.stop(id)).status).toBe(202);
    proxy.letGo();
    expect(await bench.reaches(id, state)).toMatchObject({
      reason: state === 'CANCELLED' ? 'R_CANCELLED' : 'R_CLIENT_STOP',
    });
    // The one tuner there is can be had again.
    const next = await bench.ready('channel-b');
    expect(bench.alive).toHaveLength(1);
    await bench.end(next);
    await bench.finish();
  });

  it('after any delay ends the session and frees its slot', async () => {
    bench = await SessionBench.open({ tuners: TUNERS });
    await bench.orchestrate();
    const delaysMs = Array.from({ length: 32 }, (_, index) => index * 20);
    const play = async (delayMs: number): Promise<void> => {
      const id = await bench.ask(`channel-${delayMs}`, delayMs % 40 === 0 ? 'slow' : 'plain');
      await pause(delayMs);
      await bench.stop(id);
      const { reason } = await bench.reaches(id, ...TERMINAL);
      expect(['R_CANCELLED', 'R_CLIENT_STOP']).toContain(reason);
    };
    // As many at once as there are tuners, so that each one could start.
    for (let at = 0; at < delaysMs.length; at += TUNERS.length) {
      await Promise.all(delaysMs.slice(at, at + TUNERS.length).map(play));
    }
    await bench.finish();
  });

  it('of a pipeline that ignores SIGTERM is carried out with SIGKILL', async () => {
    bench = await SessionBench.open();
    await bench.orchestrate();
    const { sessionId, pid } = await bench.ready('channel-a', 'stubborn');
    await bench.stop(sessionId);
    expect(await bench.reaches(sessionId, 'STOPPED')).toMatchObject({ reason: 'R_CLIENT_STOP' });
    expect(isAlive(pid)).toBe(false);
    expect(await bench.statesOf(sessionId)).toEqual(['STARTING', 'READY', 'STOPPING', 'STOPPED']);
    await bench.finish();
  });

  it('is waited for by the next session of the same channel', async () => {
    bench = await SessionBench.open({ tuners: ['0'] });
    await bench.orchestrate();
    const first = await bench.ready('channel-a', 'stubborn');
    await bench.stop(first.sessionId);
    const second = await bench.ready('channel-a', 'plain');
    expect(isAlive(first.pid)).toBe(false);
    await bench.end(second);
    await bench.finish();
  });

  it('comes from the orchestrator when the client falls silent, and not while it can be heard', async () => {
    bench = await SessionBench.open({ idleMs: 1_500 });
    await bench.orchestrate({ times: QUICK });
    const heard = await bench.ready('channel-a');
    // From now on: how long the other one takes to be ready must not count as silence of this one.
    const beats = setInterval(() => {
      void bench.call('POST', `/api/v3/sessions/${heard.sessionId}/heartbeat`, {});
    }, 100);
    try {
      const silent = await bench.ready('channel-b');
      expect(await bench.reaches(silent.sessionId, 'STOPPED')).toMatchObject({ reason: 'R_IDLE_TIMEOUT' });
      expect(await bench.session(heard.sessionId)).toMatchObject({ status: 200, body: { state: 'READY' } });
    } finally {
      clearInterval(beats);
    }
    expect(await bench.reaches(heard.sessionId, 'STOPPED')).toMatchObject({ reason: 'R_IDLE_TIMEOUT' });
    await bench.finish();
  });
});

describe('a pipeline', () => {
  it('that does not start, ends, or never gets ready is told as such, and its slot is free again', async () => {
    bench = await SessionBench.open({ tuners: ['0'] });
    await bench.orchestrate();
    const fails = async (profile: string, detail: RegExp): Promise<void> => {
      const id = await bench.ask(`channel-${profile}`, profile);
      expect(await bench.reaches(id, 'FAILED')).toMatchObject({
        reason: 'R_PIPELINE_START_FAILED',
        reason_detail: expect.stringMatching(detail),
      });
    };
    await fails('failing', /exit code 3/);
    await fails('missing', /ENOENT|no such/i);
    await fails('unheard-of', /unheard-of/);
    const ending = await bench.ready('channel-ending', 'ending');
    bench.letEnd(ending.sessionId);
    expect(await bench.reaches(ending.sessionId, 'FAILED')).toMatchObject({
      reason: 'R_PROCESS_ENDED',
      reason_detail: expect.stringContaining('exit code 7'),
    });
    const dying = await bench.ready('channel-dying');
    process.kill(dying.pid, 'SIGKILL');
    expect(await bench.reaches(dying.sessionId, 'FAILED')).toMatchObject({
      reason: 'R_PROCESS_ENDED',
      reason_detail: 'SIGKILL',
    });
    const mute = await bench.ask('channel-mute', 'mute');
    await bench.pipelineOf(mute);
    expect(await bench.session(mute)).toMatchObject({ body: { state: 'STARTING' } });
    await bench.stop(mute);
    expect(await bench.reaches(mute, 'STOPPED')).toMatchObject({ reason: 'R_CLIENT_STOP' });
    await bench.finish();
  });

  it('is stopped at once when its lease is lost', async () => {
    bench = await SessionBench.open();
    await bench.orchestrate();
    const { sessionId, pid } = await bench.ready('channel-a', 'stubborn');
    await bench.breakLease('lease:service:channel-a');
    expect(await bench.reaches(sessionId, 'FAILED')).toMatchObject({
      reason: 'R_LEASE_EXPIRED',
      reason_detail: 'broken',
    });
    await until('its end', () => !isAlive(pid));
    await bench.finish();
  });

  it('that outlives its lease for a moment keeps everybody else off its slot', async () => {
    bench = await SessionBench.open({ tuners: ['0'] });
    await bench.orchestrate();
    const old = await bench.ready('channel-a', 'stubborn');
    await bench.breakLease('lease:tuner:0');
    const next = await bench.ready('channel-b');
    expect(isAlive(old.pid)).toBe(false);
    await bench.end(next);
    await bench.finish();
  });
});

describe('a crash between accepting an intent and starting it', () => {
  it('of the server: it starts after the restart, once', async () => {
    bench = await SessionBench.open();
    const id = await bench.ask('channel-a');
    await bench.stopServer('SIGKILL');
    await bench.serve();
    expect(await bench.session(id)).toMatchObject({ status: 200, body: { state: 'NEW' } });
    await bench.orchestrate();
    await bench.reaches(id, 'READY');
    // The same intent again is the same session, for the key has survived as well.
    expect(await bench.intent('channel-a')).toMatchObject({
      body: { session_id: id, status: 'idempotent_replay' },
    });
    await bench.stop(id);
    await bench.reaches(id, 'STOPPED');
    expect(await starts()).toEqual([id]);
    await bench.finish();
  });

  it('of the orchestrator that had taken it: the next one starts it, once, and the late start changes nothing', async () => {
    bench = await SessionBench.open();
    const proxy = await bench.proxy();
    const first = await bench.orchestrate({ url: proxy.url });
    proxy.let(START, 'is held');
    const id = await bench.ask('channel-a');
    await proxy.holds(START);
    await killed(first);
    await bench.orchestrate();
    await bench.reaches(id, 'READY');
    const before = await bench.seq();
    proxy.letGo();
    await until('the answer to the late start', () =>
      proxy.answers.some(({ line }) => START.test(`${line} `)),
    );
    expect(proxy.answers.find(({ line }) => START.test(`${line} `))).toMatchObject({ status: 403 });
    expect(await bench.seq()).toBe(before);
    expect(await starts()).toEqual([id]);
    await bench.stop(id);
    await bench.reaches(id, 'STOPPED');
    await bench.finish();
  });
});

describe('a saturated start queue', () => {
  it('delays neither the reaction to a stop nor that to a lost guard', async () => {
    bench = await SessionBench.open({ tuners: TUNERS });
    const proxy = await bench.proxy();
    const times = { heartbeat: '20s' };
    const orchestrator = await bench.orchestrate({ url: proxy.url, times });
    const [first, second] = [await bench.ready('channel-a'), await bench.ready('channel-b', 'stubborn')];
    // Every start hangs, and there are more of them than one orchestrator takes at once.
    proxy.let(START, 'is held');
    await Promise.all(Array.from({ length: 200 }, (_, index) => bench.ask(`channel-${index}`)));
    await proxy.holds(START, 16);
    await bench.end(first);
    expect(isAlive(first.pid)).toBe(false);
    // No start had to be given up for that, which would have taken a heartbeat.
    expect(orchestrator.stderr).not.toMatch(/not answered|a call failed/);
    await bench.breakLease(GUARD);
    const { status, tookMs } = await timed(orchestrator);
    expect(status).toBe(4);
    expect(tookMs).toBeLessThan(FAIL_CLOSED_MS);
    await until('the end of its pipeline', () => !isAlive(second.pid));
    await bench.judge();
  });
});

describe('a server that is killed and restarted under a running orchestrator', () => {
  it('within a heartbeat: the sessions go on, and stops still reach them', async () => {
    bench = await SessionBench.open();
    const orchestrator = await bench.orchestrate();
    const { sessionId, pid } = await bench.ready('channel-a');
    await bench.stopServer('SIGKILL');
    await bench.serve();
    expect(await bench.session(sessionId)).toMatchObject({ status: 200, body: { state: 'READY' } });
    const other = await bench.ready('channel-b');
    expect(isAlive(pid)).toBe(true);
    await bench.stop(sessionId);
    await bench.reaches(sessionId, 'STOPPED');
    orchestrator.kill('SIGTERM');
    expect(await orchestrator.ended).toMatchObject({ status: 0 });
    expect(await bench.reaches(other.sessionId, 'STOPPED')).toMatchObject({ reason: 'R_SHUTDOWN' });
    await bench.finish();
  });

  it('for longer: the orchestrator exits with 4, its pipelines with it, and the next one begins anew', async () => {
    bench = await SessionBench.open();
    const orchestrator = await bench.orchestrate({ times: QUICK });
    const { sessionId, pid } = await bench.ready('channel-a', 'stubborn');
    await bench.stopServer('SIGKILL');
    const { status, stderr, tookMs } = await timed(orchestrator);
    expect([status, stderr]).toEqual([4, expect.stringMatching(/FATAL/)]);
    expect(tookMs).toBeLessThan(FAIL_CLOSED_MS);
    await until('the end of its pipeline', () => !isAlive(pid));
    await bench.serve();
    await bench.orchestrate();
    expect(await bench.reaches(sessionId, 'FAILED')).toMatchObject({ reason: 'R_LEASE_EXPIRED' });
    const next = await bench.ready('channel-a');
    await bench.end(next);
    await bench.finish();
  });
});

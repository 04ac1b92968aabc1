// Every enforcement point of seed 000 (Operational Invariants), by its name, with real processes.
import { afterEach, describe, expect, it } from 'vitest';
import { isAlive, until } from '../support/cli-processes.ts';
import { FAIL_CLOSED_MS, GUARD, QUICK, SessionBench, timed } from '../support/session-bench.ts';
import type { LogEntry } from '../support/session-log.ts';

let bench: SessionBench;

afterEach(() => bench.close());

/** What stands in the log behind a position and is not the authority's own doing when time runs out. */
async function writesAfter(seq: number): Promise<LogEntry[]> {
  const entries = await bench.log();
  return entries.filter(
    (entry) =>
      entry.seq > seq &&
      entry.type !== 'NameExpired' &&
      entry.type !== 'LeaseExpired' &&
      !(entry.type === 'SessionChanged' && entry.reason === 'R_LEASE_EXPIRED'),
  );
}

/** The guard is held by an unknown process. */
async function guardTaken(): Promise<void> {
  const { status } = await bench.call('POST', `/v1/leases/${GUARD}/acquire`, {
    holder: 'somebody',
    ttl_ms: 60_000,
  });
  expect(status).toBe(200);
}

/** A lease that a wipe would end. */
async function zombieLease(): Promise<void> {
  const { status } = await bench.call('POST', '/v1/leases/lease:service:channel-b/acquire', {
    holder: 'zombie',
    ttl_ms: 60_000,
  });
  expect(status).toBe(200);
}

describe('1 Single-Worker Lease Constraint', () => {
  it('Startup Gate: nothing happens before the guard lock is acquired', async () => {
    bench = await SessionBench.open();
    const id = await bench.ask('channel-a');
    await zombieLease();
    const before = await bench.seq();
    await bench.orchestrate();
    await bench.reaches(id, 'READY');
    const entries = (await bench.log()).filter(({ seq }) => seq > before);
    expect(entries.slice(0, 2)).toMatchObject([
      { type: 'NameLeased', names: [GUARD] },
      { type: 'NamesWiped', prefix: 'lease:' },
    ]);
  });

  it('Startup Gate: while another process has the guard lock it exits with 3, names the holder, and nothing happened', async () => {
    bench = await SessionBench.open();
    const id = await bench.ask('channel-a');
    await zombieLease();
    await guardTaken();
    const before = await bench.seq();
    const { status, stderr } = await bench.launch().ended;
    expect(status).toBe(3);
    expect(stderr).toMatch(/FATAL.*somebody/);
    expect(await bench.seq()).toBe(before);
    expect(await bench.session(id)).toMatchObject({ body: { state: 'NEW' } });
  });

  it.each([
    ['a store error', 'fails'],
    ['a lost request', 'is cut'],
    ['a lost answer', 'loses its reply'],
  ] as const)(
    'Ambiguity Fatal: %s while it acquires the guard is FATAL, and nothing is wiped',
    async (_, fate) => {
      bench = await SessionBench.open();
      await zombieLease();
      const before = await bench.seq();
      const proxy = await bench.proxy();
      proxy.let(/acquire/, fate);
      const { status, stderr } = await bench.launch({ url: proxy.url }).ended;
      expect(status).toBe(3);
      expect(stderr).toMatch(/FATAL/);
      const entries = await writesAfter(before);
      // The answer to a guard that was granted may get lost; it is given back, or runs out.
      expect(
        entries.filter(({ type, name }) => name !== GUARD || !/^Name(Leased|Released)$/.test(type)),
      ).toEqual([]);
    },
  );

  it('Wipe Protection: without the live guard a wipe is refused and touches nothing', async () => {
    bench = await SessionBench.open();
    await bench.orchestrate();
    const { pid, sessionId } = await bench.ready('channel-a');
    const { holder } = await bench.guard();
    for (const guard of [
      { name: GUARD, holder, token: 'AAAAAAAAAAAAAAAAAAAAAA' },
      { name: GUARD, holder: 'somebody', token: 'AAAAAAAAAAAAAAAAAAAAAA' },
      { name: 'lease:service:channel-a', holder: sessionId, token: 'AAAAAAAAAAAAAAAAAAAAAA' },
    ]) {
      const { status, body } = await bench.call('POST', '/v1/leases/wipe', { prefix: 'lease:', guard });
      expect([status, body.code]).toEqual([403, 'GUARD_NOT_HELD']);
    }
    expect((await bench.log()).filter(({ type }) => type === 'NamesWiped')).toHaveLength(1);
    expect(await bench.session(sessionId)).toMatchObject({ status: 200, body: { state: 'READY' } });
    expect(isAlive(pid)).toBe(true);
  });

  it('Wipe Protection: an orchestrator that lost the guard on its way to the wipe wipes nothing', async () => {
    bench = await SessionBench.open();
    await zombieLease();
    const proxy = await bench.proxy();
    proxy.let(/wipe/, 'is held');
    const orchestrator = bench.launch({ url: proxy.url });
    await proxy.holds(/wipe/);
    await bench.breakLease(GUARD);
    const broken = await bench.seq();
    proxy.letGo();
    const { status, stderr } = await orchestrator.ended;
    expect([status, stderr]).toEqual([3, expect.stringMatching(/FATAL/)]);
    expect(await writesAfter(broken)).toEqual([]);
    expect(await bench.leases()).toMatchObject([{ holder: 'zombie' }]);
  });

  it.each([
    ['renewal fails (store error)', async (): Promise<void> => undefined, 'fails'],
    ['lease is lost (broken)', (): Promise<unknown> => bench.breakLease(GUARD), 'passes'],
    [
      'lease is lost (stolen)',
      async () => {
        await bench.breakLease(GUARD);
        await guardTaken();
      },
      'passes',
    ],
  ] as const)(
    'Fail-Closed Maintenance: when the %s it terminates with 4, its pipelines with it, and writes nothing more',
    async (_, harm, fate) => {
      bench = await SessionBench.open();
      const proxy = await bench.proxy();
      const orchestrator = await bench.orchestrate({ url: proxy.url, times: QUICK });
      await bench.ready('channel-a', 'stubborn');
      await bench.ready('channel-b');
      proxy.let(/lease.renew|guard_lock\/renew/, fate);
      await harm();
      const harmed = await bench.seq();
      const { status, stderr, tookMs } = await timed(orchestrator);
      expect([status, stderr]).toEqual([4, expect.stringMatching(/FATAL/)]);
      expect(tookMs).toBeLessThan(FAIL_CLOSED_MS);
      await until('the end of every pipeline', () => bench.alive.length === 0);
      const exited = await bench.seq();
      for (const { sessionId } of bench.pipelines) await bench.reaches(sessionId, 'FAILED');
      // Renewals of sessions may have been in flight until it learned of the loss.
      expect(await writesAfter(fate === 'passes' ? harmed : exited)).toEqual([]);
      await bench.finish();
    },
  );

  it('Shutdown: on SIGTERM it stops its sessions, releases their leases and the guard, and exits with 0', async () => {
    bench = await SessionBench.open();
    const orchestrator = await bench.orchestrate();
    const first = await bench.ready('channel-a');
    const second = await bench.ready('channel-b', 'stubborn');
    orchestrator.kill('SIGTERM');
    expect(await orchestrator.ended).toMatchObject({ status: 0 });
    for (const { sessionId } of [first, second]) {
      expect(await bench.reaches(sessionId, 'STOPPED')).toMatchObject({ reason: 'R_SHUTDOWN' });
    }
    expect((await bench.log()).at(-1)).toMatchObject({ type: 'NameReleased', name: GUARD });
    await bench.finish();
    // Fast failover: no wait of a minute.
    await bench.orchestrate();
  });
});

describe('2 Tuner Metric Truth', () => {
  it('xg2g_tuners_in_use counts the slots of sessions that hold their lease, and nothing else', async () => {
    bench = await SessionBench.open({ tuners: ['0', '1', '2'] });
    const inUse = () => bench.metric('xg2g_tuners_in_use');
    const orchestrator = await bench.orchestrate();
    expect(await inUse()).toBe(0);
    const first = await bench.ready('channel-a');
    const second = await bench.ready('channel-b');
    expect(await inUse()).toBe(2);
    // A lease that no session owns is no tuner in use.
    await bench.call('POST', '/v1/leases/lease:tuner:2/acquire', { holder: 'somebody', ttl_ms: 60_000 });
    expect(await inUse()).toBe(2);
    await bench.breakLease(`lease:tuner:${first.slot}`);
    expect(await inUse()).toBe(1);
    expect(await bench.reaches(first.sessionId, 'FAILED')).toMatchObject({
      reason: 'R_LEASE_EXPIRED',
      reason_detail: 'broken',
    });
    await until('the end of its pipeline', () => !isAlive(first.pid));
    await bench.end(second);
    expect(await inUse()).toBe(0);
    await bench.breakLease('lease:tuner:2');
    orchestrator.kill('SIGTERM');
    await orchestrator.ended;
    await bench.finish();
  });
});

describe('3 Terminal Session 410 Gone', () => {
  it('a session that is STOPPED, FAILED or CANCELLED answers 410 with problem+json and a requestId', async () => {
    bench = await SessionBench.open();
    const cancelled = await bench.ask('channel-c');
    await bench.stop(cancelled);
    await bench.orchestrate();
    const stopped = (await bench.ready('channel-a')).sessionId;
    await bench.stop(stopped);
    const failed = await bench.ask('channel-b', 'failing');
    for (const [id, state, reason] of [
      [cancelled, 'CANCELLED', 'R_CANCELLED'],
      [stopped, 'STOPPED', 'R_CLIENT_STOP'],
      [failed, 'FAILED', 'R_PIPELINE_START_FAILED'],
    ] as const) {
      await bench.reaches(id, state);
      for (const { status, headers, body } of [
        await bench.session(id),
        await bench.stop(id),
        await bench.call('POST', `/api/v3/sessions/${id}/heartbeat`, {}),
      ]) {
        expect(status).toBe(410);
        expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
        expect(body).toMatchObject({ code: 'SESSION_TERMINAL', session_id: id, state, reason });
        expect(body.requestId).toBe(headers.get('x-request-id'));
      }
    }
    await bench.finish();
  });
});

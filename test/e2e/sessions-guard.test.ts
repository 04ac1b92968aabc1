// The guard under fire, with real orchestrators on real connections: twins, dead ones and paused ones, a server that is
// away, slow or sick, and starters that race. Whatever happens, two never work at the same time, and what was
// sent by one that is over changes nothing.
import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { isAlive, type Process, until } from '../support/cli-processes.ts';
import { FAIL_CLOSED_MS, GUARD, QUICK, SessionBench, timed } from '../support/session-bench.ts';
import type { PassingFate } from '../support/wire-proxy.ts';

let bench: SessionBench;

afterEach(() => bench.close());

const ANY_RENEWAL = /lease\.renew|\/renew /;
const GUARD_RENEWAL = /lease\.renew|guard_lock\/renew/;

async function count(type: string, more: Record<string, unknown> = {}): Promise<number> {
  const entries = await bench.log();
  const fields = Object.entries({ type, ...more });
  return entries.filter((entry) => fields.every(([key, value]) => Object(entry)[key] === value)).length;
}

async function killed(orchestrator: Process): Promise<void> {
  orchestrator.kill('SIGKILL');
  await orchestrator.ended;
}

async function ends(orchestrator: Process): Promise<void> {
  orchestrator.kill('SIGTERM');
  expect(await orchestrator.ended).toMatchObject({ status: 0 });
}

describe('a second orchestrator', () => {
  it('exits with 3, names the holder, wipes nothing, and leaves the first one alone', async () => {
    bench = await SessionBench.open();
    const first = await bench.orchestrate();
    const { sessionId, pid } = await bench.ready('channel-a');
    const { holder } = await bench.guard();
    const before = await bench.seq();
    const { status, stderr } = await bench.launch().ended;
    expect(status).toBe(3);
    expect(stderr.split('\n').filter((line) => line.includes('FATAL'))).toHaveLength(1);
    expect(stderr).toContain(holder);
    expect(stderr).toContain(`process ${first.pid} `);
    expect(await bench.seq()).toBe(before);
    expect(isAlive(pid)).toBe(true);
    expect(await bench.session(sessionId)).toMatchObject({ status: 200, body: { state: 'READY' } });
    await ends(first);
    await bench.finish();
  });

  it('is refused before anything is touched when its TTL is under three heartbeats, with 2', async () => {
    bench = await SessionBench.open();
    const before = await bench.seq();
    const { status, stderr } = await bench.launch({ times: { 'guard-ttl': '2s', heartbeat: '1s' } }).ended;
    expect([status, stderr]).toEqual([2, expect.stringMatching(/three heartbeats/)]);
    expect(await bench.seq()).toBe(before);
  });
});

describe('start-up', () => {
  it('is FATAL, code 3, when no server listens at the address', async () => {
    bench = await SessionBench.open();
    const { status, stderr } = await bench.launch({ url: 'http://127.0.0.1:1' }).ended;
    expect([status, stderr]).toEqual([3, expect.stringMatching(/FATAL/)]);
  });

  /** Every request of a start-up that finds the guard of a dead twin, in order. */
  const STEPS = {
    'asking for its scopes': /whoami/,
    'asking for the guard': /acquire(?!.*supersedes)/,
    'looking who holds it': /GET .*guard_lock/,
    'taking it over': /acquire.*supersedes/,
    'wiping the leases': /wipe/,
  };

  it('is FATAL, code 3, when the server fails at any single step, and nothing is wiped, leased or started', async () => {
    bench = await SessionBench.open();
    const twin = await bench.orchestrate();
    const { sessionId } = await bench.ready('channel-a');
    await killed(twin);
    const waiting = await bench.ask('channel-b');
    const held = (await bench.leases()).map(({ name, lease_seq }) => ({ name, lease_seq }));
    for (const [what, step] of Object.entries(STEPS)) {
      for (const fate of ['fails', 'is cut'] satisfies PassingFate[]) {
        const proxy = await bench.proxy();
        proxy.let(step, fate);
        const { status, stderr } = await bench.launch({ url: proxy.url }).ended;
        expect([status, stderr], what).toEqual([3, expect.stringMatching(/FATAL/)]);
        const asked = proxy.seen.map(({ line, body }) => `${line} ${body}`);
        expect(
          asked.some((text) => step.test(text)),
          what,
        ).toBe(true);
        expect(asked.filter((text) => /v1\/tasks|api\/v3/.test(text))).toEqual([]);
      }
    }
    expect(await count('NamesWiped')).toBe(1);
    expect(await bench.leases()).toMatchObject(held);
    expect(await bench.session(sessionId)).toMatchObject({ body: { state: 'READY' } });
    expect(await bench.session(waiting)).toMatchObject({ body: { state: 'NEW' } });
  });

  it('is FATAL, code 3, when the server does not answer, and nothing is wiped, leased or started', async () => {
    bench = await SessionBench.open();
    await bench.call('POST', '/v1/leases/lease:service:b/acquire', { holder: 'zombie', ttl_ms: 60_000 });
    // One hangs at its first step, the other at its last.
    const waits = [STEPS['asking for the guard'], STEPS['wiping the leases']].map(async (step) => {
      const proxy = await bench.proxy();
      proxy.let(step, 'is held');
      const { status, stderr } = await bench.launch({ url: proxy.url }).ended;
      expect([status, stderr]).toEqual([3, expect.stringMatching(/FATAL/)]);
    });
    await Promise.all(waits);
    expect(await count('NamesWiped')).toBe(0);
    expect(await bench.leases()).toMatchObject([{ holder: 'zombie' }]);
    expect((await bench.guard()).code).toBe('LEASE_NOT_FOUND');
  });
});

describe('a renewal of the guard that hangs', () => {
  it('ends the orchestrator with 4 in time, its pipelines before that, and arrives too late to change anything', async () => {
    bench = await SessionBench.open();
    const proxy = await bench.proxy();
    const orchestrator = await bench.orchestrate({ url: proxy.url, times: QUICK });
    const pipeline = await bench.ready('channel-a', 'stubborn');
    const { lease_seq: guardSeq } = await bench.guard();
    proxy.let(GUARD_RENEWAL, 'is held');
    await proxy.holds(GUARD_RENEWAL);
    const { status, stderr, tookMs } = await timed(orchestrator);
    expect([status, stderr]).toEqual([4, expect.stringMatching(/FATAL/)]);
    // It waits for the answer until the next is due.
    expect(tookMs).toBeLessThan(FAIL_CLOSED_MS);
    const exited = await bench.seq();
    await until('the end of its pipeline', () => !isAlive(pipeline.pid));
    const { at } = await bench.expired(GUARD);
    expect(bench.lastBeat(pipeline)).toBeLessThan((await bench.endOfLease(GUARD, guardSeq)) - 1_000);
    await bench.reaches(pipeline.sessionId, 'FAILED');
    proxy.letGo();
    const answered = () => proxy.answers.at(-1)?.text ?? '';
    await until('the answer to what was held', () => /LEASE_(EXPIRED|NOT_HELD|NOT_FOUND)/.test(answered()));
    const later = (await bench.log()).filter(({ seq }) => seq > exited);
    for (const entry of later) expect(entry.type).toMatch(/^(NameExpired|SessionChanged)$/);
    expect(Date.parse(at)).toBeGreaterThan(bench.lastBeat(pipeline));
    await bench.finish();
  });
});

describe('an orchestrator that is paused past its TTL while another takes over', () => {
  it('had its pipelines killed before that, and changes nothing when it is resumed', async () => {
    bench = await SessionBench.open({ tuners: ['0'] });
    const proxy = await bench.proxy();
    // The leases of its session would last longer than its guard.
    const times = { ...QUICK, 'lease-ttl': '30s' };
    const paused = await bench.orchestrate({ url: proxy.url, times });
    const old = await bench.ready('channel-a', 'stubborn');
    const { lease_seq: guardSeq } = await bench.guard();
    // Renewals of the guard and of the session are on their way when it is paused, and arrive when all is over.
    proxy.let(ANY_RENEWAL, 'is held');
    await proxy.holds(GUARD_RENEWAL);
    await proxy.holds(/sessions\/renew/);
    paused.kill('SIGSTOP');
    const { seq: expired } = await bench.expired(GUARD);
    expect(bench.lastBeat(old)).toBeLessThan((await bench.endOfLease(GUARD, guardSeq)) - 1_000);
    expect(isAlive(old.pid)).toBe(false);
    const next = await bench.orchestrate();
    const { slot } = await bench.ready('channel-a', 'plain');
    expect(slot).toBe('0');
    const answered = proxy.answers.length;
    proxy.letGo();
    // Before it is resumed: it ends at once then, and its requests with it.
    await until('the answers to what was held', () => proxy.answers.length >= answered + 2);
    paused.kill('SIGCONT');
    expect(await paused.ended).toMatchObject({ status: 4, stderr: expect.stringMatching(/FATAL/) });
    const renewed = (await bench.log()).filter(
      ({ seq, type, lease_seq }) =>
        seq > expired && type === 'NameRenewed' && [guardSeq, old.leaseSeq].includes(lease_seq!),
    );
    expect(renewed).toEqual([]);
    expect(await bench.statesOf(old.sessionId)).toEqual(['STARTING', 'READY', 'FAILED']);
    expect(bench.alive).toHaveLength(1);
    await ends(next);
    await bench.finish();
  });
});

describe('kill -9 of the orchestrator', () => {
  it('ends its pipelines by itself, long before their leases, also those that do not heed SIGTERM', async () => {
    bench = await SessionBench.open();
    const orchestrator = await bench.orchestrate();
    const pipelines = [await bench.ready('channel-a', 'stubborn'), await bench.ready('channel-b')];
    await killed(orchestrator);
    await until('the end of its pipelines', () => bench.alive.length === 0);
    for (const pipeline of pipelines) {
      const end = await bench.endOfLease(`lease:tuner:${pipeline.slot}`, pipeline.leaseSeq);
      expect(bench.lastBeat(pipeline)).toBeLessThan(end - 20_000);
    }
    await bench.judge();
  });
});

/** What the kernel says of this process: its own metadata would say the same. */
function identity() {
  return {
    boot_id: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    pid_ns: readlinkSync('/proc/self/ns/pid'),
    hostname: hostname(),
  };
}

/** The guard as a process of these properties would have left it. */
async function guardOf(metadata: object): Promise<void> {
  const { status } = await bench.call('POST', `/v1/leases/${GUARD}/acquire`, {
    holder: 'twin',
    ttl_ms: 60_000,
    metadata,
  });
  expect(status).toBe(200);
}

/** A number that no process has. */
function unusedPid(): number {
  return spawnSync('true').pid;
}

const UNSHARE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'];
const mayUnshare = spawnSync(UNSHARE[0]!, [...UNSHARE.slice(1), 'true']).status === 0;

describe('the guard of a dead twin', () => {
  it('is taken over at once, as one conditional change', async () => {
    bench = await SessionBench.open();
    await killed(await bench.orchestrate());
    const { lease_seq: before } = await bench.guard();
    const next = await bench.orchestrate();
    expect(await count('NameBroken', { name: GUARD, lease_seq: before, reason: 'superseded' })).toBe(1);
    expect((await bench.guard()).lease_seq).toBeGreaterThan(before);
    await ends(next);
  });

  it('is taken over by one of two starters that race for it; the other exits with 3 and wiped nothing', async () => {
    bench = await SessionBench.open();
    await killed(await bench.orchestrate());
    const proxy = await bench.proxy();
    proxy.let(/supersedes/, 'is held');
    const starters = [bench.launch({ url: proxy.url }), bench.launch({ url: proxy.url })];
    await proxy.holds(/supersedes/, 2);
    proxy.letGo();
    const loser = await Promise.race(
      starters.map(async (starter) => ({ starter, result: await starter.ended })),
    );
    expect(loser.result).toMatchObject({ status: 3, stderr: expect.stringMatching(/FATAL/) });
    const winner = starters.find((starter) => starter !== loser.starter)!;
    await winner.says(/taking intents/);
    expect(await count('NamesWiped')).toBe(2);
    expect(await count('NameBroken', { reason: 'superseded' })).toBe(1);
    await ends(winner);
  });

  it.each([
    [
      'on this machine, in this namespace',
      () => ({ ...identity(), pid: unusedPid(), start_time: '1' }),
      true,
    ],
    [
      'whose number another process has now',
      () => ({ ...identity(), pid: process.pid, start_time: '1' }),
      true,
    ],
    [
      'of another PID namespace',
      () => ({ ...identity(), pid_ns: 'pid:[1]', pid: unusedPid(), start_time: '1' }),
      false,
    ],
    [
      'of another boot or machine',
      () => ({ ...identity(), boot_id: 'another', pid: unusedPid(), start_time: '1' }),
      false,
    ],
    ['of which nothing is known', () => ({}), false],
  ])('is judged by its metadata: a process %s', async (_, metadata, isDead) => {
    bench = await SessionBench.open();
    await guardOf(metadata());
    const before = await bench.seq();
    const starter = bench.launch();
    if (isDead) {
      await starter.says(/taking intents/);
      return;
    }
    const { status, stderr } = await starter.ended;
    expect([status, stderr]).toEqual([3, expect.stringMatching(/FATAL.*twin/)]);
    expect(await bench.seq()).toBe(before);
  });

  // Other namespaces need a right that not everybody has; the test above says the same of metadata written by hand.
  it.runIf(mayUnshare)('in another PID namespace is not taken for dead, whichever side looks', async () => {
    bench = await SessionBench.open();
    const inside = await bench.orchestrate({ under: UNSHARE });
    const { holder, lease_seq } = await bench.guard();
    expect(await bench.launch().ended).toMatchObject({ status: 3, stderr: expect.stringContaining(holder) });
    await killed(inside);
    expect(await bench.launch().ended).toMatchObject({ status: 3, stderr: expect.stringContaining(holder) });
    expect((await bench.guard()).lease_seq).toBe(lease_seq);
    await bench.breakLease(GUARD);
    const outside = await bench.orchestrate();
    const again = await bench.launch({ under: UNSHARE }).ended;
    expect(again).toMatchObject({ status: 3, stderr: expect.stringContaining((await bench.guard()).holder) });
    expect(await count('NamesWiped')).toBe(2);
    await ends(outside);
  });
});

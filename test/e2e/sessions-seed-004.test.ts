// The acceptance criteria of seed 004 (ADR-003), each in its own words, with a real server, orchestrator and pipelines.
import { afterEach, describe, expect, it } from 'vitest';
import { isAlive, until } from '../support/cli-processes.ts';
import { QUICK, SessionBench } from '../support/session-bench.ts';

let bench: SessionBench;

afterEach(() => bench.close());

async function tunerLeases(): Promise<number> {
  const entries = await bench.log();
  return entries.flatMap(({ names = [] }) => names).filter((name) => name.startsWith('lease:tuner:')).length;
}

describe('5.1 Parallel Start (Thundering Herd): two concurrent intents for the same channel and profile', () => {
  it('Phase 1, API leases on: give one 202 and one 409, and one tuner lease', async () => {
    bench = await SessionBench.open({ env: { XG2G_V3_API_LEASES: 'on' } });
    await bench.orchestrate();
    const replies = await Promise.all([bench.intent('channel-a'), bench.intent('channel-a')]);
    const [accepted, refused] = replies.sort((a, b) => a.status - b.status);
    expect([accepted!.status, refused!.status]).toEqual([202, 409]);
    const { session_id: id } = accepted!.body;
    expect(refused!.body).toMatchObject({ code: 'LEASE_HELD', session_id: id });
    expect(Number(refused!.headers.get('retry-after'))).toBeGreaterThan(0);
    await bench.reaches(id, 'READY');
    expect(await tunerLeases()).toBe(1);
    await bench.end(await bench.pipelineOf(id));
    await bench.finish();
  });

  it('Phase 2, API leases off: give two 202 with the same session_id, and one tuner lease', async () => {
    bench = await SessionBench.open({ env: { XG2G_V3_API_LEASES: 'off' } });
    await bench.orchestrate();
    const replies = await Promise.all([bench.intent('channel-a'), bench.intent('channel-a')]);
    expect(replies.map(({ status }) => status)).toEqual([202, 202]);
    const [first, second] = replies.map(({ body }) => body);
    expect(second.session_id).toBe(first.session_id);
    expect([first.status, second.status].sort()).toEqual(['accepted', 'idempotent_replay']);
    await bench.reaches(first.session_id, 'READY');
    expect(await tunerLeases()).toBe(1);
    await bench.end(await bench.pipelineOf(first.session_id));
    await bench.finish();
  });
});

describe('5.2 Lease Busy (Conflict): the same channel with different parameters', () => {
  it('gives two 202 with different session_ids; the first runs, the second is terminal (R_LEASE_BUSY)', async () => {
    bench = await SessionBench.open();
    await bench.orchestrate();
    const first = await bench.ready('channel-a', 'plain');
    const second = await bench.ask('channel-a', 'other');
    expect(second).not.toBe(first.sessionId);
    expect(await bench.reaches(second, 'FAILED')).toMatchObject({
      reason: 'R_LEASE_BUSY',
      reason_detail: 'REJECTED_BUSY',
    });
    expect((await bench.session(second)).status).toBe(410);
    expect(await bench.session(first.sessionId)).toMatchObject({ status: 200, body: { state: 'READY' } });
    expect(isAlive(first.pid)).toBe(true);
    await bench.end(first);
    await bench.finish();
  });
});

describe('5.3 Hard Kill Recovery', () => {
  it('Test A, kill -9 without restart: the lease persists until its TTL and new attempts are busy; then it is free', async () => {
    bench = await SessionBench.open({ env: { XG2G_V3_API_LEASES: 'on' } });
    const orchestrator = await bench.orchestrate({ times: QUICK });
    const { sessionId, slot, leaseSeq } = await bench.ready('channel-a');
    orchestrator.kill('SIGKILL');
    await orchestrator.ended;
    expect((await bench.intent('channel-a', 'other')).status).toBe(409);
    const names = ['lease:service:channel-a', `lease:tuner:${slot}`];
    const held = await bench.leases();
    expect(held.map(({ name, holder }) => [name, holder])).toEqual(names.map((name) => [name, sessionId]));
    const end = await bench.reaches(sessionId, 'FAILED');
    expect(end).toMatchObject({ reason: 'R_LEASE_EXPIRED', reason_detail: 'expired' });
    for (const name of names) {
      expect(Date.parse(end.at)).toBeGreaterThanOrEqual(await bench.endOfLease(name, leaseSeq));
    }
    expect(await bench.leases()).toEqual([]);
    const again = await bench.ask('channel-a', 'other');
    expect((await bench.stop(again)).status).toBe(202);
    await bench.reaches(again, 'CANCELLED');
    await bench.finish();
  });

  it('Test B, kill -9 with restart: the flush clears zombie locks, and the channel is available at once', async () => {
    bench = await SessionBench.open({ tuners: ['0'] });
    const killed = await bench.orchestrate();
    const zombie = await bench.ready('channel-a', 'stubborn');
    killed.kill('SIGKILL');
    await killed.ended;
    await bench.orchestrate();
    const again = await bench.ask('channel-a', 'plain');
    const { at } = await bench.reaches(again, 'READY');
    expect(Date.parse(at)).toBeLessThan(await bench.endOfLease('lease:tuner:0', zombie.leaseSeq));
    expect(await bench.reaches(zombie.sessionId, 'FAILED')).toMatchObject({
      reason: 'R_LEASE_EXPIRED',
      reason_detail: 'wiped',
    });
    await until('the end of the zombie', () => !isAlive(zombie.pid));
    await bench.end(await bench.pipelineOf(again));
    await bench.finish();
  });
});

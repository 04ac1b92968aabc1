// Pipelines whose keeper cannot end them, with real processes: keepers that are stopped, and keepers that are killed
// together with their orchestrator. No second pipeline ever starts on the slot, and nothing of another server is touched.
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { isAlive, type Process, until } from '../support/cli-processes.ts';
import {
  FAIL_CLOSED_MS,
  GUARD,
  type PipelineStart,
  QUICK,
  SessionBench,
  timed,
} from '../support/session-bench.ts';

let bench: SessionBench;
let others: SessionBench[] = [];

afterEach(async () => {
  // What a test left stopped is resumed, so that it can end.
  for (const pid of stopped.splice(0)) if (isAlive(pid)) process.kill(pid, 'SIGCONT');
  for (const each of [bench, ...others.splice(0)]) {
    for (const { pid } of each.alive) process.kill(-pid, 'SIGKILL');
    await each.close();
  }
});

/** What a loaded machine may take on top of a time that is promised. */
const SLACK_MS = 3_000;

/** Keepers start pipelines themselves. */
function keeperOf({ pid }: PipelineStart): number {
  const [, parent] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Number(parent);
}

const stopped: number[] = [];

async function stopKeeperOf(pipeline: PipelineStart): Promise<void> {
  const pid = keeperOf(pipeline);
  stopped.push(pid);
  process.kill(pid, 'SIGSTOP');
  await until('the keeper to be stopped', () =>
    /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')),
  );
}

/** Both at once: neither can act on the end of the other. */
async function killTogether(orchestrator: Process, ...pipelines: PipelineStart[]): Promise<void> {
  const keepers = pipelines.map(keeperOf);
  orchestrator.kill('SIGSTOP');
  for (const pid of keepers) process.kill(pid, 'SIGKILL');
  orchestrator.kill('SIGKILL');
  await orchestrator.ended;
  await until('the end of the keepers', () => !keepers.some(isAlive));
}

describe('a session whose keeper is stopped', () => {
  it.each(['plain', 'stubborn'])(
    'is over before its orchestrator leaves with 0, and the next one finds the slot free (%s)',
    async (profile) => {
      bench = await SessionBench.open({ tuners: ['0'] });
      const orchestrator = await bench.orchestrate({ times: { grace: '1s' } });
      const old = await bench.ready('channel-a', profile);
      await stopKeeperOf(old);
      orchestrator.kill('SIGTERM');
      const { status, tookMs, stderr } = await timed(orchestrator);
      expect([status, isAlive(old.pid)], stderr).toEqual([0, false]);
      expect(tookMs).toBeLessThan(1_000 + SLACK_MS);
      expect((await bench.guard()).code).toBe('LEASE_NOT_FOUND');
      expect(await bench.reaches(old.sessionId, 'STOPPED')).toMatchObject({ reason: 'R_SHUTDOWN' });
      const next = await bench.orchestrate();
      expect((await bench.ready('channel-b')).slot).toBe('0');
      next.kill('SIGTERM');
      expect((await next.ended).status).toBe(0);
      await bench.finish();
    },
  );

  it('ends within the grace when it is stopped, and its slot is used again', async () => {
    bench = await SessionBench.open({ tuners: ['0'] });
    await bench.orchestrate({ times: { grace: '1s' } });
    const old = await bench.ready('channel-a', 'stubborn');
    await stopKeeperOf(old);
    const from = performance.now();
    await bench.end(old);
    expect(performance.now() - from).toBeLessThan(1_000 + SLACK_MS);
    expect(isAlive(old.pid)).toBe(false);
    expect((await bench.ready('channel-b')).slot).toBe('0');
    await bench.judge();
  });

  it('has no process any more when its orchestrator has lost the guard and left with 4', async () => {
    bench = await SessionBench.open({ tuners: ['0'] });
    const orchestrator = await bench.orchestrate({ times: QUICK });
    const old = await bench.ready('channel-a', 'stubborn');
    await stopKeeperOf(old);
    await bench.breakLease(GUARD);
    const { status, tookMs } = await timed(orchestrator);
    expect([status, isAlive(old.pid)]).toEqual([4, false]);
    expect(tookMs).toBeLessThan(FAIL_CLOSED_MS);
    await bench.judge();
  });
});

describe('kill -9 of an orchestrator and its keepers together', () => {
  it('leaves pipelines that the next orchestrator ends before it uses their slots', async () => {
    bench = await SessionBench.open();
    const orchestrator = await bench.orchestrate();
    const old = [await bench.ready('channel-a', 'stubborn'), await bench.ready('channel-b')];
    await killTogether(orchestrator, ...old);
    expect(bench.alive).toEqual(old);
    const next = await bench.orchestrate();
    await next.says(/orphaned pipelines/);
    await bench.ready('channel-a');
    await bench.ready('channel-b');
    expect(old.filter(({ pid }) => isAlive(pid))).toEqual([]);
    next.kill('SIGTERM');
    expect((await next.ended).status).toBe(0);
    await bench.finish();
  });

  it('is made good also when the guard and the leases have run out before the next one starts', async () => {
    bench = await SessionBench.open({ tuners: ['0'] });
    const orchestrator = await bench.orchestrate({ times: QUICK });
    const old = await bench.ready('channel-a', 'stubborn');
    await killTogether(orchestrator, old);
    await bench.expired(GUARD);
    await bench.reaches(old.sessionId, 'FAILED');
    expect(bench.alive).toEqual([old]);
    await bench.orchestrate();
    await bench.ready('channel-b');
    expect(isAlive(old.pid)).toBe(false);
    await bench.judge();
  });

  it('ends nothing of another server on the same machine, whatever its sessions are called', async () => {
    bench = await SessionBench.open({ tuners: ['0'] });
    const other = await SessionBench.open({ tuners: ['0'] });
    others = [other];
    const orchestrator = await bench.orchestrate();
    await other.orchestrate();
    const old = await bench.ready('channel-a', 'stubborn');
    const neighbour = await other.ready('channel-a', 'stubborn');
    expect(neighbour.sessionId).toBe(old.sessionId);
    await killTogether(orchestrator, old);
    await bench.orchestrate();
    await bench.ready('channel-b');
    expect([isAlive(old.pid), isAlive(neighbour.pid)]).toEqual([false, true]);
    await bench.judge();
    await other.judge();
  });
});

// The orchestrator as a specification: an authority in memory, pipelines without processes, time moved by hand. The
// same stories with real processes are in test/e2e.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type Actor,
  type Fate,
  GUARD,
  LATE_MS,
  OrchestratorStage,
  TIMING,
} from '../../test/support/orchestrator-stage.ts';
import { LIMITS } from '../protocol/limits.ts';

let stage: OrchestratorStage;

beforeEach(async () => {
  stage = await OrchestratorStage.open();
});

/** The leases that a session of a dead orchestrator leaves behind. */
async function leftBehind(): Promise<void> {
  for (const name of ['lease:tuner:0', 'lease:service:news']) {
    await stage.world.finish(stage.lh.call('lease.acquire', { name, holder: 's-old', ttl_ms: 600_000 }));
  }
}

/** An orchestrator that vanished without a word, and whose process is gone. */
async function deadTwin(): Promise<Actor> {
  const twin = await stage.orchestrate();
  stage.machine.processes.delete(twin.table.pid);
  for (const operation of ['lease.renew', 'session.renew', 'task.lease']) {
    twin.line.fates.set(operation, 'hangs');
  }
  return twin;
}

describe('start-up', () => {
  it('asks for its scopes, takes the guard, then wipes, learns the id of the authority, then takes intents', async () => {
    await leftBehind();
    const { line, outcome } = await stage.orchestrate();
    await stage.advance(2_000);
    expect(outcome).toBeNull();
    expect(line.sent).toEqual([
      'whoami.get',
      'lease.acquire',
      'lease.wipe',
      'object.get',
      'object.write',
      'task.lease',
    ]);
    expect(await stage.leases()).toEqual([]);
    expect(await stage.guardHolder()).toMatch(/^host:101:/);
  });

  const FATES: readonly Fate[] = ['is unreachable', 'fails with 500', 'hangs', 'dies'];

  it.each(
    ['whoami.get', 'lease.acquire', 'lease.wipe'].flatMap((step) =>
      FATES.map((fate) => [step, fate] as const),
    ),
  )('is fatal when %s %s: nothing is started', async (step, fate) => {
    await leftBehind();
    const id = await stage.intent('sport');
    const actor = await stage.orchestrate({ fates: { [step]: fate } });
    await stage.advance(13_000);
    expect(actor.outcome).toMatchObject({ code: 3, says: expect.stringMatching(/^FATAL: .+\.$/) });
    expect(actor.pipelines.started).toEqual([]);
    expect(actor.line.sent).not.toContain('task.lease');
    expect(await stage.stateOf(id)).toBe('NEW');
    // What died on its way back was carried out; everything else was not.
    const isWiped = step === 'lease.wipe' && fate === 'dies';
    expect(await stage.leases()).toHaveLength(isWiped ? 0 : 2);
  });

  it.each(FATES)('is fatal when it cannot be found out who holds the guard: it %s', async (fate) => {
    await leftBehind();
    await stage.world.finish(stage.lh.call('lease.acquire', { name: GUARD, holder: 'anna', ttl_ms: 60_000 }));
    const actor = await stage.orchestrate({ fates: { 'lease.get': fate } });
    await stage.advance(13_000);
    expect(actor.outcome?.code).toBe(3);
    expect(await stage.leases()).toHaveLength(2);
    expect(await stage.guardHolder()).toBe('anna');
  });

  it('is fatal when another process holds the guard, and names it', async () => {
    await stage.orchestrate();
    await leftBehind();
    const before = await stage.seq();
    const second = await stage.orchestrate();
    expect(second.outcome).toMatchObject({ code: 3, says: expect.stringContaining('process 101 on host') });
    expect(second.outcome?.says).toContain(await stage.guardHolder());
    expect(await stage.seq()).toBe(before);
    expect(await stage.leases()).toHaveLength(2);
  });

  it('takes a guard that was given back when it looked who holds it', async () => {
    const held = { name: GUARD, holder: 'anna', token: 'x'.repeat(22) };
    await stage.world.finish(stage.lh.call('lease.acquire', { ...held, ttl_ms: 60_000 }));
    expect(await stage.guardHolder()).toBe('anna');
    const actor = await stage.orchestrate({
      meanwhile: { 'lease.get': () => stage.lh.call('lease.release', held) },
    });
    expect(actor.outcome).toBeNull();
    expect(await stage.guardHolder()).toMatch(/^host:101:/);
  });

  it('counts its guard from before it asked, however late the answer', async () => {
    const endsMs = stage.world.monotonicMs + TIMING.guardTtlMs;
    const { pipelines } = await stage.orchestrate({ fates: { 'lease.acquire': 'is late' } });
    await stage.advance(LATE_MS);
    const id = await stage.intent('news');
    const { killBy } = pipelines.of(id).plan.limits;
    expect(killBy.monotonicMs).toBeLessThanOrEqual(endsMs - 1_000);
    expect(killBy.monotonicMs).toBeGreaterThan(endsMs - LATE_MS);
  });

  it('gives a guard back that it has won in vain, once nothing can run any more whose leases it may have wiped', async () => {
    const actor = await stage.orchestrate({ fates: { 'lease.wipe': 'fails with 500' } });
    await stage.advance(999);
    expect(actor.outcome).toBeNull();
    await stage.advance(1);
    expect(actor.outcome?.code).toBe(3);
    expect(await stage.guardHolder()).toBeNull();
  });

  it('is fatal when its token has not got the scope *, before anything is asked for', async () => {
    await leftBehind();
    const before = await stage.seq();
    const actor = await stage.orchestrate({ scopes: ['v1:admin', 'v3:admin'] });
    expect(actor.outcome).toEqual({
      code: 3,
      says: 'FATAL: tuner-host has the scopes v1:admin v3:admin, and an orchestrator needs the scope *; nothing was started.',
    });
    expect(actor.line.sent).toEqual(['whoami.get']);
    expect(await stage.seq()).toBe(before);
  });

  it('that may not take start tasks any more ends with 4: it would keep the guard from one who may', async () => {
    const id = await stage.intent('sport');
    const actor = await stage.orchestrate({ fates: { 'task.lease': 'is forbidden' } });
    await stage.advance(1_000);
    expect(actor.outcome).toMatchObject({ code: 4, says: expect.stringMatching(/^FATAL: .*FORBIDDEN/) });
    expect(await stage.stateOf(id)).toBe('NEW');
  });

  it('that is asked to end before it is done begins nothing, and gives the guard back', async () => {
    const actor = await stage.orchestrate({ fates: { 'lease.wipe': 'hangs' } });
    actor.orchestrator.shutdown();
    await stage.advance(1_000);
    expect(actor.outcome).toEqual({ code: 0, says: null });
    expect(actor.line.sent).not.toContain('task.lease');
    expect(await stage.guardHolder()).toBeNull();
  });

  it.each(['the guard is held', 'leases of earlier sessions are wiped'])(
    'that is asked to end right when %s does the same',
    async (endsWhenItSays) => {
      const actor = await stage.orchestrate({ endsWhenItSays });
      expect(actor.outcome).toEqual({ code: 0, says: null });
      expect(actor.line.sent).not.toContain('task.lease');
      expect(await stage.guardHolder()).toBeNull();
    },
  );

  it('that is asked to end once it holds the guard wipes nothing any more', async () => {
    await leftBehind();
    const actor = await stage.orchestrate({ endsWhenItSays: 'the guard is held' });
    expect(actor.outcome).toEqual({ code: 0, says: null });
    expect(await stage.leases()).toHaveLength(2);
  });

  it.each<[string, { endsWhenItSays?: string }]>([
    ['right after its wipe', { endsWhenItSays: 'leases of earlier sessions are wiped' }],
    ['a moment later', {}],
  ])(
    'that is asked to end %s holds the guard until nothing runs whose leases it has wiped',
    async (_, how) => {
      await leftBehind();
      const actor = await stage.orchestrate(how);
      await stage.advance(300);
      actor.orchestrator.shutdown();
      await stage.advance(699);
      expect(actor.outcome).toBeNull();
      expect(await stage.guardHolder()).toMatch(/^host:101:/);
      await stage.advance(1);
      expect(actor.outcome).toEqual({ code: 0, says: null });
      expect(await stage.guardHolder()).toBeNull();
    },
  );

  it('waits after a wipe that ended leases, until the pipelines of the previous holder are gone', async () => {
    await leftBehind();
    await stage.intent('sport');
    const { pipelines } = await stage.orchestrate();
    await stage.advance(900);
    expect(pipelines.started).toEqual([]);
    await stage.advance(200);
    expect(pipelines.alive).toHaveLength(1);
  });
});

describe('a guard left by a dead process', () => {
  it('is taken over at once, superseding that very grant', async () => {
    await deadTwin();
    const heir = await stage.orchestrate();
    expect(heir.outcome).toBeNull();
    expect(await stage.guardHolder()).toMatch(/^host:102:/);
    const log = await stage.world.finish(stage.lh.log({ types: ['NameBroken'] }));
    expect(log).toMatchObject({ entries: [{ name: GUARD, reason: 'superseded' }] });
  });

  it('leaves its pipelines the time to end, also when the wipe finds nothing: it may have reached the server twice', async () => {
    await deadTwin();
    const heir = await stage.orchestrate();
    await stage.intent('sport');
    await stage.advance(900);
    expect(heir.pipelines.started).toEqual([]);
    await stage.advance(200);
    expect(heir.pipelines.alive).toHaveLength(1);
  });

  it('is acquired normally when it expires at that very moment', async () => {
    await deadTwin();
    let acquires = 0;
    const over = async (): Promise<void> => {
      acquires += 1;
      // Neither when it is asked for first, nor when it is asked for again.
      if (acquires === 2) await stage.lh.call('lease.break', { name: GUARD, reason: 'test' });
    };
    const heir = await stage.orchestrate({ meanwhile: { 'lease.acquire': over } });
    expect(heir.outcome).toBeNull();
    expect(acquires).toBe(3);
    expect(await stage.guardHolder()).toMatch(/^host:102:/);
  });

  it('goes to one of two who try', async () => {
    await deadTwin();
    const heirs = await Promise.all([stage.orchestrate(), stage.orchestrate()]);
    const codes = heirs.map(({ outcome }) => outcome?.code ?? null);
    expect(codes.filter((code) => code === null)).toHaveLength(1);
    expect(codes.filter((code) => code === 3)).toHaveLength(1);
  });

  it.each<[string, () => void]>([
    ['the machine was started again', () => (stage.machine.bootId = 'boot-2')],
    ['it lived in another PID namespace', () => (stage.machine.pidNs = 'pid:[2]')],
    ['there is a process of that number and start', () => stage.machine.processes.set(101, '1000')],
  ])('is left alone when %s', async (_why, change) => {
    await deadTwin();
    change();
    const heir = await stage.orchestrate();
    expect(heir.outcome?.code).toBe(3);
  });

  it('is taken over when its pid belongs to another process by now', async () => {
    await deadTwin();
    stage.machine.processes.set(101, '77777');
    expect((await stage.orchestrate()).outcome).toBeNull();
  });

  it('is left alone when nothing is said about who left it', async () => {
    await stage.world.finish(stage.lh.call('lease.acquire', { name: GUARD, holder: 'anna', ttl_ms: 60_000 }));
    const actor = await stage.orchestrate();
    expect(actor.outcome).toMatchObject({ code: 3, says: expect.stringContaining('anna') });
  });
});

describe('pipelines that earlier orchestrators left behind', () => {
  const env = (id: string) => ({ LEASEHOLD_AUTHORITY_ID: id, LEASEHOLD_SESSION_ID: 's00000000009' });

  /** What pipelines of this authority carry. */
  async function authorityId(): Promise<string> {
    const first = await stage.orchestrate();
    const { plan } = first.pipelines.of(await stage.intent('news'));
    first.orchestrator.shutdown();
    await stage.world.settle();
    expect(plan.mark).toEqual({
      LEASEHOLD_AUTHORITY_ID: plan.env.LEASEHOLD_AUTHORITY_ID,
      LEASEHOLD_SESSION_ID: plan.sessionId,
    });
    return plan.env.LEASEHOLD_AUTHORITY_ID!;
  }

  it('are killed before start tasks are leased, and those of other authorities are not', async () => {
    const { living } = stage.machine;
    living.start({ pid: 7, env: env(await authorityId()), survives: 3 });
    living.start({ pid: 8, env: env('of another') });
    const actor = await stage.orchestrate();
    await stage.intent('sport');
    await stage.advance(139);
    expect(living.pids).toEqual([7, 8]);
    expect(actor.line.sent).not.toContain('task.lease');
    await stage.advance(161);
    expect(living.pids).toEqual([8]);
    expect(actor.pipelines.alive).toHaveLength(1);
    expect(actor.said.filter((line) => line.startsWith('warn'))).toHaveLength(1);
  });

  it('have had the time that their keepers give them', async () => {
    const { living } = stage.machine;
    const id = await authorityId();
    await leftBehind();
    living.start({ pid: 7, env: env(id) });
    await stage.orchestrate();
    await stage.advance(999);
    expect(living.killed).toEqual([]);
    await stage.advance(1);
    expect(living.killed).toEqual([7]);
  });

  it('hold up every start while they cannot be killed, and the end of the orchestrator not at all', async () => {
    stage.machine.living.start({ pid: 7, env: env(await authorityId()), survives: 1_000 });
    const actor = await stage.orchestrate();
    await stage.advance(20_000);
    expect(actor.line.sent).not.toContain('task.lease');
    expect(actor.said.some((line) => line.startsWith('error pipelines cannot be killed'))).toBe(true);
    actor.orchestrator.shutdown();
    await stage.world.settle();
    expect(actor.outcome?.code).toBe(0);
  });

  it('are not for one who loses the guard while it looks: they may be those of its successor', async () => {
    const { living } = stage.machine;
    living.start({ pid: 7, env: env(await authorityId()) });
    // As long as a pause of the process.
    living.meanwhile = async () => {
      living.meanwhile = async () => undefined;
      stage.world.monotonicMs += TIMING.guardTtlMs;
    };
    await stage.orchestrate();
    await stage.advance(1_000);
    expect(living.killed).toEqual([]);
  });

  it.each<Fate>(['is unreachable', 'fails with 500'])(
    'are looked for as soon as their id is known; asking for it %s',
    async (fate) => {
      const actor = await stage.orchestrate({ fates: { 'object.get': fate } });
      const id = await stage.intent('sport');
      await stage.advance(2_000);
      expect(actor.line.sent).not.toContain('task.lease');
      actor.line.fates.delete('object.get');
      await stage.advance(1_000);
      expect(await stage.stateOf(id)).toBe('READY');
    },
  );
});

describe('a session', () => {
  it('gets a slot, its pipeline, and is READY once that runs', async () => {
    const { pipelines } = await stage.orchestrate();
    const id = await stage.intent('news');
    expect(await stage.stateOf(id)).toBe('READY');
    expect(pipelines.of(id).plan).toMatchObject({
      command: ['play', 'news'],
      env: { LEASEHOLD_SESSION_ID: id, LEASEHOLD_SLOT: '0' },
    });
    expect((await stage.leases()).sort()).toEqual(['lease:service:news', 'lease:tuner:0']);
  });

  it('is READY only when its pipeline says so, where it has a word for it', async () => {
    const { pipelines } = await stage.orchestrate();
    const id = await stage.intent('news', 'slow');
    expect(await stage.stateOf(id)).toBe('STARTING');
    pipelines.of(id).sayReady();
    await stage.world.settle();
    expect(await stage.stateOf(id)).toBe('READY');
  });

  it('goes on for as long as it is renewed', async () => {
    const { pipelines, outcome } = await stage.orchestrate();
    const id = await stage.intent('news');
    await stage.advance(10 * 60_000);
    expect(outcome).toBeNull();
    expect(await stage.stateOf(id)).toBe('READY');
    expect(pipelines.of(id).signals).toEqual([]);
  });

  it.each([
    ['an unknown profile', 'nope', 'FAILED R_PIPELINE_START_FAILED There is no profile nope.'],
    [
      'a name that every object has',
      'toString',
      'FAILED R_PIPELINE_START_FAILED There is no profile toString.',
    ],
  ])('of %s fails', async (_what, profile, state) => {
    await stage.orchestrate();
    const id = await stage.intent('news', profile);
    expect(await stage.stateOf(id)).toBe(state);
    expect(await stage.leases()).toEqual([]);
  });

  it('fails when another runs the service, and when no slot is free', async () => {
    const { pipelines } = await stage.orchestrate();
    await stage.intent('news');
    expect(await stage.stateOf(await stage.intent('news', 'slow'))).toBe('FAILED R_LEASE_BUSY REJECTED_BUSY');
    expect(await stage.stateOf(await stage.intent('news', 'nope'))).toBe('FAILED R_LEASE_BUSY REJECTED_BUSY');
    await stage.intent('sport');
    expect(await stage.stateOf(await stage.intent('films'))).toBe('FAILED R_NO_TUNER REJECTED_NO_TUNER');
    expect(pipelines.started.map(({ slot }) => slot)).toEqual(['0', '1']);
  });

  it('fails when its program cannot be started', async () => {
    const { pipelines } = await stage.orchestrate();
    pipelines.areMissing = true;
    const id = await stage.intent('news');
    expect(await stage.stateOf(id)).toBe('FAILED R_PIPELINE_START_FAILED no such program');
    expect(await stage.leases()).toEqual([]);
  });

  it('fails when its pipeline ends by itself: before it was ready it would not start', async () => {
    const { pipelines } = await stage.orchestrate();
    const ready = await stage.intent('news');
    const starting = await stage.intent('sport', 'slow');
    pipelines.of(ready).leave(7);
    pipelines.of(starting).leave(3);
    await stage.world.settle();
    expect(await stage.stateOf(ready)).toBe('FAILED R_PROCESS_ENDED exit code 7');
    expect(await stage.stateOf(starting)).toBe('FAILED R_PIPELINE_START_FAILED exit code 3');
    expect(await stage.leases()).toEqual([]);
  });

  it('whose end cannot be told at once is told later', async () => {
    const { pipelines, line } = await stage.orchestrate();
    const id = await stage.intent('news');
    line.fates.set('session.change', 'fails with 500');
    pipelines.of(id).leave(7);
    await stage.advance(600);
    line.fates.clear();
    await stage.advance(300);
    expect(await stage.stateOf(id)).toBe('FAILED R_PROCESS_ENDED exit code 7');
  });

  it('whose end cannot be reported ends with its leases, which are no longer renewed', async () => {
    const { pipelines, line } = await stage.orchestrate();
    const id = await stage.intent('news');
    line.fates.set('session.change', 'fails with 500');
    pipelines.of(id).leave(7);
    await stage.advance(TIMING.leaseTtlMs);
    expect(await stage.stateOf(id)).toBe('FAILED R_LEASE_EXPIRED expired');
    expect(await stage.leases()).toEqual([]);
    // From then on there is nothing left to report.
    const told = line.sent.filter((operation) => operation === 'session.change').length;
    await stage.advance(60_000);
    expect(line.sent.filter((operation) => operation === 'session.change')).toHaveLength(told);
  });

  it('whose readiness finds no answer ends without waiting for one', async () => {
    const { pipelines, line } = await stage.orchestrate();
    line.fates.set('session.change', 'hangs');
    const id = await stage.intent('news');
    pipelines.of(id).leave(7);
    line.fates.clear();
    await stage.advance(TIMING.heartbeatMs);
    expect(await stage.stateOf(id)).toBe('FAILED R_PIPELINE_START_FAILED exit code 7');
  });

  it('whose end finds no answer gives up each call that is late before it asks again', async () => {
    const { pipelines, line } = await stage.orchestrate();
    const id = await stage.intent('news');
    line.fates.set('session.change', 'hangs');
    pipelines.of(id).leave(7);
    await stage.advance(3 * TIMING.heartbeatMs);
    expect(line.sent.filter((operation) => operation === 'session.change').length).toBeGreaterThan(2);
    expect(line.hanging).toBe(1);
  });

  it('is told to be over only once it is known that it was ready', async () => {
    const { pipelines, line } = await stage.orchestrate();
    line.fates.set('session.change', 'is late');
    const id = await stage.intent('news');
    pipelines.of(id).leave(7);
    const told = (): number => line.sent.filter((operation) => operation === 'session.change').length;
    await stage.advance(LATE_MS - 1);
    expect([told(), await stage.stateOf(id)]).toEqual([1, 'READY']);
    await stage.advance(1);
    expect([told(), await stage.stateOf(id)]).toEqual([2, 'FAILED R_PROCESS_ENDED exit code 7']);
  });

  it('whose start was carried out but not answered is started once', async () => {
    const { pipelines, line } = await stage.orchestrate();
    line.fates.set('session.start', 'fails with 500');
    const id = await stage.intent('news');
    await stage.advance(600);
    line.fates.clear();
    await stage.advance(300);
    expect(await stage.stateOf(id)).toBe('READY');
    expect(pipelines.started).toHaveLength(1);
  });

  it('that was accepted without an orchestrator starts once there is one', async () => {
    const id = await stage.intent('news');
    await stage.advance(60_000);
    await stage.orchestrate();
    expect(await stage.stateOf(id)).toBe('READY');
  });
});

describe('a stop', () => {
  it('ends the pipeline, and only then the session', async () => {
    const { pipelines } = await stage.orchestrate();
    pipelines.areStubborn = true;
    const id = await stage.intent('news');
    await stage.stop(id);
    expect(pipelines.of(id).signals).toEqual(['SIGTERM']);
    await stage.advance(TIMING.graceMs - 1);
    expect(await stage.stateOf(id)).toBe('STOPPING R_CLIENT_STOP');
    expect(await stage.leases()).toHaveLength(2);
    await stage.advance(1);
    expect(pipelines.of(id).signals).toEqual(['SIGTERM', 'SIGKILL']);
    expect(await stage.stateOf(id)).toBe('STOPPED R_CLIENT_STOP');
    expect(await stage.leases()).toEqual([]);
  });

  it('of a session that was not started cancels it', async () => {
    const id = await stage.intent('news');
    await stage.stop(id);
    const { pipelines } = await stage.orchestrate();
    expect(await stage.stateOf(id)).toBe('CANCELLED R_CANCELLED');
    expect(pipelines.started).toEqual([]);
  });

  it.each(['session.start', 'session.change'])(
    'that comes while the answer of %s is lost leaves no slot behind',
    async (operation) => {
      const { line, pipelines } = await stage.orchestrate();
      line.fates.set(operation, 'dies');
      const id = await stage.intent('news');
      await stage.stop(id);
      await stage.advance(2 * TIMING.leaseTtlMs);
      expect(await stage.stateOf(id)).toMatch(/^STOPPED R_CLIENT_STOP/);
      expect(await stage.leases()).toEqual([]);
      expect(pipelines.alive).toEqual([]);
    },
  );

  it('is learned with the next renewal when the log is silent', async () => {
    const { pipelines } = await stage.orchestrate({ fates: { follow: 'hangs' } });
    const id = await stage.intent('news');
    await stage.stop(id);
    expect(pipelines.of(id).isAlive).toBe(true);
    await stage.advance(TIMING.heartbeatMs);
    expect(await stage.stateOf(id)).toBe('STOPPED R_CLIENT_STOP');
  });

  it('makes the next start of the same service wait for it instead of failing', async () => {
    const { pipelines } = await stage.orchestrate();
    pipelines.areStubborn = true;
    const first = await stage.intent('news');
    await stage.stop(first);
    const second = await stage.intent('news');
    expect(await stage.stateOf(second)).toBe('NEW');
    await stage.advance(TIMING.graceMs + 200);
    expect(await stage.stateOf(second)).toBe('READY');
    expect(pipelines.violations).toEqual([]);
  });

  it('makes it wait only briefly: one grace and a little more', async () => {
    const { pipelines } = await stage.orchestrate();
    const first = await stage.intent('news');
    pipelines.of(first).stop = () => undefined;
    await stage.stop(first);
    const second = await stage.intent('news');
    await stage.advance(TIMING.graceMs);
    expect(await stage.stateOf(second)).toBe('NEW');
    await stage.advance(3_200);
    expect(await stage.stateOf(second)).toBe('FAILED R_LEASE_BUSY REJECTED_BUSY');
  });

  it('is learned with the answer to a start that was retried: nothing is started', async () => {
    const { line, pipelines } = await stage.orchestrate({
      fates: { follow: 'hangs', 'session.start': 'dies' },
    });
    const id = await stage.intent('news');
    await stage.stop(id);
    line.fates.delete('session.start');
    await stage.advance(TIMING.heartbeatMs + 300);
    expect(pipelines.started).toEqual([]);
    expect(await stage.stateOf(id)).toBe('STOPPED R_CLIENT_STOP');
  });
});

describe('a lease that is lost', () => {
  it('stops its pipeline at once, and its slot is not given away before that is gone', async () => {
    const { pipelines } = await stage.orchestrate();
    pipelines.areStubborn = true;
    const id = await stage.intent('news');
    await stage.world.finish(stage.lh.call('lease.break', { name: 'lease:tuner:0', reason: 'test' }));
    await stage.world.settle();
    expect(await stage.stateOf(id)).toBe('FAILED R_LEASE_EXPIRED broken');
    expect(pipelines.of(id).signals).toEqual(['SIGTERM']);
    const next = await stage.intent('sport');
    expect(await stage.stateOf(next)).toBe('NEW');
    await stage.advance(600);
    expect(pipelines.of(id).isAlive).toBe(false);
    expect(await stage.stateOf(next)).toBe('READY');
    expect(pipelines.violations).toEqual([]);
  });

  it('and given to the next session before that was heard: it starts when the pipeline is gone', async () => {
    const { pipelines } = await stage.orchestrate({ fates: { follow: 'hangs' } });
    pipelines.areStubborn = true;
    const id = await stage.intent('news');
    await stage.world.finish(stage.lh.call('lease.break', { name: 'lease:tuner:0', reason: 'test' }));
    const next = await stage.intent('sport');
    expect(await stage.stateOf(next)).toBe('STARTING');
    expect(pipelines.of(id).signals).toEqual(['SIGTERM']);
    expect(pipelines.started).toHaveLength(1);
    await stage.advance(600);
    expect(pipelines.of(next).isAlive).toBe(true);
    expect(await stage.stateOf(next)).toBe('READY');
    expect(pipelines.violations).toEqual([]);
  });

  it('does not give away its slot while the predecessor cannot be ended', async () => {
    const { pipelines } = await stage.orchestrate({ fates: { follow: 'hangs' } });
    const id = await stage.intent('news');
    pipelines.of(id).stop = () => undefined;
    await stage.world.finish(stage.lh.call('lease.break', { name: 'lease:tuner:0', reason: 'test' }));
    const next = await stage.intent('sport');
    await stage.advance(1_000);
    expect(await stage.stateOf(next)).toBe(
      'FAILED R_PIPELINE_START_FAILED The previous pipeline on slot 0 has not ended.',
    );
    expect(pipelines.started).toHaveLength(1);
  });

  it('is missed with the next renewal at the latest, when the log is silent', async () => {
    const { pipelines } = await stage.orchestrate({ fates: { follow: 'hangs' } });
    const id = await stage.intent('news');
    await stage.world.finish(stage.lh.call('lease.break', { name: 'lease:tuner:0', reason: 'test' }));
    await stage.advance(TIMING.heartbeatMs - 1);
    expect(pipelines.of(id).isAlive).toBe(true);
    await stage.advance(1);
    expect(pipelines.of(id).isAlive).toBe(false);
  });

  it('with a session that is forgotten by then stops the pipeline with the next renewal as well', async () => {
    stage = await OrchestratorStage.open({ retention: { endedSessionsMax: 0 } });
    const { pipelines } = await stage.orchestrate({ fates: { follow: 'hangs' } });
    const id = await stage.intent('news');
    await stage.world.finish(stage.lh.call('lease.break', { name: 'lease:tuner:0', reason: 'test' }));
    await stage.advance(TIMING.heartbeatMs);
    expect(await stage.stateOf(id)).toBe('');
    expect(pipelines.of(id).signals).toEqual(['SIGTERM']);
    expect(pipelines.of(id).isAlive).toBe(false);
  });

  it('is counted from before it was asked for, however late the answer', async () => {
    const { pipelines } = await stage.orchestrate({
      timing: { guardTtlMs: 90_000 },
      fates: { 'session.start': 'is late' },
    });
    const endsMs = stage.world.monotonicMs + TIMING.leaseTtlMs;
    const id = await stage.intent('news');
    await stage.advance(LATE_MS);
    expect(pipelines.of(id).plan.limits.killBy.monotonicMs).toBeLessThan(endsMs);
    expect(pipelines.of(id).plan.limits.killBy.monotonicMs).toBeGreaterThan(endsMs - LATE_MS);
  });

  it('because no renewal got through ends the pipeline before the lease ends', async () => {
    const { pipelines, line } = await stage.orchestrate();
    pipelines.areStubborn = true;
    const fromMs = stage.world.monotonicMs;
    const id = await stage.intent('news');
    line.fates.set('session.renew', 'fails with 500');
    await stage.advance(TIMING.leaseTtlMs);
    expect(pipelines.of(id).endedAtMs).toBeLessThan(fromMs + TIMING.leaseTtlMs);
    expect(pipelines.of(id).endedAtMs).toBeGreaterThan(fromMs + TIMING.leaseTtlMs / 2);
  });

  it('because no renewal got through is why the session failed: its pipeline did not end by itself', async () => {
    const { line } = await stage.orchestrate();
    const id = await stage.intent('news');
    line.fates.set('session.renew', 'fails with 500');
    await stage.advance(TIMING.leaseTtlMs);
    expect(await stage.stateOf(id)).toBe('FAILED R_LEASE_EXPIRED expired');
    // That it was ready, and nothing else.
    expect(line.sent.filter((operation) => operation === 'session.change')).toHaveLength(1);
  });
});

describe('the guard', () => {
  async function running(options = {}): Promise<Actor> {
    const actor = await stage.orchestrate(options);
    actor.pipelines.areStubborn = true;
    await stage.intent('news');
    await stage.intent('sport');
    return actor;
  }

  it.each<Fate>(['is unreachable', 'fails with 500'])(
    'whose renewal %s ends everything at once, without another write',
    async (fate) => {
      const actor = await running();
      await stage.advance(4_000);
      actor.line.fates.set('lease.renew', fate);
      await stage.advance(TIMING.heartbeatMs + 2_000);
      expect(actor.outcome?.code).toBe(4);
      expect(actor.pipelines.alive).toEqual([]);
      await stage.advance(60_000);
      expect(actor.line.sent.at(-1)).toBe('lease.renew');
    },
  );

  it('whose renewal hangs is lost when the next is due, and every pipeline is dead a second before its end', async () => {
    const actor = await running();
    actor.line.fates.set('lease.renew', 'hangs');
    const renewedMs = stage.world.monotonicMs;
    await stage.advance(2 * TIMING.heartbeatMs - 1);
    expect(actor.pipelines.alive).toHaveLength(2);
    await stage.advance(2_001);
    expect(actor.outcome?.code).toBe(4);
    for (const { endedAtMs } of actor.pipelines.started) {
      expect(endedAtMs).toBeLessThanOrEqual(renewedMs + TIMING.guardTtlMs - 1_000);
    }
  });

  it('that is lost ends the process in time, even if a pipeline cannot be ended', async () => {
    const actor = await running();
    const [first] = actor.pipelines.alive;
    first!.stop = () => undefined;
    actor.line.fates.set('lease.renew', 'is unreachable');
    await stage.advance(TIMING.heartbeatMs + 2_000);
    expect(actor.pipelines.alive).toEqual([first]);
    expect(actor.outcome).toMatchObject({ code: 4, says: expect.stringContaining('by their keepers') });
  });

  it('whose renewal is refused is lost with that answer', async () => {
    const actor = await stage.orchestrate();
    const holder = (await stage.guardHolder())!;
    // A newer grant to the same holder: nothing is broken, and ours is stale from here on.
    await stage.world.finish(stage.lh.call('lease.acquire', { name: GUARD, holder, ttl_ms: 60_000 }));
    await stage.advance(TIMING.heartbeatMs);
    expect(actor.outcome).toMatchObject({ code: 4, says: expect.stringContaining('a renewal was refused') });
    expect(actor.line.sent.at(-1)).toBe('lease.renew');
  });

  it('lasts no longer for an answer that comes late: it counts from before the renewal was sent', async () => {
    const actor = await running();
    actor.line.fates.set('lease.renew', 'is late');
    await stage.advance(TIMING.heartbeatMs);
    const endsMs = stage.world.monotonicMs + TIMING.guardTtlMs;
    await stage.advance(LATE_MS);
    for (const { limits } of actor.pipelines.alive) {
      expect(limits.killBy.monotonicMs).toBeLessThanOrEqual(endsMs - 1_000);
      expect(limits.killBy.monotonicMs).toBeGreaterThan(endsMs - LATE_MS);
    }
    // The machine sleeps past its end, though not past that of a guard from when the answer came.
    stage.world.setWall(stage.world.wallMs + TIMING.guardTtlMs - LATE_MS + 1_000);
    await stage.advance(1_000);
    expect(actor.outcome).toMatchObject({ code: 4, says: expect.stringContaining('time has run out') });
  });

  it('that another client breaks is noticed at once, not only with the next renewal', async () => {
    const actor = await running();
    await stage.world.finish(stage.lh.call('lease.break', { name: GUARD, reason: 'test' }));
    await stage.advance(600);
    expect(actor.outcome).toMatchObject({
      code: 4,
      says: expect.stringContaining('another client ended it'),
    });
    expect(actor.pipelines.alive).toEqual([]);
  });

  it('ends pipelines through their limits when the orchestrator cannot stop them', async () => {
    const actor = await running();
    // As if the process were paused: none of its decisions has an effect.
    for (const each of actor.pipelines.alive) each.limit = () => undefined;
    const fromMs = stage.world.monotonicMs;
    await stage.advance(TIMING.guardTtlMs);
    for (const { endedAtMs } of actor.pipelines.started) {
      expect(endedAtMs).toBeGreaterThan(0);
      expect(endedAtMs).toBeLessThanOrEqual(fromMs + TIMING.guardTtlMs - 1_000);
    }
  });

  it('that was renewed after all tells of the pipelines that were ended for its sake: they keep no slot', async () => {
    const actor = await running();
    for (const each of actor.pipelines.alive) each.limit = () => undefined;
    await stage.advance(TIMING.guardTtlMs);
    expect(actor.outcome).toBeNull();
    for (const { plan } of actor.pipelines.started)
      expect(await stage.stateOf(plan.sessionId)).toBe('FAILED R_PROCESS_ENDED SIGKILL');
    expect(await stage.leases()).toEqual([]);
  });

  it('is over when the wall clock says so, though the monotonic one stood still', async () => {
    const actor = await running();
    stage.world.setWall(stage.world.wallMs + 60_000);
    await stage.advance(2_000);
    expect(actor.outcome?.code).toBe(4);
    expect(actor.pipelines.alive).toEqual([]);
  });

  it('that ran out while the machine slept is known to be over before anything is told', async () => {
    const actor = await running();
    const [first] = actor.pipelines.alive;
    stage.world.setWall(stage.world.wallMs + 60_000);
    const sent = [...actor.line.sent];
    first!.leave(7);
    await stage.world.settle();
    expect(actor.line.sent).toEqual(sent);
    await stage.advance(2_000);
    expect(actor.outcome?.code).toBe(4);
  });

  it('that proves not to be ours any more, in the answer to a change, is lost then and there', async () => {
    const actor = await stage.orchestrate();
    const holder = (await stage.guardHolder())!;
    const id = await stage.intent('news', 'slow');
    // A newer grant to the same holder: nothing is broken, and ours is stale from here on.
    await stage.world.finish(stage.lh.call('lease.acquire', { name: GUARD, holder, ttl_ms: 60_000 }));
    expect(actor.outcome).toBeNull();
    actor.pipelines.of(id).sayReady();
    await stage.world.settle();
    expect(actor.outcome).toMatchObject({ code: 4, says: expect.stringContaining('GUARD_NOT_HELD') });
    expect(await stage.stateOf(id)).toBe('STARTING');
    expect(actor.pipelines.alive).toEqual([]);
  });
});

describe('asked to end', () => {
  it('it ends its sessions, gives the guard back and is done', async () => {
    const actor = await stage.orchestrate();
    const id = await stage.intent('news');
    actor.orchestrator.shutdown();
    await stage.world.settle();
    expect(actor.outcome).toEqual({ code: 0, says: null });
    expect(await stage.stateOf(id)).toMatch(/^STOPPED R_SHUTDOWN/);
    expect(await stage.leases()).toEqual([]);
    expect(await stage.guardHolder()).toBeNull();
    expect(stage.world.holds).toBe(0);
  });

  it('it is idle from then on', async () => {
    const after = vi.spyOn(stage.world.timers, 'after');
    const actor = await stage.orchestrate({ timing: { heartbeatMs: 777 } });
    actor.orchestrator.shutdown();
    await stage.world.settle();
    expect(actor.outcome).toEqual({ code: 0, says: null });
    after.mockClear();
    await stage.advance(60_000);
    expect(after.mock.calls.filter(([ms]) => ms === 777)).toEqual([]);
  });

  it('it waits one grace for a pipeline that does not heed it, and no longer', async () => {
    const actor = await stage.orchestrate();
    actor.pipelines.areStubborn = true;
    const id = await stage.intent('news');
    actor.orchestrator.shutdown();
    await stage.advance(TIMING.graceMs);
    expect(actor.outcome?.code).toBe(0);
    expect(await stage.stateOf(id)).toBe('STOPPED R_SHUTDOWN');
  });

  it('it keeps the guard and leaves with 4 while a pipeline cannot be killed', async () => {
    const actor = await stage.orchestrate();
    actor.pipelines.areImmortal = true;
    await stage.intent('news');
    actor.orchestrator.shutdown();
    await stage.advance(TIMING.graceMs + 5_000);
    expect(actor.outcome).toMatchObject({
      code: 4,
      says: expect.stringMatching(/^FATAL: 1 pipeline.*guard/),
    });
    expect(actor.said.some((line) => line.startsWith('info stopped'))).toBe(false);
    expect(await stage.guardHolder()).toMatch(/^host:101:/);
  });

  it('it does so with the longest grace there is, under which sessions start as with any other', async () => {
    const actor = await stage.orchestrate({ timing: { graceMs: LIMITS.ttlMaxMs } });
    const id = await stage.intent('news');
    expect(await stage.stateOf(id)).toBe('READY');
    actor.orchestrator.shutdown();
    await stage.advance(1_000);
    expect(actor.outcome?.code).toBe(0);
    expect(await stage.stateOf(id)).toBe('STOPPED R_SHUTDOWN');
  });

  it('it begins no pipeline for a start that is answered only then', async () => {
    const actor = await stage.orchestrate({ fates: { 'session.start': 'is late' } });
    const id = await stage.intent('news');
    actor.orchestrator.shutdown();
    await stage.advance(LATE_MS);
    expect(actor.outcome?.code).toBe(0);
    expect(actor.pipelines.started).toEqual([]);
    expect(await stage.stateOf(id)).toBe('STOPPED R_SHUTDOWN');
    expect(await stage.leases()).toEqual([]);
  });

  it('it ends although the server no longer answers', async () => {
    const actor = await stage.orchestrate();
    await stage.intent('news');
    for (const operation of ['session.change', 'lease.release']) actor.line.fates.set(operation, 'hangs');
    actor.orchestrator.shutdown();
    await stage.advance(TIMING.graceMs + 7_000);
    expect(actor.outcome?.code).toBe(0);
    expect(actor.pipelines.alive).toEqual([]);
  });
});

describe('a client that fell silent', () => {
  const config = JSON.stringify({
    slots: ['0'],
    profiles: { plain: { command: ['play'] } },
    session_idle_ms: 60_000,
  });

  it('loses its session, where that is asked for', async () => {
    await stage.orchestrate({ config });
    const id = await stage.intent('news');
    await stage.advance(50_000);
    await stage.world.finish(stage.lh.call('session.heartbeat', { session_id: id }));
    await stage.advance(50_000);
    expect(await stage.stateOf(id)).toBe('READY');
    await stage.advance(16_000);
    expect(await stage.stateOf(id)).toMatch(/^STOPPED R_IDLE_TIMEOUT/);
    expect(await stage.leases()).toEqual([]);
  });
});

describe('many intents at once', () => {
  it('get what there is, and the others are told', async () => {
    const { pipelines } = await stage.orchestrate();
    const ids: string[] = [];
    for (let index = 0; index < 200; index++) ids.push(await stage.intent(`channel-${index}`));
    await stage.advance(1_000);
    const states = await Promise.all(ids.map((id) => stage.stateOf(id)));
    expect(states.filter((state) => state === 'READY')).toHaveLength(2);
    expect(states.filter((state) => state === 'FAILED R_NO_TUNER REJECTED_NO_TUNER')).toHaveLength(198);
    expect(pipelines.violations).toEqual([]);
  });

  it('of which none is answered take so many connections and no more: others need some too', async () => {
    for (let index = 0; index < 40; index++) await stage.intent(`channel-${index}`);
    const { line } = await stage.orchestrate({ fates: { 'session.start': 'hangs' } });
    expect(line.sent.filter((operation) => operation === 'session.start')).toHaveLength(24);
  });
});

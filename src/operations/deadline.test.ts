// What may leave a writer whose log can be taken away: what is durable always, what only its memory knows never past
// the deadline, and nothing at all once the log is lost.
import { beforeEach, describe, expect, it } from 'vitest';
import { HeldEngine } from '../../test/support/held-engine.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { RevocableEngine } from '../../test/support/revocable-engine.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { openWith } from '../open.ts';

const TOKEN = 'token-of-our-own-choice';

let world: ManualWorld;
let held: HeldEngine;
let engine: RevocableEngine;
let lh: Leasehold;
let deaths: Error[];

beforeEach(async () => {
  world = new ManualWorld();
  held = new HeldEngine(memoryEngine());
  engine = new RevocableEngine(held);
  deaths = [];
  lh = await world.finish(openWith(engine, world, { onDeath: (fault) => deaths.push(fault) }));
  await world.finish(lh.call('lease.acquire', { name: 'n', holder: 'h', token: TOKEN, ttl_ms: 60_000 }));
  await world.finish(lh.call('task.create', { payload: 1, task_id: 't' }));
});

const refused = (call: Promise<unknown>, effect = 'unknown'): Promise<void> =>
  expect(world.finish(call)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: false, effect });

describe('past the deadline', () => {
  const CALLS: Readonly<Record<string, (lh: Leasehold) => Promise<unknown>>> = {
    'a read': ({ lease }) => lease.get({ name: 'n' }),
    'a list': ({ task }) => task.list({}),
    status: (each) => each.status(),
    'a duplicate task': ({ task }) => task.create({ payload: 1, task_id: 't' }),
    'a duplicate grant': ({ lease }) =>
      lease.acquire({ name: 'n', holder: 'h', token: TOKEN, ttl_ms: 60_000 }),
    'a renewal that changes nothing': ({ lease }) =>
      lease.renew({ name: 'n', holder: 'h', token: TOKEN, ttl_ms: 1_000 }),
    'a release of what is not held': ({ lease }) => lease.release({ name: 'n', holder: 'x', token: TOKEN }),
    'a refusal': ({ lease }) => lease.acquire({ name: 'n', holder: 'other', ttl_ms: 1_000 }),
    'an empty queue': ({ task }) => task.lease({ worker_id: 'w', queues: ['none'] }),
  };

  it.each(Object.entries(CALLS))('%s does not leave, and the authority has ended', async (_, call) => {
    expect(await world.finish(call(lh))).toBeDefined();
    engine.mayAnswer = false;
    await refused(call(lh));
    expect(deaths).toHaveLength(1);
    // It is over for good, whatever the clock says later.
    engine.mayAnswer = true;
    await refused(call(lh), 'none');
    expect(deaths).toHaveLength(1);
  });

  it('a waiting caller is told so when the wait is over, and not that nothing came', async () => {
    const waiting = lh.call('task.lease', { worker_id: 'w', queues: ['none'], wait_ms: 1_000 });
    waiting.catch(() => undefined);
    await world.settle();
    engine.mayAnswer = false;
    await world.advance(1_000);
    await refused(waiting);
  });

  it('what has become durable is still acknowledged: no other writer can have been before it', async () => {
    held.holding = true;
    const created = lh.call('task.create', { payload: 2, task_id: 'u' });
    await world.settle();
    engine.mayAnswer = false;
    held.letGo();
    expect(await world.finish(created)).toMatchObject({ ok: true, task_id: 'u' });
  });
});

describe('a log that is lost', () => {
  it('ends the authority at once, without any call', async () => {
    const waiting = lh.call('lease.acquire', { name: 'n', holder: 'w', ttl_ms: 1_000, wait_ms: 60_000 });
    waiting.catch(() => undefined);
    await world.settle();
    engine.lose(new Error('deposed'));
    await refused(waiting);
    expect(deaths.map(({ cause }) => (cause as Error).message)).toEqual(['deposed']);
  });

  it('leaves it unknown what became of an append that was under way, even if it gets through', async () => {
    held.holding = true;
    const created = lh.call('task.create', { payload: 2, task_id: 'u' });
    created.catch(() => undefined);
    await world.settle();
    engine.lose(new Error('deposed'));
    await refused(created);
    held.letGo();
    await world.settle();
    expect(deaths).toHaveLength(1);
  });
});

describe('the time of a log with a clock of its own', () => {
  it('is that clock at every moment, whatever the machine says', async () => {
    engine = new RevocableEngine();
    engine.nowMs = world.wallMs + 86_400_000;
    const other = await world.finish(openWith(engine, world));
    for (let time = 1; time <= 2; time++) {
      const created = await world.finish(other.call('task.create', { payload: time }));
      const { created_at } = created as { created_at: string };
      expect(Date.parse(created_at)).toBe(engine.nowMs);
      engine.nowMs += 5_000;
    }
  });
});

// A caller that lost its connection asks again, with the same token or request_id, while its first call is still being
// answered. A caller that is told that it holds a lease holds it; a grant that no caller is told of is given back.
import { beforeEach, describe, expect, it } from 'vitest';
import { HeldEngine } from '../../test/support/held-engine.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { MemoryDisk } from '../engines/memory/memory-disk.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { openWith } from '../open.ts';
import type { Reply } from '../protocol/problem.ts';

let world: ManualWorld;
let engine: HeldEngine;
let lh: Leasehold;

beforeEach(async () => {
  world = new ManualWorld();
  engine = new HeldEngine(memoryEngine(new MemoryDisk()));
  lh = await world.finish(openWith(engine, world));
  await world.finish(lh.call('task.create', { payload: 1 }));
});

type Ask = (gone?: AbortController) => Promise<Reply<object>>;

/** The ways to be granted something, each with a word for what is held in the end. */
const WAYS: readonly [string, () => { readonly ask: Ask; readonly held: () => Promise<boolean> }][] = [
  [
    'a named lease',
    () => {
      const request = { name: 'n', holder: 'a', ttl_ms: 60_000, token: 'chosen-by-the-caller' };
      return { ask: (gone) => lh.call('lease.acquire', request, gone), held: () => isHeld('n') };
    },
  ],
  [
    'several names',
    () => {
      const request = { names: ['n', 'm'], holder: 'a', ttl_ms: 60_000, token: 'chosen-by-the-caller' };
      const held = async (): Promise<boolean> => (await isHeld('n')) && (await isHeld('m'));
      return { ask: (gone) => lh.call('lease.acquire_all', request, gone), held };
    },
  ],
  [
    'a task',
    () => {
      const request = { worker_id: 'w', request_id: 'r' };
      return { ask: (gone) => lh.call('task.lease', request, gone), held: isLeased };
    },
  ],
];

async function isHeld(name: string): Promise<boolean> {
  return (await world.finish(lh.call('lease.get', { name }))).ok;
}

async function isLeased(): Promise<boolean> {
  const tasks = await world.finish(lh.call('task.list', { state: 'LEASED' }));
  return tasks.ok && tasks.tasks.length > 0;
}

/** A call whose caller may go; what it is told then is of no interest. */
function leaving(ask: Ask, gone: AbortController): void {
  ask(gone).catch(() => undefined);
}

const GONE = new Error('gone');

/** What was held up goes on. */
async function goOn(): Promise<void> {
  engine.holding = false;
  engine.letGo();
  await world.settle();
}

describe.each(WAYS)('%s that is asked for again', (_what, way) => {
  let ask: Ask;
  let held: () => Promise<boolean>;
  let gone: AbortController;

  beforeEach(() => {
    ({ ask, held } = way());
    gone = new AbortController();
    engine.holding = true;
  });

  it('in the same batch is kept when only the first caller has gone', async () => {
    leaving(ask, gone);
    const again = ask();
    await world.settle();
    gone.abort(GONE);
    await goOn();
    expect(await world.finish(again)).toMatchObject({ ok: true, duplicate: true });
    expect(await held()).toBe(true);
  });

  it('while the first answer is made durable is kept when only the first caller has gone', async () => {
    leaving(ask, gone);
    await world.settle();
    const again = ask();
    gone.abort(GONE);
    await goOn();
    expect(await world.finish(again)).toMatchObject({ ok: true, duplicate: true });
    expect(await held()).toBe(true);
  });

  it.each(['the same', 'the next'])(
    'in %s batch is kept when only the second caller has gone',
    async (batch) => {
      const first = ask();
      if (batch === 'the next') await world.settle();
      leaving(ask, gone);
      await world.settle();
      gone.abort(GONE);
      await goOn();
      expect(await world.finish(first)).toMatchObject({ ok: true });
      expect(await held()).toBe(true);
    },
  );

  it('is given back when all its callers have gone', async () => {
    leaving(ask, gone);
    leaving(ask, gone);
    await world.settle();
    leaving(ask, gone);
    gone.abort(GONE);
    await goOn();
    expect(await held()).toBe(false);
  });

  it('is given back when the last of its callers goes while it is told of what the others left', async () => {
    leaving(ask, gone);
    await world.settle();
    const last = new AbortController();
    leaving(ask, last);
    // A write of its own, so that the repeat waits for it.
    lh.call('task.create', { payload: 2, queue: 'other' }).catch(() => undefined);
    gone.abort(GONE);
    engine.letGo();
    await world.settle();
    last.abort(GONE);
    await goOn();
    expect(await held()).toBe(false);
  });
});

describe.each(WAYS)('%s that is asked for three times', (_what, way) => {
  it('is kept when only the third caller hears of it, whose answer is decided with the second', async () => {
    const { ask, held } = way();
    const [first, second] = [new AbortController(), new AbortController()];
    engine.holding = true;
    leaving(ask, first);
    await world.settle();
    leaving(ask, second);
    const third = ask();
    lh.call('task.create', { payload: 2, queue: 'other' }).catch(() => undefined);
    first.abort(GONE);
    engine.letGo();
    await world.settle();
    second.abort(GONE);
    await goOn();
    expect(await world.finish(third)).toMatchObject({ ok: true, duplicate: true });
    expect(await held()).toBe(true);
  });
});

describe('several names of which one is asked for again', () => {
  const request = { holder: 'a', ttl_ms: 60_000, token: 'chosen-by-the-caller' };

  it('are all given back when all callers have gone', async () => {
    const gone = new AbortController();
    engine.holding = true;
    leaving((signal) => lh.call('lease.acquire_all', { ...request, names: ['n', 'm'] }, signal), gone);
    leaving((signal) => lh.call('lease.acquire', { ...request, name: 'n' }, signal), gone);
    await world.settle();
    gone.abort(GONE);
    await goOn();
    expect([await isHeld('n'), await isHeld('m')]).toEqual([false, false]);
  });

  it.each(['the same', 'the next'])(
    'are given back but for the one that was told, in %s batch',
    async (batch) => {
      const gone = new AbortController();
      engine.holding = true;
      leaving((signal) => lh.call('lease.acquire_all', { ...request, names: ['n', 'm'] }, signal), gone);
      if (batch === 'the next') await world.settle();
      const again = lh.call('lease.acquire', { ...request, name: 'n' });
      await world.settle();
      gone.abort(GONE);
      await goOn();
      expect(await world.finish(again)).toMatchObject({ ok: true, duplicate: true });
      expect([await isHeld('n'), await isHeld('m')]).toEqual([true, false]);
    },
  );
});

describe('several names of which parts are asked for again', () => {
  const request = { holder: 'a', ttl_ms: 60_000, token: 'chosen-by-the-caller' };
  const both = (gone: AbortController) =>
    leaving((signal) => lh.call('lease.acquire_all', { ...request, names: ['n', 'm'] }, signal), gone);

  it('are kept as far as a caller was told, whichever caller asks and leaves afterwards', async () => {
    const [first, last] = [new AbortController(), new AbortController()];
    engine.holding = true;
    both(first);
    const one = lh.call('lease.acquire', { ...request, name: 'n' });
    await world.settle();
    both(last);
    lh.call('task.create', { payload: 2, queue: 'other' }).catch(() => undefined);
    first.abort(GONE);
    engine.letGo();
    await world.settle();
    expect(await one).toMatchObject({ ok: true, duplicate: true });
    last.abort(GONE);
    await goOn();
    expect([await isHeld('n'), await isHeld('m')]).toEqual([true, false]);
  });

  it('are all given back when no caller was told of any', async () => {
    const [first, last] = [new AbortController(), new AbortController()];
    engine.holding = true;
    both(first);
    await world.settle();
    leaving((signal) => lh.call('lease.acquire', { ...request, name: 'm' }, signal), last);
    both(last);
    lh.call('task.create', { payload: 2, queue: 'other' }).catch(() => undefined);
    first.abort(GONE);
    engine.letGo();
    await world.settle();
    last.abort(GONE);
    await goOn();
    expect([await isHeld('n'), await isHeld('m')]).toEqual([false, false]);
  });
});

describe('two calls with one token in a line', () => {
  it('are told of the same grant, which is kept when the first of them has gone', async () => {
    const request = { name: 'n', ttl_ms: 60_000 };
    const before = await world.finish(lh.call('lease.acquire', { ...request, holder: 'before' }));
    if (!before.ok) throw new Error(before.detail);
    const gone = new AbortController();
    const acquire = { ...request, holder: 'a', token: 'chosen-by-the-caller', wait_ms: 30_000 };
    leaving((signal) => lh.call('lease.acquire', acquire, signal), gone);
    const again = lh.call('lease.acquire', acquire);
    await world.settle();
    engine.holding = true;
    lh.call('lease.release', { name: 'n', holder: 'before', token: before.token }).catch(() => undefined);
    await world.settle();
    gone.abort(GONE);
    await goOn();
    expect(await world.finish(again)).toMatchObject({ ok: true });
    expect(await isHeld('n')).toBe(true);
  });
});

describe('a task whose payload is being read', () => {
  it('is kept when it was told to its second caller before the first one went', async () => {
    const request = { worker_id: 'w', request_id: 'r' };
    const gone = new AbortController();
    engine.isHoldingReads = true;
    leaving((signal) => lh.call('task.lease', request, signal), gone);
    await world.settle();
    engine.isHoldingReads = false;
    const again = await world.finish(lh.call('task.lease', request));
    expect(again).toMatchObject({ ok: true, leases: [{ attempt: 1 }] });
    gone.abort(GONE);
    engine.letGo();
    await world.settle();
    expect(await isLeased()).toBe(true);
  });

  it('is kept when it was told long ago and only repeats of that have gone', async () => {
    const request = { worker_id: 'w', request_id: 'r' };
    await world.finish(lh.call('task.lease', request));
    const gone = new AbortController();
    engine.isHoldingReads = true;
    for (let repeat = 0; repeat < 2; repeat++) {
      leaving((signal) => lh.call('task.lease', request, signal), gone);
      await world.settle();
    }
    gone.abort(GONE);
    engine.isHoldingReads = false;
    engine.letGo();
    await world.settle();
    expect(await isLeased()).toBe(true);
  });

  it('is given back when it cannot be read for the last who asked, and the others have gone', async () => {
    const request = { worker_id: 'w', request_id: 'r' };
    const gone = new AbortController();
    engine.holding = true;
    leaving((signal) => lh.call('task.lease', request, signal), gone);
    await world.settle();
    const again = lh.call('task.lease', request);
    again.catch(() => undefined);
    gone.abort(GONE);
    engine.isHoldingReads = true;
    await goOn();
    engine.isHoldingReads = false;
    engine.fail(new Error('EIO'));
    await expect(world.finish(again)).rejects.toThrow();
    await world.settle();
    expect(await isLeased()).toBe(false);
  });

  it('is not mistaken for an earlier grant of the same request that is over and still being read', async () => {
    const request = { worker_id: 'w', request_id: 'r' };
    const gone = new AbortController();
    engine.isHoldingReads = true;
    leaving((signal) => lh.call('task.lease', { ...request, ttl_ms: 100 }, signal), gone);
    await world.settle();
    await world.advance(200);
    leaving((signal) => lh.call('task.lease', { ...request, ttl_ms: 60_000 }, signal), gone);
    await world.settle();
    const again = lh.call('task.lease', request);
    await world.settle();
    gone.abort(GONE);
    engine.isHoldingReads = false;
    engine.letGo();
    expect(await world.finish(again)).toMatchObject({ ok: true, leases: [{ attempt: 2 }] });
    await world.settle();
    expect(await isLeased()).toBe(true);
  });
});

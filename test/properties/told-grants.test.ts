// Calls for one grant, retried under the same token or request_id or renewed, in any order with callers that leave,
// slow appends and reads, and different batches. A caller that was answered with a grant holds it; a grant without a
// delivered answer has been released.
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { transportOf } from '../../src/client/client.ts';
import type { Leasehold } from '../../src/client/leasehold.ts';
import { MemoryDisk } from '../../src/engines/memory/memory-disk.ts';
import { memoryEngine } from '../../src/engines/memory/memory-engine.ts';
import { openWith } from '../../src/open.ts';
import { HeldEngine } from '../support/held-engine.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { SEED } from '../support/random-history.ts';

const TTL = { ttl_ms: 600_000 };
const REQUEST = { ...TTL, holder: 'a', token: 'chosen-by-the-caller' };

type Asked = {
  readonly ok: boolean;
  readonly lease_seq?: number;
  readonly leases?: readonly { lease_seq: number }[];
};

type Way = (lh: Leasehold, gone: AbortController, which: number) => Promise<Asked>;

const WAYS: Readonly<Record<string, Way>> = {
  'a name': (lh, gone) => lh.call('lease.acquire', { ...REQUEST, name: 'n' }, gone),
  'a name that is waited for': (lh, gone) =>
    lh.call('lease.acquire', { ...REQUEST, name: 'n', wait_ms: 100_000 }, gone),
  'a name that is renewed': (lh, gone, which) =>
    which % 2 === 0
      ? lh.call('lease.acquire', { ...REQUEST, name: 'n' }, gone)
      : lh.call('lease.renew', { ...REQUEST, name: 'n' }, gone),
  'several names': (lh, gone) => lh.call('lease.acquire_all', { ...REQUEST, names: ['n', 'm'] }, gone),
  'a task': (lh, gone) => lh.call('task.lease', { ...TTL, worker_id: 'w', request_id: 'r' }, gone),
};

const STEPS = ['ask', 'go away', 'hold', 'let go', 'hold reads', 'read', 'write', 'settle'] as const;
/** Mostly calls, and callers that go. */
const step = fc.tuple(
  fc.constantFrom(...STEPS, 'ask', 'ask', 'go away', 'go away', 'let go', 'settle'),
  fc.nat(9),
);

class Story {
  readonly told: number[] = [];
  readonly #world = new ManualWorld();
  readonly #engine = new HeldEngine(memoryEngine(new MemoryDisk()));
  readonly #callers: AbortController[] = [];
  #lh!: Leasehold;

  async open(): Promise<void> {
    this.#lh = await this.#world.finish(openWith(this.#engine, this.#world));
    await this.#world.finish(this.#lh.call('task.create', { payload: 1 }));
  }

  async play(way: string, [what, which]: readonly [(typeof STEPS)[number], number]): Promise<void> {
    const engine = this.#engine;
    if (what === 'ask') this.#ask(way, which);
    else if (what === 'go away') this.#callers[which % this.#callers.length]?.abort(new Error('gone'));
    else if (what === 'hold') engine.holding = true;
    else if (what === 'let go') engine.letGo();
    else if (what === 'hold reads') engine.isHoldingReads = true;
    else if (what === 'read') engine.isHoldingReads = false;
    else if (what === 'write')
      this.#lh.call('task.create', { payload: 2, queue: 'other' }).catch(() => undefined);
    else await this.#world.settle();
  }

  #ask(way: string, which: number): void {
    const gone = new AbortController();
    this.#callers.push(gone);
    WAYS[way]!(this.#lh, gone, which).then(
      ({ lease_seq, leases }) => {
        const seq = lease_seq ?? leases?.[0]?.lease_seq;
        if (seq !== undefined) this.told.push(seq);
      },
      () => undefined,
    );
  }

  /** The number of the lease that is held when all has come to rest; null for none. */
  async held(way: string): Promise<number | null> {
    const engine = this.#engine;
    engine.holding = false;
    engine.isHoldingReads = false;
    while (engine.waiting > 0) {
      engine.letGo();
      await this.#world.settle();
    }
    await this.#world.settle();
    const entries = await this.#world.finish(transportOf(this.#lh).log({ limit: 1_000 }));
    if (!entries.ok) throw new Error(entries.detail);
    const [grant, release] =
      way === 'a task' ? ['LeaseGranted', 'TaskReleased'] : ['NameLeased', 'NameReleased'];
    const last = entries.entries.findLast(({ type }) => type === grant || type === release);
    return last?.type === grant ? last.seq : null;
  }
}

describe.each(Object.keys(WAYS))('%s that is asked for any number of times', (way) => {
  it('is held by the caller that got the reply, and by no other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const story = new Story();
        await story.open();
        for (const each of [['hold', 0], ...steps] as const) await story.play(way, each);
        const held = await story.held(way);
        const isTold = story.told.length > 0;
        return isTold ? story.told.every((seq) => seq === held) : held === null;
      }),
      { seed: SEED, numRuns: 400 },
    );
  });
});

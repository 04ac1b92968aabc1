// Followers and readers who want some entries only: they get those, share their bytes, and cost the others nothing.
import { beforeEach, describe, expect, it } from 'vitest';
import { bytesInUse } from '../../test/support/collect-garbage.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { TestResponse } from '../../test/support/test-response.ts';
import type { Authority } from '../authority/authority.ts';
import { seqOfSessionId } from '../core/ids.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { openCore } from '../open.ts';
import type { CheckedCalls } from '../operations/calls.ts';
import { FollowHub } from './follow-hub.ts';
import { type LineFilter, onlySession, onlyTypes } from './follow-slices.ts';
import { LongReads } from './long-reads.ts';
import { streamLog } from './stream-log.ts';

let world: ManualWorld;
let authority: Authority;
let calls: CheckedCalls;
let hub: FollowHub;
let reads: LongReads;

beforeEach(async () => {
  world = new ManualWorld();
  ({ authority, calls } = await world.finish(openCore(memoryEngine(), world)));
  reads = new LongReads(world.timers);
  hub = new FollowHub(authority, world.timers, reads);
});

const run = (operation: keyof CheckedCalls, request: object) => world.finish(calls[operation](request));
const tip = (): number => authority.log.position.lastSeq + 1;

async function created(count: number, payload: unknown = 1): Promise<void> {
  await world.finish(Promise.all(Array.from({ length: count }, () => calls['task.create']({ payload }))));
}

function follow(filter: LineFilter | null, fromSeq = tip(), more: { linesMax?: number } = {}): TestResponse {
  const response = new TestResponse(() => world.monotonicMs);
  hub.attach(response, { format: 'ndjson', fromSeq, filter, ...more });
  return response;
}

const pauses = onlyTypes(['QueuePaused']);

describe('a follower that wants some types', () => {
  it('is written nothing for all the others, and is at the tip nevertheless', async () => {
    const response = follow(pauses);
    await created(100);
    await world.advance(1_000);
    expect(response.writes).toEqual([]);
    await run('queue.pause', { queue: 'q' });
    await world.advance(50);
    expect(response.seqs).toEqual([tip() - 1]);
  });

  it('is sent the same bytes as all who want the same, and the others theirs', async () => {
    const [first, second, all] = [follow(pauses), follow(onlyTypes(['QueuePaused'])), follow(null)];
    const other = follow(null);
    await world.finish(
      Promise.all([calls['queue.pause']({ queue: 'q' }), calls['task.create']({ payload: 1 })]),
    );
    await world.advance(50);
    expect(first.writes[0]!.bytes).toBe(second.writes[0]!.bytes);
    expect(all.writes[0]!.bytes).toBe(other.writes[0]!.bytes);
    expect(all.seqs).toHaveLength(2);
  });

  it('is given as many of them as it asked for, and the others do not count', async () => {
    await run('queue.pause', { queue: 'a' });
    const response = follow(pauses, 1, { linesMax: 3 });
    for (const queue of ['b', 'c', 'd']) {
      await created(3);
      await run('queue.pause', { queue });
    }
    await world.advance(50);
    expect(response.entries.map(({ queue }) => queue)).toEqual(['a', 'b', 'c']);
    expect([response.ended, hub.size]).toEqual([true, 0]);
  });

  it('catches up through what it does not want', async () => {
    await run('queue.pause', { queue: 'a' });
    await created(10_000);
    await run('queue.pause', { queue: 'b' });
    const response = follow(pauses, 1);
    await world.advance(50);
    expect(response.seqs).toEqual([2, tip() - 1]);
    await run('queue.pause', { queue: 'c' });
    await world.advance(50);
    expect(response.seqs).toEqual([2, tip() - 2, tip() - 1]);
  });

  it('that takes nothing keeps nothing of the others in memory, and is sent its own once it reads again', async () => {
    const response = follow(pauses);
    await world.settle();
    response.stalled = true;
    await run('queue.pause', { queue: 'a' });
    await world.advance(50);
    for (let batch = 0; batch < 5; batch++) {
      await created(10, 'x'.repeat(200_000));
      await world.advance(50);
    }
    await run('queue.pause', { queue: 'b' });
    await world.advance(50);
    expect([response.seqs, hub.cuts]).toEqual([[2], 0]);
    response.stalled = false;
    response.drain();
    await world.advance(50);
    expect(response.seqs).toEqual([2, 53]);
    await run('queue.pause', { queue: 'c' });
    await world.advance(50);
    expect(response.seqs).toEqual([2, 53, 54]);
  });

  it('has no copy of its own of what it does not take, however many want different ones', async () => {
    const others = ['TaskDead', 'TaskFailed', 'TaskCompleted', 'LeaseGranted', 'NameLeased'];
    const filters = Array.from({ length: 2 ** others.length }, (_, bits) =>
      onlyTypes(['TaskCreated', ...others.filter((_, place) => bits & (1 << place))]),
    );
    const responses = filters.map((filter) => follow(filter));
    await world.settle();
    for (const response of responses) response.stalled = true;
    await created(1);
    await world.advance(50);
    const before = bytesInUse();
    await created(20, 'x'.repeat(200_000));
    await world.advance(50);
    expect(bytesInUse() - before).toBeLessThan(30_000_000);
    expect(hub.size).toBe(filters.length);
  });

  it('is sent heartbeats while nothing comes', async () => {
    const response = follow(pauses);
    await world.advance(15_000);
    expect(response.text).toBe(' ');
  });
});

describe('a follower of a session', () => {
  const accept = async (serviceRef: string): Promise<string> => {
    const body = await run('intent.accept', { type: 'live', serviceRef, profileID: 'p' });
    return (body as { session_id: string }).session_id;
  };
  const life = (id: string) => onlySession(seqOfSessionId(id));

  it('is sent no other, and its stream ends with the end', async () => {
    const id = await accept('a');
    const response = follow(life(id), 1);
    const other = await accept('b');
    await run('session.stop', { session_id: other });
    await world.advance(50);
    expect([response.seqs, response.ended]).toEqual([[2], false]);
    await run('session.stop', { session_id: id });
    await world.advance(50);
    expect(response.ended).toBe(true);
    expect(response.seqs).toHaveLength(2);
    expect(hub.size).toBe(0);
  });

  it('that comes late is told everything and its stream ends, and the others continue', async () => {
    const id = await accept('a');
    await run('session.stop', { session_id: id });
    const all = follow(null);
    const response = follow(life(id), 1);
    await world.advance(50);
    expect([response.seqs.length, response.ended, hub.size]).toEqual([2, true, 1]);
    await created(1);
    await world.advance(50);
    expect([all.seqs, all.ended]).toEqual([[tip() - 1], false]);
  });
});

describe('a part of the log with some types', () => {
  it('is found however far apart its entries are, and its limit counts them alone', async () => {
    for (const queue of ['a', 'b', 'c']) {
      await created(5_000);
      await run('queue.pause', { queue });
    }
    const read = async (from: number, limit: number): Promise<TestResponse> => {
      const response = new TestResponse();
      await world.finish(streamLog(response, authority, { from, limit, filter: pauses }, reads));
      expect(response.ended).toBe(true);
      return response;
    };
    expect((await read(1, 2)).seqs).toEqual([5_002, 10_003]);
    expect((await read(5_003, 100)).seqs).toEqual([10_003, 15_004]);
    expect((await read(15_005, 1)).text).toBe('');
  });

  it('has no more of them than asked for, if they lie close together', async () => {
    for (const queue of ['a', 'b', 'c', 'd']) await run('queue.pause', { queue });
    const response = new TestResponse();
    await world.finish(streamLog(response, authority, { from: 1, limit: 3, filter: pauses }, reads));
    expect(response.entries.map(({ queue }) => queue)).toEqual(['a', 'b', 'c']);
  });

  it('lets others have their turn after every slice, also while it finds nothing, however many read', async () => {
    await created(10_000);
    const turns: (() => void)[] = [];
    const inTurns = new LongReads({ soon: (call) => void turns.push(call) });
    const part = { from: 1, limit: Number.POSITIVE_INFINITY };
    const responses = [new TestResponse(), new TestResponse(), new TestResponse()];
    const filters = [null, null, pauses];
    const written = responses.map((response, index) =>
      streamLog(response, authority, { ...part, filter: filters[index]! }, inTurns),
    );
    let slices = 0;
    for (; responses.some(({ ended }) => !ended) && slices < 100; slices++) {
      await world.settle();
      // At most two of them have read a slice, and they do not continue before everything else has had a turn.
      expect(turns.length).toBeLessThanOrEqual(2);
      turns.shift()!();
    }
    await world.finish(Promise.all(written));
    expect(slices).toBeGreaterThan(2 * (10_000 / 512));
  });
});

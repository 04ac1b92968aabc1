// Following the log: what is sent, when, to whom, and what becomes of those who do not keep up.
import { beforeEach, describe, expect, it } from 'vitest';
import { bytesInUse } from '../../test/support/collect-garbage.ts';
import { HeldEngine } from '../../test/support/held-engine.ts';
import { inlineThreads } from '../../test/support/inline-threads.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { diskError, TestDisk } from '../../test/support/test-disk.ts';
import { TestResponse } from '../../test/support/test-response.ts';
import type { Authority } from '../authority/authority.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import type { Engine } from '../engines/log.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { openCore } from '../open.ts';
import type { CheckedCalls } from '../operations/calls.ts';
import { Json } from '../protocol/json.ts';
import { FollowHub } from './follow-hub.ts';
import { type FollowFormat, onlyTypes } from './follow-slices.ts';
import { LongReads } from './long-reads.ts';
import { streamLog } from './stream-log.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const BEAT_MS = 15_000;

let world: ManualWorld;
let engine: HeldEngine;
let authority: Authority;
let calls: CheckedCalls;
let hub: FollowHub;
let reads: LongReads;
let faults: unknown[];

async function openOn(below: Engine): Promise<void> {
  world = new ManualWorld();
  faults = [];
  ({ authority, calls } = await world.finish(openCore(below, world)));
  reads = new LongReads(world.timers);
  hub = new FollowHub(authority, world.timers, reads, (fault) => faults.push(fault));
}

beforeEach(async () => {
  engine = new HeldEngine(memoryEngine());
  await openOn(engine);
});

const tip = (): number => authority.log.position.lastSeq + 1;
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

function follow(fromSeq = tip(), format: FollowFormat = 'ndjson', stalled = false): TestResponse {
  const response = new TestResponse(() => world.monotonicMs);
  response.stalled = stalled;
  hub.attach(response, { format, fromSeq });
  return response;
}

/** One entry each, without waiting for anything. */
function create(payload: unknown = 1): Promise<unknown> {
  return calls['task.create']({ payload });
}

async function created(count: number, payload: unknown = 1): Promise<void> {
  await world.finish(Promise.all(Array.from({ length: count }, () => create(payload))));
}

/** For what happens beside the loop, such as compaction, in its own time. */
async function until(happened: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000_000 && !happened(); turn++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

describe('a follower at the tip', () => {
  it('is sent each entry as a line of JSON, with the opaque bytes as they came', async () => {
    const response = follow();
    await created(1, new Json('{"b":1.0,"a":12345678901234567890}'));
    await world.settle();
    const [line, rest] = response.text.split('\n');
    expect(line).toContain('"payload":{"b":1.0,"a":12345678901234567890}');
    expect(JSON.parse(line!)).toMatchObject({ seq: 2, type: 'TaskCreated', at: '2026-01-01T00:00:00.000Z' });
    expect(rest).toBe('');
  });

  it('is sent events with the position as id, the type, and the entry', async () => {
    const [lines, events] = [follow(), follow(tip(), 'sse')];
    await world.finish(calls['queue.pause']({ queue: 'q' }));
    await world.finish(calls['queue.resume']({ queue: 'q' }));
    await world.advance(50);
    expect(lines.text).toBe(
      '{"seq":2,"at":"2026-01-01T00:00:00.000Z","type":"QueuePaused","queue":"q"}\n' +
        '{"seq":3,"at":"2026-01-01T00:00:00.000Z","type":"QueueResumed","queue":"q"}\n',
    );
    expect(events.text).toBe(
      'id: 2\nevent: QueuePaused\ndata: {"seq":2,"at":"2026-01-01T00:00:00.000Z","type":"QueuePaused","queue":"q"}\n\n' +
        'id: 3\nevent: QueueResumed\ndata: {"seq":3,"at":"2026-01-01T00:00:00.000Z","type":"QueueResumed","queue":"q"}\n\n',
    );
  });

  it.each(['ndjson', 'sse'] as const)('finds no line break inside an entry of %s', async (format) => {
    const response = follow(tip(), format);
    await created(1, new Json('{\r\n  "text": "a\\nb",\n  "n": [\r1]\n}'));
    await world.settle();
    expect(response.text).toContain('"payload":{    "text": "a\\nb",   "n": [ 1] }');
    expect(response.text.trimEnd().split('\n')).toHaveLength(format === 'sse' ? 3 : 1);
  });

  it('is sent what is durable before a server that stops ends its stream', async () => {
    const response = follow();
    await created(1);
    await world.settle();
    // In the pause after the first flush, which would hold it back.
    await created(1);
    await world.finish(hub.settle());
    hub.close();
    expect(response.text.match(/"seq":\d+/g)).toEqual(['"seq":2', '"seq":3']);
    expect(response.ended).toBe(true);
  });

  it('is sent it as well when the server begins to stop in the middle of a delivery', async () => {
    const responses = Array.from({ length: 200 }, () => follow());
    const [first] = responses;
    const write = first!.write.bind(first);
    let stopped: Promise<void> | null = null;
    first!.write = (bytes) => {
      stopped ??= hub.settle().then(() => hub.close());
      return write(bytes);
    };
    await created(1);
    await world.settle();
    await world.finish(stopped!);
    for (const { seqs, ended } of responses) expect([seqs, ended]).toEqual([[2], true]);
  });

  it('is sent nothing before it is durable', async () => {
    const response = follow();
    engine.holding = true;
    const call = create();
    await world.advance(1_000);
    expect(response.writes).toEqual([]);
    engine.letGo();
    await world.finish(call);
    await world.settle();
    expect(response.seqs).toEqual([2]);
  });

  it('is sent the batch that was on its way to the disk when it came, even if nothing follows', async () => {
    engine.holding = true;
    const call = create();
    await world.settle();
    const response = follow();
    engine.letGo();
    await world.finish(call);
    await world.settle();
    expect(response.seqs).toEqual([2]);
  });

  it('is sent a lone entry at once, and many at most 20 times a second', async () => {
    const response = follow();
    await created(1);
    await world.settle();
    expect(response.writes.map(({ atMs }) => atMs)).toEqual([world.monotonicMs]);
    const fromMs = world.monotonicMs;
    for (let step = 0; step < 200; step++) {
      await created(1);
      await world.advance(5);
    }
    const times = response.writes.map(({ atMs }) => atMs - fromMs);
    expect(times).toEqual(Array.from({ length: 21 }, (_, index) => 50 * index));
    await world.advance(50);
    expect(response.seqs).toEqual(range(2, tip()));
    // The time was quiet for long enough: the next one leaves at once again.
    await world.advance(50);
    await created(1);
    await world.settle();
    expect(response.writes.at(-1)!.atMs).toBe(world.monotonicMs);
    expect(response.seqs.at(-1)).toBe(tip() - 1);
  });

  it('waits for the position it asked for, if that is still to come', async () => {
    const response = follow(tip() + 2);
    await created(5);
    await world.advance(50);
    expect(response.seqs).toEqual([4, 5, 6]);
  });

  it('shares its bytes with all others of its format', async () => {
    const lines = [follow(), follow(), follow()];
    const events = [follow(tip(), 'sse'), follow(tip(), 'sse')];
    await created(3);
    await world.settle();
    for (const group of [lines, events]) {
      const [first, ...others] = group.map(({ writes }) => writes[0]!.bytes);
      for (const other of others) expect(other).toBe(first);
    }
  });

  it('is sent a flood in pieces of a few megabytes', async () => {
    const response = follow();
    await created(30, 'x'.repeat(200 * KIB));
    await world.settle();
    expect(response.writes.map(({ bytes }) => bytes.length < 5 * MIB)).toEqual([true]);
    await world.advance(50);
    expect(response.seqs).toEqual(range(2, 32));
  });

  it('is sent the rest of a flood that came in a pause without waiting for anything more to happen', async () => {
    const response = follow();
    await created(1);
    await world.settle();
    // All of it is there before the pause is over, and then nothing else wakes a follower.
    await created(30, 'x'.repeat(200 * KIB));
    await world.advance(50);
    expect(response.seqs.length).toBeLessThan(31);
    await world.advance(50);
    expect(response.seqs).toEqual(range(2, 33));
  });

  it('leaves others as much time as sending takes', async () => {
    const response = new TestResponse(() => {
      world.monotonicMs += 200;
      return world.monotonicMs;
    });
    hub.attach(response, { format: 'ndjson', fromSeq: tip() });
    await created(1);
    await world.settle();
    await created(1);
    await world.advance(199);
    expect(response.writes).toHaveLength(1);
    await world.advance(1);
    expect(response.writes).toHaveLength(2);
  });

  it('is one of two thousand, and none is left out', async () => {
    const responses = Array.from({ length: 2_000 }, () => follow());
    await created(100);
    await world.advance(50);
    for (const response of responses)
      expect(response.writes.at(-1)!.bytes).toBe(responses[0]!.writes.at(-1)!.bytes);
    expect(responses[0]!.seqs).toEqual(range(2, 102));
    expect(hub.size).toBe(2_000);
  });
});

describe('a follower that starts behind', () => {
  it('is sent slices of the log, the next only when the last has been taken, and then joins the others', async () => {
    await created(2_000);
    const response = follow(1, 'ndjson', true);
    await world.advance(1_000);
    expect(response.writes).toHaveLength(1);
    expect(response.seqs).toEqual(range(1, 513));
    await created(10);
    response.drain();
    await world.advance(1_000);
    expect(response.writes).toHaveLength(2);
    response.stalled = false;
    response.drain();
    await created(10);
    await world.advance(50);
    const other = follow();
    await created(1);
    await world.settle();
    expect(response.seqs).toEqual(range(1, tip()));
    expect(response.writes.at(-1)!.bytes).toBe(other.writes[0]!.bytes);
  });

  it('shares what it reads with those who set out from the same place', async () => {
    await created(1_500);
    const [one, two] = [follow(1), follow(1)];
    await world.settle();
    expect(one.writes).toHaveLength(3);
    for (const [index, { bytes }] of one.writes.entries()) expect(two.writes[index]!.bytes).toBe(bytes);
  });

  it('is sent large entries a few at a time', async () => {
    await created(20, 'x'.repeat(100 * KIB));
    const response = follow(1, 'ndjson', true);
    await world.settle();
    expect(response.writableLength).toBeGreaterThan(256 * KIB);
    expect(response.writableLength).toBeLessThan(400 * KIB);
  });

  it('is never cut for being behind, only for not reading', async () => {
    await created(100, 'x'.repeat(200 * KIB));
    const response = follow(1, 'ndjson', true);
    for (let step = 0; step < 120; step++) {
      await created(1, 'x'.repeat(50 * KIB));
      response.drain();
      await world.advance(50);
    }
    expect(response.destroyed).toBe(false);
    expect(response.seqs).toEqual(range(1, tip()));
  });

  it('finds its stream ended when compaction takes away what comes next', async () => {
    const disk = new TestDisk();
    const small = { dir: '/data', files: disk, threads: inlineThreads(disk), segmentBytes: 64 * KIB };
    await openOn(fileEngine({ ...small, compactionBytesMin: Number.POSITIVE_INFINITY }));
    await created(1_000, 'x'.repeat(300));
    await world.finish(authority.close());

    await openOn(fileEngine({ ...small, compactionBytesMin: 64 * KIB }));
    const slow = follow(1, 'ndjson', true);
    const log = new TestResponse();
    log.stalled = true;
    const written = streamLog(log, authority, { from: 1, limit: 5_000 }, reads);
    await world.settle();
    await created(1);
    await world.finish(until(() => authority.stats.compactions > 0));
    expect(authority.log.position.firstSeq).toBeGreaterThan(600);
    const sent = slow.seqs;
    slow.drain();
    log.drain();
    await world.finish(written);
    await world.settle();
    expect(slow.ended).toBe(true);
    expect(slow.seqs).toEqual(sent);
    expect(hub.size).toBe(0);
    // Who asked for a part of the log must not take what it got for all of it.
    expect([log.ended, log.destroyed]).toEqual([false, true]);
  });
});

describe('a follower at the tip whose next entries were compacted away in the pause after a flush', () => {
  it('finds its stream ended, and misses nothing without knowing', async () => {
    const disk = new TestDisk();
    const small = { dir: '/data', files: disk, threads: inlineThreads(disk), segmentBytes: 64 * KIB };
    await openOn(fileEngine({ ...small, compactionBytesMin: 64 * KIB }));
    const response = follow();
    await created(1);
    await world.settle();
    const sent = response.seqs;
    expect(sent).toEqual([2]);
    await created(1_000, 'x'.repeat(300));
    await world.finish(until(() => authority.stats.compactions > 0));
    expect(authority.log.position.firstSeq).toBeGreaterThan(3);
    expect(response.seqs).toEqual(sent);
    await world.advance(50);
    expect(response.ended).toBe(true);
    expect(response.seqs).toEqual(sent);
    expect([hub.size, faults]).toEqual([0, []]);
  });
});

describe('a follower that does not keep up', () => {
  const large = 'x'.repeat(200 * KIB);

  it('is written nothing more until it reads again, and then continues from the log', async () => {
    const [slow, quick] = [follow(), follow()];
    slow.stalled = true;
    for (let step = 0; step < 60; step++) {
      await created(1, large);
      await world.advance(50);
    }
    expect(slow.writes).toHaveLength(1);
    expect(quick.seqs).toEqual(range(2, 62));
    slow.stalled = false;
    slow.drain();
    await world.settle();
    expect(slow.seqs).toEqual(range(2, 62));
    expect([slow.destroyed, hub.cuts]).toEqual([false, 0]);
    await created(1);
    await world.advance(50);
    expect(slow.writes.at(-1)!.bytes).toBe(quick.writes.at(-1)!.bytes);
  });

  it('keeps nothing in memory but what it was sent last', async () => {
    const slow = Array.from({ length: 20 }, () => follow());
    for (const response of slow) response.stalled = true;
    await created(1);
    await world.advance(50);
    const before = bytesInUse();
    for (let step = 0; step < 20; step++) {
      await created(5, { n: large });
      await world.advance(50);
    }
    // What the log itself has in memory.
    const logged = 100 * large.length;
    expect(bytesInUse() - before).toBeLessThan(logged + 8 * MIB);
  });

  it('is not cut for being slow again and again, as long as it takes something in between', async () => {
    const response = follow(tip(), 'ndjson', true);
    for (let i = 0; i < 4; i++) {
      await created(1);
      await world.advance(5 * BEAT_MS);
      response.drain();
      await world.advance(50);
    }
    expect([response.destroyed, hub.cuts]).toEqual([false, 0]);
  });

  it('is cut when it has taken nothing for two minutes', async () => {
    await created(600);
    const [behind, slow, quick] = [follow(1, 'ndjson', true), follow(), follow()];
    slow.stalled = true;
    await created(1);
    await world.advance(7 * BEAT_MS);
    expect(hub.size).toBe(3);
    await world.advance(2 * BEAT_MS);
    expect([behind, slow, quick].map(({ destroyed }) => destroyed)).toEqual([true, true, false]);
  });
});

describe('a quiet stream', () => {
  it('carries a comment every 15 seconds, or for NDJSON a space that belongs to the next line', async () => {
    const [lines, events] = [follow(), follow(tip(), 'sse')];
    await world.advance(BEAT_MS - 1);
    expect([lines.text, events.text]).toEqual(['', '']);
    await world.advance(1);
    expect([lines.text, events.text]).toEqual([' ', ':\n\n']);
    await world.advance(2 * BEAT_MS);
    expect([lines.text, events.text]).toEqual(['   ', ':\n\n:\n\n:\n\n']);
    await world.finish(calls['queue.pause']({ queue: 'q' }));
    await world.advance(50);
    expect(JSON.parse(lines.text)).toMatchObject({ seq: 2, type: 'QueuePaused' });
  });
});

describe('a stream that reads through much for little', () => {
  it('carries them too, long before it has come to the tip', async () => {
    await created(10);
    const entries = authority.log.entries.bind(authority.log);
    // A busy disk: a piece of the log takes its time.
    authority.log.entries = async function* (fromSeq: number, limit: number) {
      await new Promise<void>((resolve) => void world.timers.after(4 * BEAT_MS, resolve));
      yield* entries(fromSeq, limit);
    };
    const response = new TestResponse(() => world.monotonicMs);
    hub.attach(response, { format: 'ndjson', fromSeq: 1, filter: onlyTypes(['QueuePaused']) });
    await world.advance(3 * BEAT_MS);
    expect(response.text).toBe('   ');
  });
});

describe('a quiet stream after many others', () => {
  it('carries one beat at a time, however often all followers have left before', async () => {
    for (let i = 0; i < 5; i++) {
      const gone = follow();
      await world.advance(1_000);
      gone.destroy();
    }
    const response = follow();
    await world.advance(2 * BEAT_MS);
    expect(response.text).toBe('  ');
  });
});

describe('the end of a stream', () => {
  it('is clean when the hub closes, for all followers, and at once for later ones', async () => {
    await created(600);
    const responses = [follow(), follow(tip(), 'sse'), follow(1, 'ndjson', true)];
    await world.settle();
    hub.close();
    const late = follow();
    expect([...responses, late].map(({ ended }) => ended)).toEqual([true, true, true, true]);
    expect(hub.size).toBe(0);
    await created(1);
    await world.advance(2 * BEAT_MS);
    expect(faults).toEqual([]);
  });

  it('comes with the end of the authority', async () => {
    const response = follow();
    await world.finish(authority.close());
    expect(response.ended).toBe(true);
  });

  it('comes at once when the follower goes away, or is detached', async () => {
    const slow = follow();
    slow.stalled = true;
    await created(1);
    await world.advance(50);
    await created(1);
    await world.advance(50);
    slow.destroy();
    expect(hub.size).toBe(0);

    const gone = follow();
    const kept = new TestResponse();
    const detach = hub.attach(kept, { format: 'sse', fromSeq: tip() });
    gone.destroy();
    detach();
    expect(hub.size).toBe(0);
    await created(1);
    await world.advance(BEAT_MS);
    expect([gone.writes, kept.writes]).toEqual([[], []]);
    expect([kept.ended, kept.destroyed]).toEqual([false, false]);
    // A connection that was closed before it got here is not waited for.
    hub.attach(gone, { format: 'ndjson', fromSeq: 1 });
    expect(hub.size).toBe(0);
  });

  it('is a cut, and a fault is told, when the log cannot be read', async () => {
    const disk = new TestDisk();
    await openOn(fileEngine({ dir: '/data', files: disk, segmentBytes: 64 * KIB }));
    await created(600);
    const [behind, present] = [follow(1, 'ndjson', true), follow()];
    await world.settle();
    disk.gate = ({ name }) => {
      if (name === 'read') throw diskError('EIO');
    };
    behind.drain();
    await world.settle();
    expect([behind.destroyed, present.destroyed]).toEqual([true, false]);
    await created(1);
    await world.settle();
    expect(present.destroyed).toBe(true);
    expect(faults).toMatchObject([{ code: 'EIO' }, { code: 'EIO' }]);
    disk.gate = () => undefined;
    const again = follow(tip() - 1);
    await created(1);
    await world.advance(50);
    expect(again.seqs).toEqual([tip() - 2, tip() - 1]);
  });
});

describe('every follower', () => {
  it('is sent every entry from where it began, in order and once, however its connection behaves', async () => {
    // A small generator of its own, so that a failure names the seed and nothing else.
    for (let seed = 1; seed <= 12; seed++) {
      await openOn(memoryEngine());
      let random = seed;
      const upTo = (max: number): number => {
        random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
        return Math.floor((random / 2 ** 31) * max);
      };
      const followers: { response: TestResponse; fromSeq: number }[] = [];
      for (let step = 0; step < 100; step++) {
        const some = followers[upTo(followers.length)];
        switch (upTo(6)) {
          case 0: {
            const fromSeq = 1 + upTo(tip() + 1);
            followers.push({ response: follow(fromSeq, 'ndjson', upTo(2) === 0), fromSeq });
            break;
          }
          case 1:
          case 2:
            await created(1 + upTo(100));
            break;
          case 3:
            if (some !== undefined) some.response.stalled = !some.response.stalled;
            break;
          case 4:
            if (some !== undefined) some.response.drain();
            break;
          default:
            await world.advance(upTo(80));
        }
      }
      for (const { response } of followers) {
        response.stalled = false;
        response.drain();
      }
      await world.advance(1_000);
      for (const { response, fromSeq } of followers) {
        expect(response.destroyed, `seed ${seed}`).toBe(false);
        expect(response.seqs, `seed ${seed}`).toEqual(range(fromSeq, Math.max(fromSeq, tip())));
      }
    }
  });
});

describe('a part of the log', () => {
  it('is written from where it was asked for, no more than was asked for, and ended', async () => {
    await created(2_000);
    const response = new TestResponse();
    await world.finish(streamLog(response, authority, { from: 3, limit: 1_000 }, reads));
    expect(response.seqs).toEqual(range(3, 1_003));
    expect(response.ended).toBe(true);
    const rest = new TestResponse();
    await world.finish(streamLog(rest, authority, { from: 1_003, limit: 5_000 }, reads));
    expect(rest.seqs).toEqual(range(1_003, 2_002));
    const nothing = new TestResponse();
    await world.finish(streamLog(nothing, authority, { from: tip(), limit: 1 }, reads));
    expect([nothing.text, nothing.ended]).toEqual(['', true]);
  });

  it('waits for its reader, and stops when that has gone', async () => {
    await created(2_000);
    const response = new TestResponse();
    response.stalled = true;
    const written = streamLog(response, authority, { from: 1, limit: 2_000 }, reads);
    await world.settle();
    expect(response.writes).toHaveLength(1);
    response.drain();
    await world.settle();
    expect(response.writes).toHaveLength(2);
    response.destroy();
    await world.finish(written);
    expect(response.writes).toHaveLength(2);
    expect(response.ended).toBe(false);
  });
});

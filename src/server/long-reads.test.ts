// Reads with long answers: a few of a kind at a time, while there is room for their answers; who takes nothing is cut.
import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { GoneError } from './long-polls.ts';
import { LongReads, type ReadKind } from './long-reads.ts';

const STALL_MS = 60_000;
const PRESSED_STALL_MS = 10_000;
const UNSENT_MAX = 1_000;

let world: ManualWorld;
let reads: LongReads;
let begun: string[];
let finish: Map<string, (fault?: Error) => void>;

beforeEach(() => {
  world = new ManualWorld();
  reads = new LongReads(world.timers, STALL_MS, UNSENT_MAX);
  [begun, finish] = [[], new Map()];
});

/** Asks under a name; the answer comes when the test says so. */
function ask(name: string, kind: ReadKind = 'list'): Promise<void> {
  return reads.inTurn(kind, () => {
    begun.push(name);
    return new Promise<void>((resolve, reject) => {
      finish.set(name, (fault) => (fault === undefined ? resolve() : reject(fault)));
    });
  });
}

/** A connection that takes its answer when the test says so. */
class Peer extends EventEmitter {
  destroyed = false;
  readonly limits: number[] = [];

  setTimeout(ms: number): void {
    this.limits.push(ms);
  }

  cut(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function sending(bytes: number): Peer {
  const peer = new Peer();
  reads.sending(peer, bytes);
  return peer;
}

describe('long reads', () => {
  it('are made two at a time, in the order in which they were asked for', async () => {
    const asked = ['a', 'b', 'c', 'd'].map((name) => ask(name));
    await world.settle();
    expect(begun).toEqual(['a', 'b']);
    finish.get('b')!();
    await world.settle();
    expect(begun).toEqual(['a', 'b', 'c']);
    for (const name of ['a', 'c']) finish.get(name)!();
    await world.settle();
    finish.get('d')!();
    await world.finish(Promise.all(asked));
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
  });

  it('stay two at a time, however many have waited', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const asked = names.map((name) => ask(name));
    for (const [done, name] of names.entries()) {
      await world.settle();
      expect(begun.length - done).toBeLessThanOrEqual(2);
      finish.get(name)!();
    }
    await world.finish(Promise.all(asked));
    await world.settle();
    for (const name of ['g', 'h', 'i']) void ask(name);
    await world.settle();
    expect(begun).toEqual([...names, 'g', 'h']);
  });

  it('of one kind do not wait for those of another', async () => {
    const asked = ['a', 'b', 'c'].map((name) => ask(name, 'history'));
    asked.push(ask('list'), ask('slice', 'slice'));
    await world.settle();
    expect(begun).toEqual(['a', 'b', 'list', 'slice']);
    for (const name of begun) finish.get(name)!();
    await world.settle();
    finish.get('c')!();
    await world.finish(Promise.all(asked));
  });

  it('make room for others when they fail', async () => {
    const asked = [ask('a'), ask('b'), ask('c')];
    const failed = asked[0]!.catch((fault: Error) => fault.message);
    await world.settle();
    finish.get('a')!(new Error('no disk'));
    expect(await world.finish(failed)).toBe('no disk');
    await world.settle();
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('begin only while there is room for what is unsent', async () => {
    const peers = [sending(600), sending(600)];
    const kinds: ReadKind[] = ['list', 'history', 'payload', 'slice'];
    for (const kind of kinds) void ask(kind, kind);
    await world.settle();
    expect(begun).toEqual([]);
    peers[0]!.emit('drain');
    await world.settle();
    expect(begun).toEqual(kinds);
  });

  it.each(['drain', 'finish', 'close'])('count an answer until it is sent, once: %s', async (event) => {
    const peer = sending(UNSENT_MAX);
    peer.emit(event);
    for (const again of ['drain', 'finish', 'close']) peer.emit(again);
    const other = sending(UNSENT_MAX);
    void ask('a');
    await world.settle();
    expect(begun).toEqual([]);
    other.emit('finish');
    await world.settle();
    expect(begun).toEqual(['a']);
  });
});

describe('who takes nothing of a long answer', () => {
  it('has a limit until it is sent', () => {
    const [taken, cut] = [sending(10), sending(10)];
    taken.emit('finish');
    cut.cut();
    expect([taken.limits, cut.limits]).toEqual([[STALL_MS, 0], [STALL_MS]]);
  });

  it('has a shorter one, which starts once, while others wait for its room', async () => {
    const peer = sending(UNSENT_MAX);
    for (const name of ['a', 'b', 'c', 'd']) void ask(name);
    await world.settle();
    expect(peer.limits).toEqual([STALL_MS, PRESSED_STALL_MS]);
    peer.cut();
    await world.settle();
    expect(begun).toEqual(['a', 'b']);
  });
});

describe('a read of one record', () => {
  const LONG = 255 * 1024;

  it('is made at once when it is short, whatever is unsent', () => {
    sending(UNSENT_MAX);
    expect(reads.largeRead(() => false).for(1_000)).toBeNull();
  });

  it('waits for its turn and for room when it is long, and keeps it until it is answered', async () => {
    const peer = sending(UNSENT_MAX);
    const large = [1, 2, 3].map(() => reads.largeRead(() => false));
    const entered: number[] = [];
    for (const [n, read] of large.entries()) void read.for(LONG)!.then(() => entered.push(n));
    await world.settle();
    expect(entered).toEqual([]);
    peer.emit('finish');
    await world.settle();
    expect(entered).toEqual([0, 1]);
    // A second look, because a compaction moved the bytes, takes no second turn.
    expect(large[0]!.for(LONG)).toBeNull();
    large[0]!.end();
    await world.settle();
    expect(entered).toEqual([0, 1, 2]);
  });

  it('is not made for a client that has gone meanwhile, and lets the next one in', async () => {
    const gone = reads.largeRead(() => true);
    const entered = gone.for(LONG)!.catch((fault: unknown) => fault);
    expect(await world.finish(entered)).toBeInstanceOf(GoneError);
    gone.end();
    for (const name of ['a', 'b']) void ask(name, 'payload');
    await world.settle();
    expect(begun).toEqual(['a', 'b']);
  });
});

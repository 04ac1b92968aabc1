// Reads with long answers: a few at a time, for those who are there, while there is room for their answers.
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { Refusal } from '../core/refusals.ts';
import type { Operation } from '../protocol/routes.ts';
import type { Exchange } from './exchange.ts';
import { LongReads } from './long-reads.ts';

let world: ManualWorld;
let reads: LongReads;
let begun: string[];
let refused: string[];
let finish: Map<string, (fault?: Error) => void>;

beforeEach(() => {
  world = new ManualWorld();
  reads = new LongReads(world.timers, 1_000);
  [begun, refused, finish] = [[], [], new Map()];
});

/** Asks under a name; the answer comes when the test says so. */
function ask(name: string, operation: Operation = 'task.list', isGone = () => false): Promise<void> {
  const refuse = ({ refused: code }: Refusal): number => refused.push(`${name} ${code}`);
  return reads.inTurn(operation, { isGone, refuse } as unknown as Exchange, () => {
    begun.push(name);
    return new Promise((resolve, reject) => {
      finish.set(name, (fault) => (fault === undefined ? resolve() : reject(fault)));
    });
  });
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

  it('of lists do not wait for histories', async () => {
    const asked = ['a', 'b', 'c'].map((name) => ask(name, 'lease.history'));
    asked.push(ask('list'));
    await world.settle();
    expect(begun).toEqual(['a', 'b', 'list']);
    for (const name of ['a', 'b', 'list']) finish.get(name)!();
    await world.settle();
    finish.get('c')!();
    await world.finish(Promise.all(asked));
  });

  it('are not made for who has gone, and one that fails makes room as well', async () => {
    let isGone = false;
    const asked = [ask('a'), ask('b'), ask('gone', 'task.list', () => isGone), ask('d')];
    const failed = asked[0]!.catch((fault: Error) => fault.message);
    await world.settle();
    isGone = true;
    finish.get('a')!(new Error('no disk'));
    expect(await world.finish(failed)).toBe('no disk');
    await world.settle();
    expect(begun).toEqual(['a', 'b', 'd']);
  });

  it('are refused while too much that was asked for lies there and is not taken', async () => {
    const response = new EventEmitter() as unknown as ServerResponse;
    reads.sending({ response }, 1_000);
    await world.finish(ask('a'));
    expect([begun, refused]).toEqual([[], ['a OVERLOADED']]);
    const operations: Operation[] = ['task.list', 'task.get', 'status.get', 'task.create', 'task.lease'];
    expect(operations.filter((operation) => reads.refuses(operation))).toEqual(['task.list', 'task.get']);
    response.emit('close');
    void ask('b');
    await world.settle();
    expect(begun).toEqual(['b']);
  });
});

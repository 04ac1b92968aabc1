// In which order calls are decided, and what those take up who wait in lines.
import { describe, expect, it } from 'vitest';
import type { AcquireNames, Command } from '../core/commands.ts';
import { PLAIN, Request, type Sink, URGENT } from './request.ts';
import { RequestQueue } from './request-queue.ts';

describe('calls that wait in lines', () => {
  it('count with every line they stand in, however short the names are', () => {
    const queue = new RequestQueue();
    const names = Array.from({ length: 1_000 }, (_, index) => index.toString(36));
    const command = { type: 'AcquireNames', names, metadata: null, waitMs: 1_000 } as unknown as AcquireNames;
    let kept = 0;
    for (; kept < 5_000; kept++) {
      if (!queue.offer(new Request(command, null, null, PLAIN))) break;
      queue.holdBytes(queue.take(false)!);
    }
    // A place in a line takes some 250 bytes, so that these are a million places in 256 MiB.
    expect(kept).toBeLessThan(1_100);
    expect(kept).toBeGreaterThan(900);
  });
});

describe('calls that wait to be decided', () => {
  const sink = (): Sink => ({ room: 0, hasOrdinary: false, settle() {}, fail() {} });
  const create = { type: 'CreateTask', payload: new Uint8Array() } as unknown as Command;
  const renew = { type: 'RenewName' } as unknown as Command;

  /** The names of the calls, in the order they are taken. */
  function taken(
    urgentFirst: boolean,
    calls: Readonly<Record<string, readonly [Command | null, Sink | null]>>,
  ): string {
    const queue = new RequestQueue();
    for (const [name, [command, to]] of Object.entries(calls)) {
      const handling = command === renew ? URGENT : PLAIN;
      queue.offer(new Request(command, null, name, handling, to));
    }
    const names: (string | null)[] = [];
    for (let next = queue.take(urgentFirst); next !== undefined; next = queue.take(urgentFirst)) {
      names.push(next.requestId);
    }
    return names.join(' ');
  }

  it('come in the order in which they were made', () => {
    const calls = { a: [create, null], b: [renew, null], c: [create, null], d: [renew, null] } as const;
    expect(taken(false, calls)).toBe('a b c d');
  });

  it('come renewals before the reads ahead of them, and changes in their order', () => {
    const calls = {
      a: [null, null],
      b: [null, null],
      c: [renew, null],
      d: [create, null],
      e: [renew, null],
    } as const;
    expect(taken(true, calls)).toBe('c e a b d');
    expect(taken(false, calls)).toBe('c d e a b');
  });

  it('come renewals first when there is too much, but none passes what stands before it in its batch', () => {
    const [first, second] = [sink(), sink()];
    const calls = {
      a: [create, null],
      b: [renew, first],
      c: [create, first],
      d: [renew, first],
      e: [create, second],
      f: [renew, second],
      g: [renew, null],
    } as const;
    expect(taken(true, calls)).toBe('b g a c d e f');
  });
});

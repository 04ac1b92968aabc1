// The heap that says which lease is due next.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Due, LeaseHeap } from './lease-heap.ts';

const due = (dueMs: number): Due => ({ dueMs, place: -1 });

/** Empties it from the top. */
function drained(heap: LeaseHeap<Due>): number[] {
  const order: number[] = [];
  for (let top = heap.top; top !== undefined; top = heap.top) {
    order.push(top.dueMs);
    heap.remove(top);
  }
  return order;
}

describe('the heap of leases', () => {
  it('gives the earliest first, whatever was put in, moved and taken out before', () => {
    const action = fc.record({
      what: fc.constantFrom('put', 'move', 'remove'),
      which: fc.nat(40),
      dueMs: fc.integer({ min: 0, max: 1_000 }),
    });
    fc.assert(
      fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
        const heap = new LeaseHeap<Due>();
        const inside = new Map<number, Due>();
        for (const { what, which, dueMs } of actions) {
          const known = inside.get(which);
          if (what === 'remove') {
            if (known !== undefined) heap.remove(known);
            inside.delete(which);
          } else {
            const item = known ?? due(dueMs);
            item.dueMs = dueMs;
            heap.put(item);
            inside.set(which, item);
          }
          expect(heap.size).toBe(inside.size);
        }
        const expected = [...inside.values()].map(({ dueMs }) => dueMs).sort((a, b) => a - b);
        expect(drained(heap)).toEqual(expected);
      }),
    );
  });

  it('lets the last one rise that takes the place of one from another branch', () => {
    const heap = new LeaseHeap<Due>();
    // They stay where they are put: the left branch is late, and the last of the right one is earlier than all of it.
    const items = [1, 100, 2, 101, 102, 3, 50, 103, 104, 105, 106, 70, 80, 55, 60].map(due);
    for (const item of items) heap.put(item);
    expect(items.map(({ place }) => place)).toEqual([...items.keys()]);
    heap.remove(items[3]!);
    expect(drained(heap)).toEqual([1, 2, 3, 50, 55, 60, 70, 80, 100, 102, 103, 104, 105, 106]);
  });

  it('does not mind removing what is not in it', () => {
    const heap = new LeaseHeap<Due>();
    const item = due(1);
    heap.remove(item);
    heap.put(item);
    heap.remove(item);
    heap.remove(item);
    expect(heap.top).toBeUndefined();
  });
});

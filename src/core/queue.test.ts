/** A queue against a sorted list. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TaskRow } from './row-types.ts';
import { createState } from './state.ts';

const ROWS = 60;

const { tasks } = createState();
tasks.rows.extend(ROWS);

const changes = fc.array(
  fc.record({
    row: fc.integer({ min: 1, max: ROWS }).map((row) => row as TaskRow),
    priority: fc.constantFrom(-128, -1, 0, 0, 0, 127),
    seq: fc.nat(999),
  }),
  { maxLength: 150 },
);

describe('a queue', () => {
  it('has as next the highest priority, then the first that came, whatever came and went before', () => {
    fc.assert(
      fc.property(changes, (list) => {
        const queue = tasks.openQueue('q');
        const model = new Map<number, { priority: number; seq: number }>();
        for (const { row, priority, seq } of list) {
          const known = model.get(row);
          if (known !== undefined) {
            queue.remove(row, known.priority, 0);
            model.delete(row);
          } else {
            // Positions are unique; the same row may come back with its old one or a new one.
            const createdSeq = seq * ROWS + row;
            tasks.createdSeq.set(row, createdSeq);
            queue.add(row, priority, 0);
            model.set(row, { priority, seq: createdSeq });
          }
          const [first] = [...model].sort(([, a], [, b]) => b.priority - a.priority || a.seq - b.seq);
          expect(queue.next()).toBe(first?.[0] ?? 0);
        }
        expect([...queue.allWithoutKey()].sort((a, b) => a - b)).toEqual(
          [...model.keys()].sort((a, b) => a - b),
        );
        for (const [row, { priority }] of model) queue.remove(row as TaskRow, priority, 0);
      }),
      { seed: 6, numRuns: 300 },
    );
  });

  it('is idle when it has neither tasks nor a pause', () => {
    const queue = tasks.openQueue('another');
    expect(queue.idle).toBe(true);
    queue.paused = true;
    expect(queue.idle).toBe(false);
    queue.paused = false;
    queue.lists.add(1 as TaskRow, 'COMPLETED');
    expect(queue.idle).toBe(false);
  });
});

// A map whose entries come and go: it holds what a `Map` would hold, whatever is set and deleted in whatever order.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChurnMap } from './churn-map.ts';

/** Small keys that collide, neighbours, and positions of a restored log, which are above 2^32. */
const key = fc.oneof(
  fc.integer({ min: 0, max: 40 }),
  fc.integer({ min: 0, max: 5 }).map((times) => 16 * times),
  fc.integer({ min: 0, max: 20 }).map((more) => 2 ** 40 + more),
);
const step = fc.oneof(
  fc.record({ verb: fc.constant('set' as const), key }),
  fc.record({ verb: fc.constant('delete' as const), key }),
);

describe('a map of what comes and goes', () => {
  it('holds what a Map would hold', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const model = new Map<number, object>();
        const map = new ChurnMap<object>();
        for (const { verb, key: at } of steps) {
          if (verb === 'delete') expect(map.delete(at)).toBe(model.delete(at));
          else {
            const value = {};
            model.set(at, value);
            map.set(at, value);
          }
          expect(map.size).toBe(model.size);
          for (const each of [at, at + 1, at + 16]) {
            expect(map.get(each)).toBe(model.get(each));
            expect(map.has(each)).toBe(model.has(each));
          }
        }
        const ordered = [...model].sort(([a], [b]) => a - b);
        expect(map.entries()).toEqual(ordered);
        expect(map.values()).toEqual(ordered.map(([, value]) => value));
        map.clear();
        expect([map.size, map.values()]).toEqual([0, []]);
      }),
    );
  });
});

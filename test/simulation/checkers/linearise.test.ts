// The search for an order, tried on the smallest models there are: a register and a lock. Random histories are judged a
// second time by trying every order, which is too slow for anything but the smallest and too simple to be wrong.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linearise, type Model, type Operation } from './linearise.ts';

type Access =
  | { readonly do: 'write'; readonly value: number }
  | { readonly do: 'read'; readonly saw: number };

const REGISTER: Model<number, Access> = {
  initial: 0,
  step: (value, input) => {
    if (input.do === 'write') return [input.value];
    return input.saw === value ? [value] : [];
  },
  key: String,
};

let made = 0;
const during = (calledAt: number, answeredAt: number, input: Access): Operation<Access> => ({
  id: `op-${++made}`,
  calledAt,
  answeredAt,
  input,
  hint: calledAt,
});
const open = (calledAt: number, input: Access) => during(calledAt, Number.POSITIVE_INFINITY, input);
const write = (value: number): Access => ({ do: 'write', value });
const read = (saw: number): Access => ({ do: 'read', saw });
const judge = (...operations: Operation<Access>[]) => linearise(REGISTER, operations).kind;

describe('the search for an order', () => {
  it('finds none needed for nothing', () => {
    expect(judge()).toBe('linearisable');
  });

  it('accepts operations that follow one another', () => {
    expect(judge(during(1, 2, write(1)), during(3, 4, read(1)))).toBe('linearisable');
  });

  it('refuses a read of what was overwritten before it was called', () => {
    expect(judge(during(1, 2, write(1)), during(3, 4, write(2)), during(5, 6, read(1)))).toBe('impossible');
  });

  it('refuses a read of a value that was never written', () => {
    expect(judge(during(1, 2, read(7)))).toBe('impossible');
  });

  it('lets operations that overlap take effect in either order', () => {
    const both = [during(1, 10, write(1)), during(2, 9, write(2))];
    expect(judge(...both, during(11, 12, read(1)))).toBe('linearisable');
    expect(judge(...both, during(11, 12, read(2)))).toBe('linearisable');
  });

  it('refuses two readers who saw two overlapping writes in opposite orders', () => {
    const both = [during(1, 20, write(1)), during(2, 20, write(2))];
    const one = [during(3, 4, read(1)), during(5, 6, read(2))];
    expect(judge(...both, ...one)).toBe('linearisable');
    expect(judge(...both, ...one, during(7, 8, read(1)))).toBe('impossible');
  });

  it('lets an open call take effect late, or never', () => {
    const early = during(5, 6, read(0));
    expect(judge(open(1, write(1)), early)).toBe('linearisable');
    expect(judge(open(1, write(1)), early, during(7, 8, read(1)))).toBe('linearisable');
  });

  it('does not let an open call take effect before it was made, nor twice', () => {
    expect(judge(during(1, 2, read(1)), open(3, write(1)))).toBe('impossible');
    const between = [during(4, 5, read(1)), during(6, 7, write(2)), during(8, 9, read(2))];
    expect(judge(open(1, write(1)), ...between)).toBe('linearisable');
    expect(judge(open(1, write(1)), ...between, during(10, 11, read(1)))).toBe('impossible');
  });

  it('goes back on a choice that the hints made badly', () => {
    const misled = { ...during(1, 20, write(1)), hint: 99 };
    expect(judge(misled, during(2, 20, write(2)), during(3, 4, read(1)), during(5, 6, read(2)))).toBe(
      'linearisable',
    );
  });

  it('follows every state that an operation may lead to', () => {
    const coin: Model<number, Access> = {
      ...REGISTER,
      step: (value, input) => (input.do === 'write' ? [1, 2] : REGISTER.step(value, input)),
    };
    const thrown = during(1, 2, write(0));
    expect(linearise(coin, [thrown, during(3, 4, read(2))]).kind).toBe('linearisable');
    expect(linearise(coin, [thrown, during(3, 4, read(2)), during(5, 6, read(1))]).kind).toBe('impossible');
  });

  it('shows how far it got and what could not come next', () => {
    const first = during(1, 2, write(1));
    const bad = during(3, 4, read(5));
    const verdict = linearise(REGISTER, [first, bad]);
    expect(verdict).toEqual({ kind: 'impossible', longest: [first], stuck: [bad] });
  });

  it('says that it does not know when it gives up', () => {
    const writes = Array.from({ length: 12 }, (_, index) => during(1, 50, write(index + 1)));
    expect(linearise(REGISTER, [...writes, during(60, 61, read(99))], 100).kind).toBe('unknown');
  });

  it('remembers where it has been, so that a hopeless crowd does not take for ever', () => {
    // Without memory these are 14! orders.
    const writes = Array.from({ length: 14 }, (_, index) => during(1, 50, write(index % 2)));
    expect(linearise(REGISTER, [...writes, during(60, 61, read(99))]).kind).toBe('impossible');
  });

  it('takes ten thousand operations, fifty of them at a time, in one step each', () => {
    const operations = Array.from({ length: 10_000 }, (_, index) =>
      during(index, index + 50 + (index % 7), write(index)),
    );
    const all = [...operations, during(20_000, 20_001, read(9_999))];
    expect(linearise(REGISTER, all, all.length).kind).toBe('linearisable');
  });

  it('looks at each of a crowd that all came at once a few times, and not at all of them for each', () => {
    const count = 3_000;
    let looks = 0;
    const crowd = Array.from({ length: count }, (_, index) => ({
      ...during(1, count + index, write(index)),
      hint: index,
      get calledAt() {
        looks += 1;
        return 1;
      },
    }));
    expect(linearise(REGISTER, crowd, count).kind).toBe('linearisable');
    // What is spent once, on sorting, and then the search itself.
    expect(looks).toBeLessThan(20 * count);
  });

  it('does not look through all that is to come when it cannot go on', () => {
    const count = 3_000;
    let looks = 0;
    const later = Array.from({ length: count }, (_, index) => ({
      ...during(0, 0, read(0)),
      answeredAt: 10 * index + 1_005,
      hint: index,
      get calledAt() {
        looks += 1;
        return 10 * index + 1_000;
      },
    }));
    const writes = Array.from({ length: 8 }, (_, index) => during(1, 50, write(index % 2)));
    expect(linearise(REGISTER, [...writes, during(60, 61, read(99)), ...later]).kind).toBe('impossible');
    expect(looks).toBeLessThan(20 * count);
  });

  it('agrees with trying every order', () => {
    const moment = fc.nat({ max: 12 });
    const access = fc.oneof(
      fc.record({ do: fc.constant('write' as const), value: fc.integer({ min: 1, max: 2 }) }),
      fc.record({ do: fc.constant('read' as const), saw: fc.integer({ min: 0, max: 2 }) }),
    );
    const operation = fc
      .tuple(moment, moment, access, fc.boolean(), fc.nat({ max: 9 }))
      .map(([from, lasts, input, isOpen, hint]): Operation<Access> => {
        const op = isOpen && input.do === 'write' ? open(from, input) : during(from, from + lasts + 1, input);
        return { ...op, hint };
      });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 6 }), (operations) => {
        expect(linearise(REGISTER, operations).kind).toBe(
          hasOrder(operations, REGISTER.initial) ? 'linearisable' : 'impossible',
        );
      }),
      { numRuns: 2_000, seed: 20_240_607 },
    );
  });
});

/** Every order there is, one after the other. */
function hasOrder(left: readonly Operation<Access>[], state: number): boolean {
  if (left.every(({ answeredAt }) => answeredAt === Number.POSITIVE_INFINITY)) return true;
  return left.some((next) => {
    const others = left.filter((each) => each !== next);
    if (others.some(({ answeredAt }) => answeredAt < next.calledAt)) return false;
    return REGISTER.step(state, next.input).some((then) => hasOrder(others, then));
  });
}

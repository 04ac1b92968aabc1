/** Lines as such: places, heads, deadlines. What they mean is in `machine.test.ts`. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acquireNames } from '../../test/support/commands.ts';
import { TestTicket } from '../../test/support/scenario.ts';
import type { AcquireNames } from './commands.ts';
import { Lines, type Waiter } from './lines.ts';
import { createState } from './state.ts';

function join(lines: Lines<AcquireNames>, names: readonly string[], deadlineMs = 1): Waiter<AcquireNames> {
  return lines.join(acquireNames({ names })(createState()), new TestTicket(), names, deadlineMs);
}

const changes = fc.array(
  fc.record({
    leave: fc.boolean(),
    pick: fc.nat(),
    names: fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
    deadlineMs: fc.nat(9),
  }),
  { maxLength: 60 },
);

describe('lines', () => {
  it('keep the order of arrival, in each line and through all comings and goings', () => {
    fc.assert(
      fc.property(changes, (list) => {
        const lines = new Lines<AcquireNames>();
        let model: Waiter<AcquireNames>[] = [];
        for (const { leave, pick, names, deadlineMs } of list) {
          if (leave && model.length > 0) {
            const gone = model[pick % model.length]!;
            lines.leave(gone);
            model = model.filter((waiter) => waiter !== gone);
            expect(lines.isWaiting(gone)).toBe(false);
          } else model.push(join(lines, names, deadlineMs));
          expect(lines.size).toBe(model.length);
          expect(lines.nextDeadlineMs()).toBe(Math.min(...model.map((waiter) => waiter.deadlineMs)));
          for (const name of ['a', 'b', 'c']) {
            const line = model.filter((waiter) => waiter.command.names.includes(name));
            expect(lines.first(name)).toBe(line[0] ?? null);
            expect(lines.has(name)).toBe(line.length > 0);
            expect(new Map(lines.lengths()).get(name) ?? 0).toBe(line.length);
          }
          for (const waiter of model) {
            const headed = waiter.command.names.filter((name) => lines.first(name) === waiter);
            expect(lines.linesHeaded(waiter)).toEqual(headed);
            expect(lines.headsEveryLine(waiter)).toBe(headed.length === waiter.command.names.length);
          }
        }
        expect(new Set(lines.all())).toEqual(new Set(model));
        expect([...lines.keys()].sort()).toEqual(
          [...new Set(model.flatMap(({ command }) => command.names))].sort(),
        );
      }),
      { seed: 8, numRuns: 100 },
    );
  });

  it('report a wait that has timed out, at the millisecond of its deadline', () => {
    const lines = new Lines<AcquireNames>();
    const waiter = join(lines, ['a'], 10);
    expect([lines.nextOverdue(9), lines.nextOverdue(10)]).toEqual([null, waiter]);
  });

  it('tell the ticket by what it can leave', () => {
    const lines = new Lines<AcquireNames>();
    const waiter = join(lines, ['a']);
    expect((waiter.ticket as TestTicket).waiter).toBe(waiter);
  });
});

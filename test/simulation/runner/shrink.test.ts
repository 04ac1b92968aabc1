// Making a failed plan smaller, on plans whose failure is known: it keeps what the failure needs and little else.
import { describe, expect, it } from 'vitest';
import type { Plan, PlannedFault } from '../plan.ts';
import { planFrom } from '../plan-from.ts';
import { shrink } from './shrink.ts';

const fault = (atMs: number): PlannedFault => ({
  atMs,
  fault: 'process.kill',
  target: 'authority',
  forMs: 0,
  args: {},
});

const plan: Plan = {
  ...planFrom(1),
  faults: Array.from({ length: 30 }, (_, index) => fault(index)),
  workloads: (['tasks', 'waiters', 'crowd'] as const).map((name) => ({ name, clients: 1, rounds: 1 })),
};

const has = (candidate: Plan, ...times: number[]): boolean =>
  times.every((atMs) => candidate.faults.some((each) => each.atMs === atMs));

describe('a plan that failed', () => {
  it('is cut down to the faults and workloads that matter', async () => {
    const fails = async (candidate: Plan) =>
      has(candidate, 7, 21) && candidate.workloads.some(({ name }) => name === 'waiters');
    const shrunk = await shrink(plan, fails, 200);
    expect(shrunk.plan.faults.map(({ atMs }) => atMs)).toEqual([7, 21]);
    expect(shrunk.plan.workloads.map(({ name }) => name)).toEqual(['waiters']);
  });

  it('loses all its faults when it needs none', async () => {
    const shrunk = await shrink(plan, async () => true, 200);
    expect(shrunk.plan.faults).toEqual([]);
    expect(shrunk.plan.workloads).toHaveLength(1);
  });

  it('stays as it is when everything matters', async () => {
    const fails = async (candidate: Plan) =>
      candidate.faults.length === 30 && candidate.workloads.length === 3;
    expect((await shrink(plan, fails, 200)).plan).toEqual(plan);
  });

  it('is not run more often than allowed', async () => {
    let runs = 0;
    const fails = async () => {
      runs += 1;
      return false;
    };
    await shrink(plan, fails, 10);
    expect(runs).toBeLessThanOrEqual(10);
  });
});

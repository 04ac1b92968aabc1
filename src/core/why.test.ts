/** Why a task is not running. */
import { describe, expect, it } from 'vitest';
import {
  cancelTask,
  completeTask,
  createTask,
  extendLease,
  failTask,
  killTask,
  leaseTasks,
  limitQueue,
  pauseQueue,
  releaseTask,
} from '../../test/support/commands.ts';
import { given, later, type Step } from '../../test/support/scenario.ts';
import type { TaskRow } from './row-types.ts';
import { type WhyCode, whyNotRunning } from './why.ts';

const CASES: Record<WhyCode, readonly [steps: readonly Step[], says: RegExp]> = {
  DELAYED: [[createTask({ delayMs: 70 })], /not due for another 70 ms/],
  BACKOFF: [[createTask({ backoffMs: 90 }), leaseTasks(), failTask({ reason: 'no luck' })], /90 ms.*no luck/],
  WAITING_FOR_WORKER: [[createTask()], /waits for a worker to ask the queue default/],
  QUEUE_PAUSED: [[createTask(), pauseQueue()], /queue default is paused/],
  LIMITED_BY_QUEUE: [
    [createTask({ taskId: 'other' }), leaseTasks(), createTask(), limitQueue({ maxLeased: 1 })],
    /queue default has 1 leased/,
  ],
  LIMITED_BY_KEY: [
    [
      createTask({ taskId: 'other', groupKey: 'k' }),
      leaseTasks(),
      createTask({ groupKey: 'k' }),
      limitQueue({ maxLeasedPerKey: 1 }),
    ],
    /key k has 1 leased, .* allows: other for 0 ms\./,
  ],
  RATE_LIMITED: [
    [
      limitQueue({ rate: { count: 1, perMs: 500, perKey: false } }),
      createTask({ taskId: 'other' }),
      leaseTasks(),
      createTask(),
    ],
    /rate of 1 in 500 ms.*leased in 500 ms/,
  ],
  LEASED: [
    [createTask(), leaseTasks({ workerId: 'w7' }), later(12_300), extendLease({ ttlMs: 3_592_147 })],
    /w7 has it for 12.3 s now, attempt 1; the lease ends in 59 min 52 s/,
  ],
  COMPLETED: [[createTask(), leaseTasks(), completeTask()], /completed/],
  FAILED: [
    [createTask(), leaseTasks(), failTask({ retry: false, reason: 'no luck' })],
    /^It failed once, with: no luck$/,
  ],
  DEAD: [[createTask(), killTask({ reason: 'unwanted' })], /unwanted/],
};

describe('why a task is not running', () => {
  for (const [code, [steps, says]] of Object.entries(CASES)) {
    it(`${code}: as a code and a sentence`, () => {
      const { state, machine } = given(...steps);
      const why = whyNotRunning(state, state.tasks.find('task') as TaskRow, machine.batchAtMs);
      expect(why.code).toBe(code);
      expect(why.says).toMatch(says);
    });
  }

  it('says who cancelled it, in the words that were given', () => {
    const { state, machine } = given(createTask(), cancelTask({ reason: 'the customer has left' }));
    const { says } = whyNotRunning(state, state.tasks.find('task') as TaskRow, machine.batchAtMs);
    expect(says).toBe('It is dead: CANCELLED: the customer has left');
  });

  it('is DELAYED when its worker handed it back for later, even if it failed before', () => {
    const { state, machine } = given(
      createTask(),
      leaseTasks(),
      failTask({ delayMs: 0 }),
      leaseTasks(),
      releaseTask({ delayMs: 5 }),
    );
    expect(whyNotRunning(state, state.tasks.find('task') as TaskRow, machine.batchAtMs).code).toBe('DELAYED');
  });
});

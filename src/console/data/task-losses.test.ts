// The figures in the sentences about lost leases, failures and deaths.
import { describe, expect, it } from 'vitest';
import { taskLosses } from './task-losses.ts';
import type { Incident } from './watch.ts';

const incident = (type: string, task: string, queue = 'films'): Incident => ({
  seq: 1,
  at: '2026-01-05T08:00:00.000Z',
  type,
  task_id: task,
  queue,
});

describe('the incidents of tasks', () => {
  it('count a task once, however often it lost its lease', () => {
    const twice = [
      incident('LeaseExpired', 'a'),
      incident('LeaseExpired', 'b'),
      incident('LeaseExpired', 'a'),
    ];
    expect(taskLosses(twice)).toMatchObject([{ tasks: 2, isCut: false, incidents: { length: 3 } }]);
  });

  it('are told apart by what happened and in which queue', () => {
    const mixed = [
      incident('TaskDead', 'a'),
      incident('LeaseExpired', 'a'),
      incident('TaskDead', 'b', 'mail'),
    ];
    expect(taskLosses(mixed).map(({ tasks }) => tasks)).toEqual([1, 1, 1]);
  });

  it('may be more than were listed once the server lists as many as it can', () => {
    const many = Array.from({ length: 200 }, (_, n) => incident('TaskDead', `t${n}`));
    expect(taskLosses(many)).toMatchObject([{ tasks: 200, isCut: true }]);
    expect(taskLosses(many.slice(1))).toMatchObject([{ tasks: 199, isCut: false }]);
  });
});

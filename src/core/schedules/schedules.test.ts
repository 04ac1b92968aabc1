/** Schedules: when they are due, what a due time creates, and what becomes of those that were missed. */
import { describe, expect, it } from 'vitest';
import {
  completeTask,
  createTask,
  fireSchedule,
  leaseTasks,
  pauseSchedule,
  removeSchedule,
  resumeSchedule,
  setSchedule,
} from '../../../test/support/commands.ts';
import { given, later, restart, type Scenario, START_MS, scenario } from '../../../test/support/scenario.ts';
import type { ScheduleFired } from '../entries.ts';
import { lastDueTimes, withJitter } from './schedule-times.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Due times as seconds after the start; what was skipped with the reason, a range with its end. */
function firings(story: Scenario): (number | string)[] {
  return story.log
    .map(({ entry }) => entry)
    .filter((entry): entry is ScheduleFired => entry.type === 'ScheduleFired')
    .map(({ dueAtMs, skipped, throughMs, task }) => {
      if (dueAtMs === null) return task!;
      const due = (dueAtMs - START_MS) / SECOND;
      const range = throughMs === null ? '' : `-${(throughMs - START_MS) / SECOND}`;
      return skipped === null ? due : `${due}${range} ${skipped}`;
    });
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

describe('a due time', () => {
  it('creates the task of schedule and due time, with a copy of the payload', () => {
    const story = given(
      setSchedule({ queue: 'reports', priority: 3, groupKey: 'k', payload: 'copied' }),
      later(SECOND),
    );
    const taskId = `schedule@${isoOf(START_MS + SECOND)}`;
    story.thenTask(taskId, {
      state: 'WAITING',
      queue: 'reports',
      priority: 3,
      groupKey: 'k',
      schedule: 'schedule',
      createdAtMs: START_MS + SECOND,
      payload: { length: 6 },
    });
    expect(story.state.schedules.find('schedule')).toMatchObject({
      lastTaskId: taskId,
      lastDueAtMs: START_MS + SECOND,
      nextDueAtMs: START_MS + 2 * SECOND,
    });
  });

  it('serves a worker that waits for the queue, in the same batch', () => {
    const story = given(setSchedule(), leaseTasks({ waitMs: MINUTE }), later(SECOND));
    expect(story.log.map(({ entry }) => entry.type).slice(-2)).toEqual(['ScheduleFired', 'LeaseGranted']);
  });

  it('fires only after the entry that set the schedule', () => {
    const startsAtMs = START_MS - 10 * SECOND - 300;
    const story = given(setSchedule({ startsAtMs }), later(2 * SECOND));
    expect(firings(story)).toEqual([0.7, 1.7]);
  });

  it('lies between start and end, the end excluded', () => {
    const startsAtMs = START_MS + 2 * SECOND;
    const endsAtMs = START_MS + 4 * SECOND;
    const story = given(setSchedule({ startsAtMs, endsAtMs }), ...[1, 2, 3, 4, 5].map(() => later(SECOND)));
    expect(firings(story)).toEqual([2, 3]);
    expect(story.state.schedules.find('schedule')!.nextDueAtMs).toBeNull();
  });

  it('follows a cron pattern in its time zone', () => {
    const story = given(setSchedule({ cron: '30 1 * * *', timezone: 'Asia/Kathmandu' }));
    expect(isoOf(story.state.schedules.find('schedule')!.nextDueAtMs!)).toBe('1970-01-01T20:00:00.000Z');
  });

  it('is skipped when its task is there already', () => {
    const taskId = `schedule@${isoOf(START_MS + SECOND)}`;
    const story = given(setSchedule(), createTask({ taskId }), later(SECOND), later(SECOND));
    expect(firings(story)).toEqual(['1 TASK_EXISTS', 2]);
  });

  it('fires later by its jitter, which is the same after a restart', () => {
    const plan = { name: 'schedule', jitterMs: 500 };
    const firesAtMs = withJitter(plan, START_MS + SECOND);
    expect(firesAtMs).toBeGreaterThan(START_MS + SECOND);
    const story = given(setSchedule({ jitterMs: 500 }), later(firesAtMs - START_MS - 1));
    expect(firings(story)).toEqual([]);
    story.given(restart(), later(1));
    expect(firings(story)).toEqual([1]);
    const spread = new Set(Array.from({ length: 100 }, (_, n) => withJitter(plan, n * SECOND) - n * SECOND));
    expect(Math.max(...spread)).toBeLessThanOrEqual(500);
    expect(spread.size).toBeGreaterThan(60);
  });

  it('is skipped, saying so, when the payload was damaged on the disk', () => {
    const story = given(setSchedule());
    story.state.schedules.find('schedule')!.payload!.bytes = null;
    story.given(later(SECOND));
    expect(firings(story)).toEqual(['1 PAYLOAD_DAMAGED']);
    story.when(fireSchedule()).thenRefuses('PAYLOAD_DAMAGED');
  });
});

describe('overlap', () => {
  it('skip: no due time fires while any task of the schedule has not ended', () => {
    const story = given(setSchedule({ overlap: 'skip' }), later(SECOND), leaseTasks(), later(SECOND));
    expect(firings(story)).toEqual([1, '2 OVERLAP']);
    const taskId = `schedule@${isoOf(START_MS + SECOND)}`;
    story.given(completeTask({ taskId }), later(SECOND));
    expect(firings(story)).toEqual([1, '2 OVERLAP', 3]);
  });

  it('skip: one fired by hand counts, and so does one of the schedule before it was removed', () => {
    const story = given(setSchedule({ overlap: 'skip' }), fireSchedule(), later(SECOND));
    expect(firings(story)).toEqual(['schedule!3', '1 OVERLAP']);
    story.given(removeSchedule(), setSchedule({ overlap: 'skip' }), later(SECOND));
    expect(firings(story).at(-1)).toBe('2 OVERLAP');
  });

  it('allow: every due time fires', () => {
    expect(firings(given(setSchedule(), later(SECOND), later(SECOND)))).toEqual([1, 2]);
  });
});

describe('after downtime', () => {
  it('one: the latest missed due time fires once, the others are one skipped range', () => {
    const story = given(setSchedule(), restart({ downMs: 10 * SECOND + 1 }), later(SECOND));
    expect(firings(story)).toEqual(['1-9 CATCH_UP', 10, 11]);
  });

  it('one: a single missed due time fires, and nothing is skipped', () => {
    expect(firings(given(setSchedule(), restart({ downMs: SECOND + 500 })))).toEqual([1]);
  });

  it('none: nothing missed fires', () => {
    const story = given(
      setSchedule({ catchUp: 'none' }),
      restart({ downMs: 10 * SECOND + 1 }),
      later(SECOND),
    );
    expect(firings(story)).toEqual(['1-10 CATCH_UP', 11]);
  });

  it('all: every missed due time fires, in order', () => {
    const story = given(setSchedule({ catchUp: 'all' }), restart({ downMs: 3 * SECOND + 1 }));
    expect(firings(story)).toEqual([1, 2, 3]);
  });

  it('all: at most 1000 fire, the rest is one skipped range, over several batches', () => {
    const story = scenario({ watch: 'end' }).given(
      setSchedule({ catchUp: 'all' }),
      restart({ downMs: 5_000 * SECOND + 1 }),
    );
    expect(firings(story)).toHaveLength(250);
    story.given(later(0), later(0), later(0), later(0));
    const fired = firings(story);
    expect([fired.length, fired[0], fired[1], fired.at(-1)]).toEqual([
      1_001,
      '1-4000 CATCH_UP',
      4_001,
      5_000,
    ]);
  });

  it('all and skip: the first fires, the others overlap with it', () => {
    const story = given(
      setSchedule({ catchUp: 'all', overlap: 'skip' }),
      restart({ downMs: 3 * SECOND + 1 }),
    );
    expect(firings(story)).toEqual([1, '2 OVERLAP', '3 OVERLAP']);
  });

  it('a long while costs no more than a short one', () => {
    const story = given(setSchedule(), restart({ downMs: 366 * 24 * 60 * MINUTE + 1 }));
    expect(firings(story)).toHaveLength(2);
  });

  it('counts a while in which the authority stood still, but not a short delay', () => {
    const late = given(setSchedule({ catchUp: 'none' }), later(5 * SECOND));
    expect(firings(late)).toEqual([1, 2, 3, 4, 5]);
    const still = given(setSchedule({ catchUp: 'none' }), later(61 * SECOND + 1), later(SECOND));
    expect(firings(still)).toEqual(['1-61 CATCH_UP', 62]);
  });
});

describe('without room for new tasks', () => {
  const wait = (story: Scenario, ms: number, everyMs: number): void => {
    const fromMs = story.machine.batchAtMs;
    for (let passedMs = everyMs; passedMs <= ms; passedMs += everyMs) {
      story.machine.begin(fromMs + passedMs, 0, false);
    }
  };

  it('due times wait and fire once there is room, whatever their catch-up', () => {
    const story = given(setSchedule({ catchUp: 'none' }));
    wait(story, 120 * SECOND, 250);
    expect(firings(story)).toEqual([]);
    story.given(later(120 * SECOND));
    expect(firings(story)).toEqual(Array.from({ length: 120 }, (_, index) => index + 1));
  });

  it('they wait for as long as it takes, at most 1000 of them', () => {
    const rare = scenario({ watch: 'end' }).given(setSchedule({ catchUp: 'none', everyMs: 600 * SECOND }));
    wait(rare, 2_500 * SECOND, 50 * SECOND);
    rare.given(later(2_500 * SECOND));
    expect(firings(rare)).toEqual([600, 1_200, 1_800, 2_400]);
    const often = scenario({ watch: 'end' }).given(setSchedule({ catchUp: 'none' }));
    wait(often, 2_500 * SECOND, 50 * SECOND);
    often.given(later(2_500 * SECOND), later(0), later(0), later(0), later(0));
    const fired = firings(often);
    expect([fired[0], fired[1], fired.at(-1)]).toEqual(['1-1500 CATCH_UP', 1_501, 2_500]);
  });
});

describe('setting a schedule', () => {
  it('again changes nothing, so that its intervals continue', () => {
    const story = given(setSchedule(), later(500));
    story.when(setSchedule()).thenAnswers({ isNew: false, seq: 2 });
    expect(story.entries).toEqual([]);
  });

  it('with another payload keeps its intervals and what has fired', () => {
    const story = given(setSchedule(), later(SECOND + 500), setSchedule({ payload: 'other' }), later(500));
    expect(firings(story)).toEqual([1, 2]);
    expect(story.state.schedules.find('schedule')!.payload!.length).toBe(5);
  });

  it('with another interval counts from now', () => {
    const story = given(setSchedule(), later(500), setSchedule({ everyMs: 2 * SECOND }), later(2 * SECOND));
    expect(firings(story)).toEqual([2.5]);
  });

  it('first fires what is due, so that no change loses a due time', () => {
    for (const change of [setSchedule({ everyMs: MINUTE }), pauseSchedule(), removeSchedule()]) {
      const story = given(setSchedule());
      story.machine.begin(START_MS + SECOND, 0, false);
      story.machine.begin(START_MS + SECOND, 0, false);
      story.given(change);
      expect(firings(story)).toEqual([1]);
    }
  });

  it('is refused for queues of ours', () => {
    given()
      .when(setSchedule({ queue: 'system:session-starts' }))
      .thenRefuses('FORBIDDEN');
  });

  it('by a program leaves alone what an operator set by hand, until that is removed', () => {
    const applied = setSchedule({ everyMs: MINUTE, applied: true });
    const story = given(setSchedule());
    story.when(applied).thenAnswers({ isKept: true, isNew: false });
    story.given(removeSchedule()).when(applied).thenAnswers({ isKept: false, isNew: true });
    story.when(setSchedule({ applied: true })).thenAnswers({ isKept: false, isNew: false });
  });

  it('by a program leaves it paused, and by hand does not', () => {
    const story = given(setSchedule({ applied: true }), pauseSchedule());
    story.given(setSchedule({ applied: true, payload: 'new' }), later(SECOND));
    expect(firings(story)).toEqual([]);
    story.given(setSchedule(), later(SECOND));
    expect(firings(story)).toEqual([2]);
  });
});

describe('a paused schedule', () => {
  it('is not due, and catches nothing up', () => {
    const story = given(setSchedule({ catchUp: 'all' }), pauseSchedule(), later(5 * SECOND + 500));
    story.given(restart({ downMs: 1_000 }), resumeSchedule(), later(SECOND));
    expect(firings(story)).toEqual([7]);
  });

  it('catches up nothing of its pause, also when it has fired before', () => {
    const story = given(setSchedule({ catchUp: 'all' }), later(SECOND), pauseSchedule(), later(5 * SECOND));
    story.given(resumeSchedule(), later(SECOND));
    expect(firings(story)).toEqual([1, 7]);
  });

  it('is paused and resumed once, by one entry each', () => {
    const story = given(setSchedule(), pauseSchedule());
    story.when(pauseSchedule()).thenAnswers({ paused: true, nextDueAtMs: null });
    expect(story.entries).toEqual([]);
    story.when(resumeSchedule()).thenAnswers({ paused: false, nextDueAtMs: START_MS + SECOND });
    expect(story.entries).toMatchObject([{ type: 'ScheduleSet', payload: null }]);
  });
});

describe('firing by hand', () => {
  it('creates a task of its own, even if the schedule is paused or overlaps, and moves no due time', () => {
    const story = given(setSchedule({ overlap: 'skip' }), pauseSchedule(), fireSchedule(), fireSchedule());
    expect(firings(story)).toEqual(['schedule!4', 'schedule!5']);
    story.thenTask('schedule!4', { state: 'WAITING', schedule: 'schedule' });
  });

  it('with the id of a request happens once, as long as that is among the last 16', () => {
    const story = given(setSchedule(), fireSchedule({ requestId: 'r' }));
    story.when(fireSchedule({ requestId: 'r' })).thenAnswers({ taskId: 'schedule!3', duplicate: true });
    story.given(...Array.from({ length: 16 }, (_, n) => fireSchedule({ requestId: `r${n}` })));
    story.when(fireSchedule({ requestId: 'r' })).thenAnswers({ duplicate: false });
  });

  it('of what is not there is refused', () => {
    for (const wish of [fireSchedule(), pauseSchedule(), resumeSchedule(), removeSchedule()]) {
      given().when(wish).thenRefuses('SCHEDULE_NOT_FOUND');
    }
  });
});

describe('the last due times of a while', () => {
  const rhythm = {
    cron: null,
    everyMs: 1_500,
    anchorMs: 0,
    timezone: 'UTC',
    startsAtMs: null,
    endsAtMs: null,
  };
  const none = { next: () => null, instant: String };

  it('are found without counting all of them', () => {
    expect(lastDueTimes(rhythm, 1_500, 1e12, 3, none)).toEqual(
      [999_999_997_500, 999_999_999_000, 1_000_000_000_500].map((ms) => ms - 1_500),
    );
    expect(lastDueTimes(rhythm, 1_500, 3_000, 5, none)).toEqual([1_500, 3_000]);
    expect(lastDueTimes(rhythm, 1_501, 2_999, 5, none)).toEqual([]);
  });
});

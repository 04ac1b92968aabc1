/** Limits of queues and keys, and turns. What holds in any history is in `test/properties`. */
import { describe, expect, it } from 'vitest';
import {
  cancelTask,
  changeTask,
  completeTask,
  createTask,
  failTask,
  killTask,
  leaseTasks,
  limitQueue,
  pauseQueue,
  releaseTask,
  resumeQueue,
  TTL_MS,
} from '../../test/support/commands.ts';
import { given, later, Scenario, START_MS } from '../../test/support/scenario.ts';
import type { TaskRow } from './row-types.ts';
import { whyNotRunning } from './why.ts';

const PER_MS = 1_000;
const rate = (count: number, perKey = false) => ({ rate: { count, perMs: PER_MS, perKey } });
const task = (taskId: string, groupKey: string | null = null, priority = 0) =>
  createTask({ taskId, groupKey, priority });
const tasks = (...ids: readonly string[]) => ids.map((id) => task(id));
/** `a1` has the key `a`. */
const keyed = (...ids: readonly string[]) => ids.map((id) => task(id, id[0]!));
const take = (max = 1) => leaseTasks({ max });
const waiter = leaseTasks({ waitMs: 60_000, workerId: 'waiter' });
const served = (...ids: readonly string[]) => ({ leases: ids.map((taskId) => ({ taskId })) });

function why(story: Scenario, taskId: string) {
  const { state, machine } = story;
  return whyNotRunning(state, state.tasks.find(taskId) as TaskRow, machine.batchAtMs);
}

describe('setting limits', () => {
  it('is one entry that says all of them; what is absent stays, and null removes one', () => {
    const story = given(limitQueue({ maxLeased: 5 }));
    story.when(limitQueue({ maxLeasedPerKey: 2, ...rate(3, true) })).thenRecordsEntry({
      type: 'QueueLimited',
      queue: 'default',
      maxLeased: 5,
      maxLeasedPerKey: 2,
      rateCount: 3,
      ratePerMs: PER_MS,
      ratePerKey: true,
    });
    story
      .when(limitQueue({ maxLeased: null }))
      .thenAnswers({ limits: { maxLeased: null, maxLeasedPerKey: 2, ...rate(3, true) } });
  });

  it('writes nothing when nothing changes', () => {
    given(limitQueue({ maxLeased: 5, ...rate(3) }))
      .when(limitQueue(rate(3)))
      .thenRecordsNothing();
    given()
      .when(limitQueue({ maxLeased: null }))
      .thenRecordsNothing();
  });

  it('does not replace what an operator has set when it applies a definition', () => {
    const applied = (maxLeased: number | null) => limitQueue({ maxLeased }, 'default', true);
    const story = given(applied(5));
    story.when(applied(6)).thenAnswers({ isSet: true, limits: { maxLeased: 6, applied: true } });
    story.given(limitQueue({ maxLeased: 7 }));
    story.when(applied(8)).thenAnswers({ isSet: false, limits: { maxLeased: 7 } });
    story.given(limitQueue({ maxLeased: null }));
    story.when(applied(8)).thenAnswers({ isSet: true });
  });

  it('is refused for queues that begin with system:', () => {
    given()
      .when(limitQueue({ maxLeased: 1 }, 'system:session-starts'))
      .thenRefuses('FORBIDDEN');
  });

  it('keeps a queue without tasks, until the last limit is removed', () => {
    const story = given(limitQueue({ maxLeased: 1 }));
    expect([...story.state.tasks.queues.keys()]).toEqual(['default']);
    story.given(limitQueue({ maxLeased: null }));
    expect([...story.state.tasks.queues.keys()]).toEqual([]);
  });
});

describe('max_leased', () => {
  it('bounds the live leases of a queue', () => {
    given(limitQueue({ maxLeased: 2 }), ...tasks('t1', 't2', 't3'))
      .when(take(9))
      .thenLeases('t1', 't2');
  });

  it.each([
    ['a completion', completeTask({ taskId: 't1' })],
    ['a failure', failTask({ taskId: 't1', retry: false })],
    ['a release', releaseTask({ taskId: 't1', delayMs: 50 })],
    ['a kill', killTask({ taskId: 't1' })],
    ['an expiry', later(TTL_MS)],
    ['a higher limit', limitQueue({ maxLeased: 2 })],
    ['its removal', limitQueue({ maxLeased: null })],
  ])('%s serves who waits, in the same batch', (_, step) => {
    const story = given(limitQueue({ maxLeased: 1 }), task('t1'), take(), task('t2'));
    story.when(waiter, { as: 'waiter' }).thenWaits();
    story.when(step);
    expect(story.ticket('waiter').answer).toMatchObject({ leases: [{}] });
  });

  it('takes nothing back when it is lowered', () => {
    const story = given(...tasks('t1', 't2', 't3'), take(2), limitQueue({ maxLeased: 1 }));
    story.when(take()).thenLeases();
    story
      .given(completeTask({ taskId: 't1' }))
      .when(take())
      .thenLeases();
    story
      .given(completeTask({ taskId: 't2' }))
      .when(take())
      .thenLeases('t3');
  });

  it('is of one queue: another one goes on', () => {
    given(limitQueue({ maxLeased: 1 }), ...tasks('t1', 't2'), createTask({ taskId: 'u', queue: 'other' }))
      .when(leaseTasks({ queues: ['default', 'other'], max: 9 }))
      .thenLeases('t1', 'u');
  });

  it('counts no repeat of a request', () => {
    const again = leaseTasks({ requestId: 'r' });
    given(limitQueue({ maxLeased: 1 }), ...tasks('t1', 't2'), again)
      .when(again)
      .thenAnswers({ duplicate: true, ...served('t1') });
  });
});

describe('a key at its limit', () => {
  it('holds up no other key, and none of the tasks without key', () => {
    given(limitQueue({ maxLeasedPerKey: 1 }), ...keyed('a1', 'a2', 'b1', 'b2'), ...tasks('1', '2'))
      .when(take(9))
      .thenLeases('a1', 'b1', '1', '2');
  });

  it('is served again as soon as one of its leases has ended', () => {
    const story = given(limitQueue({ maxLeasedPerKey: 1 }), ...keyed('a1', 'a2'), take());
    story.when(waiter, { as: 'waiter' }).thenWaits();
    story.when(completeTask({ taskId: 'a1' })).thenServes('waiter', served('a2'));
  });

  it('holds up a lower priority of its own, and no lower priority of others', () => {
    given(
      limitQueue({ maxLeasedPerKey: 1 }),
      task('a1', 'a', 5),
      task('a2', 'a', 5),
      task('a3', 'a', 1),
      task('b1', 'b', 0),
    )
      .when(take(9))
      .thenLeases('a1', 'b1');
  });

  it('is another one in another queue', () => {
    given(
      limitQueue({ maxLeasedPerKey: 1 }),
      ...keyed('a1'),
      createTask({ taskId: 'a2', groupKey: 'a', queue: 'other' }),
    )
      .when(leaseTasks({ queues: ['default', 'other'], max: 9 }))
      .thenLeases('a1', 'a2');
  });

  it('may lose its tasks while it is held back', () => {
    const story = given(limitQueue({ maxLeasedPerKey: 1 }), ...keyed('a1', 'a2', 'a3', 'a4'), take());
    story.given(
      cancelTask({ taskId: 'a2' }),
      changeTask({ taskId: 'a3', queue: 'other' }),
      completeTask({ taskId: 'a1' }),
    );
    story.when(take(9)).thenLeases('a4');
    story.when(leaseTasks({ queues: ['other'] })).thenLeases('a3');
  });
});

describe('a rate', () => {
  it('lets so many be granted in any half-open interval', () => {
    const story = given(limitQueue(rate(2)), ...tasks('t1', 't2', 't3', 't4', 't5'));
    story.when(take()).thenLeases('t1');
    story.when(take(9), { atMs: START_MS + 600 }).thenLeases('t2');
    story.when(take(9), { atMs: START_MS + PER_MS - 1 }).thenLeases();
    story.when(take(9), { atMs: START_MS + PER_MS }).thenLeases('t3');
    story.when(take(9), { atMs: START_MS + 600 + PER_MS - 1 }).thenLeases();
    story.when(take(9), { atMs: START_MS + 600 + PER_MS }).thenLeases('t4');
  });

  it('counts a grant until its very last millisecond, also where there is room for another', () => {
    const story = given(limitQueue(rate(2)), ...tasks('t1', 't2', 't3'));
    story.when(take()).thenLeases('t1');
    story.when(take(9), { atMs: START_MS + PER_MS - 1 }).thenLeases('t2');
    story.when(take(9)).thenLeases();
    story.when(take(9), { atMs: START_MS + PER_MS }).thenLeases('t3');
  });

  it('counts a grant that was given back', () => {
    const story = given(limitQueue(rate(1)), ...tasks('t1', 't2'), take(), releaseTask({ taskId: 't1' }));
    story.when(take()).thenLeases();
    story.when(take(), { atMs: START_MS + PER_MS }).thenLeases('t1');
  });

  it('serves who waits when its window opens, and wakes the authority for that', () => {
    const story = given(limitQueue(rate(1)), ...tasks('t1', 't2'), take());
    story.when(waiter, { as: 'waiter' }).thenWaits();
    expect(story.machine.nextDueMs()).toBe(START_MS + PER_MS);
    story.when(later(PER_MS)).thenServes('waiter', served('t2'));
  });

  it('of each key holds up no other key, and does not apply to tasks without one', () => {
    const story = given(limitQueue(rate(1, true)), ...keyed('a1', 'a2', 'b1'), ...tasks('1', '2'));
    story.when(take(9)).thenLeases('a1', 'b1', '1', '2');
    story.when(waiter, { as: 'waiter' }).thenWaits();
    story.when(later(PER_MS)).thenServes('waiter', served('a2'));
  });

  it.each([false, true])('holds over a restart from an image, where it is one of each key: %s', (perKey) => {
    const story = given(limitQueue(rate(1, perKey)), ...keyed('a1', 'a2'), take());
    story.restart(0, 'image');
    story.when(take(), { atMs: START_MS + PER_MS - 1 }).thenLeases();
    story.when(take(), { atMs: START_MS + PER_MS }).thenLeases('a2');
  });

  it('holds over a restart, also when the clock was set back', () => {
    const story = given(limitQueue(rate(1)), ...tasks('t1', 't2'), take());
    story.restart(0);
    story.when(take(), { atMs: START_MS + PER_MS - 1 }).thenLeases();
    story.restart(-PER_MS);
    story.when(take(), { atMs: START_MS + PER_MS - 1 }).thenLeases();
    story.when(take(), { atMs: START_MS + PER_MS }).thenLeases('t2');
  });

  it('counts the grants that an earlier rate has counted when it is changed', () => {
    const story = given(limitQueue(rate(3)), ...tasks('t1', 't2', 't3', 't4'), take(2));
    story.given(limitQueue({ rate: { count: 2, perMs: 3 * PER_MS, perKey: false } }));
    story.when(take(), { atMs: START_MS + 2 * PER_MS }).thenLeases();
    story.when(limitQueue(rate(3))).thenAnswers({});
    story.when(take()).thenLeases('t3');
  });

  it('begins anew when it is removed and set again, or becomes one of each key', () => {
    const story = given(limitQueue(rate(1)), ...keyed('a1', 'a2', 'a3', 'a4'), take());
    story
      .given(limitQueue({ rate: null }), limitQueue(rate(1)))
      .when(take(9))
      .thenLeases('a2');
    story
      .given(limitQueue(rate(1, true)))
      .when(take(9))
      .thenLeases('a3');
    expect(story.state.tasks.keys.windows.kept).toBe(1);
  });

  it('forgets keys whose grants no longer count', () => {
    const story = given(limitQueue(rate(1, true)));
    for (let round = 0; round < 20; round++)
      story.given(
        task(`t${round}`, `k${round}`),
        take(),
        completeTask({ taskId: `t${round}` }),
        later(PER_MS),
      );
    expect(story.state.tasks.keys.rows.live).toBeLessThanOrEqual(2);
  });

  it('makes a key wait when no further instant can be kept, and tasks without key go on', () => {
    const story = given(limitQueue(rate(1, true)), ...keyed('a1', 'b1', 'c1'), ...tasks('1'));
    story.state.tasks.keys.windows.max = 2;
    story.when(take(9)).thenLeases('a1', 'b1', '1');
    expect(why(story, 'c1')).toMatchObject({ code: 'RATE_LIMITED', opensAtMs: null });
    story.when(waiter, { as: 'waiter' }).thenWaits();
    expect(story.machine.nextDueMs()).toBe(START_MS + PER_MS);
    story.when(later(PER_MS)).thenServes('waiter', served('c1'));
    expect(story.state.tasks.keys.windows.kept).toBeLessThanOrEqual(2);
  });
});

describe('keys of equal priority', () => {
  it('take turns, and the tasks without key are one of them', () => {
    given(...keyed('a1', 'a2', 'a3', 'b1', 'b2'), ...tasks('1', '2', '3'))
      .when(take(9))
      .thenLeases('a1', 'b1', '1', 'a2', 'b2', '2', 'a3', '3');
  });

  it('continue where they were, for any worker and any number of tasks', () => {
    const story = given(...keyed('a1', 'a2', 'a3', 'b1', 'b2', 'c1'));
    story.when(take(2)).thenLeases('a1', 'b1');
    story.when(leaseTasks({ workerId: 'another', max: 2 })).thenLeases('c1', 'a2');
    story.when(take(9)).thenLeases('b2', 'a3');
  });

  it('give way to a higher priority of any key', () => {
    given(...keyed('a1', 'b1'), task('a2', 'a', 1), task('a3', 'a', 1))
      .when(take(9))
      .thenLeases('a2', 'a3', 'a1', 'b1');
  });

  it('serve their own tasks in the order of creation, those that came back first', () => {
    const story = given(
      ...keyed('a1', 'a2', 'a3'),
      take(2),
      releaseTask({ taskId: 'a2' }),
      releaseTask({ taskId: 'a1' }),
    );
    story.when(take(9)).thenLeases('a1', 'a2', 'a3');
  });

  it('join the turns at the end when they have room again', () => {
    const story = given(limitQueue({ maxLeasedPerKey: 1 }), ...keyed('a1', 'a2', 'b1', 'c1'), take(2));
    story.given(completeTask({ taskId: 'a1' }));
    story.when(take(9)).thenLeases('c1', 'a2');
  });

  it('take turns in a paused queue once it is resumed', () => {
    given(...keyed('a1', 'a2', 'b1'), pauseQueue(), resumeQueue())
      .when(take(9))
      .thenLeases('a1', 'b1', 'a2');
  });
});

describe('a worker that is given nothing', () => {
  const poll = leaseTasks({ workerId: 'second' });

  it.each([
    ['the queue', limitQueue({ maxLeased: 1 })],
    ['its key', limitQueue({ maxLeasedPerKey: 1 })],
    ['the rate', limitQueue(rate(1))],
  ])('is told how many due tasks a limit of %s holds back', (_, limit) => {
    const story = given(limit, ...keyed('a1', 'a2', 'a3'), take());
    story.when(poll).thenAnswers({ leases: [], limited: 2 });
    story.given(pauseQueue()).when(poll).thenAnswers({ leases: [], limited: 0 });
  });

  it('is told so, too, when it has waited', () => {
    const story = given(limitQueue({ maxLeased: 1 }), ...keyed('a1', 'a2'), leaseTasks({ ttlMs: 600_000 }));
    story.when(waiter, { as: 'waiter' }).thenWaits();
    story.when(later(60_000)).thenServes('waiter', { leases: [], limited: 1 });
  });

  it('is told of none when tasks are not due', () => {
    given(limitQueue({ maxLeased: 1 }), createTask({ delayMs: 10 }))
      .when(poll)
      .thenAnswers({ leases: [], limited: 0 });
  });
});

describe('why a task of a limited queue waits', () => {
  it('says when its window opens', () => {
    const story = given(limitQueue(rate(2, true)), ...keyed('a1', 'a2', 'a3'), take(9), later(300));
    expect(why(story, 'a3')).toMatchObject({ code: 'RATE_LIMITED', opensAtMs: START_MS + PER_MS });
    story.moveTo(START_MS + PER_MS);
    expect(why(story, 'a3')).toMatchObject({ code: 'WAITING_FOR_WORKER', opensAtMs: null });
  });

  it('counts who is ahead by turns', () => {
    const story = given(...keyed('a1', 'a2', 'a3', 'b1', 'b2'), ...tasks('1'), task('urgent', 'z', 3));
    const ahead = (id: string) => why(story, id).ahead;
    expect(['urgent', 'a1', 'b1', '1', 'a2', 'b2', 'a3'].map(ahead)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('counts for a key that is held back its own tasks, and one turn of every other key', () => {
    const story = given(
      limitQueue({ maxLeasedPerKey: 1 }),
      ...keyed('a1', 'a2', 'a3'),
      take(),
      ...keyed('b1', 'b2'),
    );
    expect([why(story, 'a2').ahead, why(story, 'a3').ahead]).toEqual([1, 3]);
  });
});

describe('a thousand keys at their limit', () => {
  it('hold up no other task', () => {
    const story = new Scenario({ watch: 'end' }).given(limitQueue({ maxLeasedPerKey: 1 }));
    const { state } = story;
    for (let key = 0; key < 1_000; key++)
      story.given(task(`${key}-1`, `k${key}`), task(`${key}-2`, `k${key}`));
    for (let asked = 0; asked < 1_000; asked += 500) story.given(leaseTasks({ max: 500 }));
    const queue = state.tasks.queues.get('default')!;
    expect([queue.ready, queue.limited]).toEqual([0, 1_000]);
    story.given(task('free', 'another')).when(take(9)).thenLeases('free');
    story
      .given(completeTask({ taskId: '77-1' }))
      .when(take(9))
      .thenLeases('77-2');
  });
});

/** Images: a state written out, and read back into an empty one, answers every question alike. */
import { describe, expect, it } from 'vitest';
import {
  at,
  given,
  later,
  restart,
  restoredFrom,
  Scenario,
  START_MS,
  scenario,
} from '../../test/support/scenario.ts';
import {
  acquireNames,
  completeTask,
  createTask,
  deleteObject,
  failTask,
  killTask,
  leaseTasks,
  pauseQueue,
  releaseName,
  releaseTask,
  TTL_MS,
  writeObject,
} from '../../test/support/wishes.ts';
import { apply } from './apply.ts';
import { imageOf } from './image-io.ts';
import { checkInvariants } from './invariants.ts';
import type { State } from './state.ts';
import { stateHash } from './state-hash.ts';

/** A state in which everything that can be kept is kept. */
function fullStory() {
  return scenario({ retention: { endedTasksMs: 3 * TTL_MS, idleNamesMs: 3 * TTL_MS } }).given(
    createTask({ taskId: 'forgotten' }),
    killTask({ taskId: 'forgotten' }),
    acquireNames({ names: ['forgotten'], metadata: 'm' }),
    later(TTL_MS),
    createTask({ taskId: 'waiting', queue: 'a', priority: 5, dedupKey: 'key' }),
    createTask({ taskId: null, queue: 'b', delayMs: 10 * TTL_MS }),
    createTask({ taskId: 'leased', queue: 'c' }),
    leaseTasks({ queues: ['c'], requestId: 'r1', ttlMs: 20 * TTL_MS }),
    createTask({ taskId: 'done', queue: 'd' }),
    leaseTasks({ queues: ['d'] }),
    completeTask({ taskId: 'done', result: 'result' }),
    createTask({ taskId: 'late', queue: 'e' }),
    leaseTasks({ queues: ['e'] }),
    later(TTL_MS),
    completeTask({ taskId: 'late', result: 'late result' }),
    leaseTasks({ queues: ['e'] }),
    failTask({ taskId: 'late', reason: 'ünlucky' }),
    pauseQueue('z'),
    pauseQueue('a'),
    acquireNames({ names: ['held', 'together'], metadata: 'm' }),
    writeObject({ objectId: 'held' }),
    acquireNames({ names: ['kept'] }),
    writeObject({ objectId: 'kept' }),
    releaseName({ name: 'kept' }),
    acquireNames({ names: ['idle'], token: 'one' }),
    acquireNames({ names: ['idle'], token: 'two' }),
    writeObject({ objectId: 'idle' }),
    deleteObject({ objectId: 'idle' }),
    releaseName({ name: 'idle', token: 'two' }),
    later(2 * TTL_MS),
  );
}

describe('an image', () => {
  it('reads back as the same state', () => {
    const { state } = fullStory();
    const restored = restoredFrom(state);
    checkInvariants(restored);
    expect([...imageOf(restored)]).toEqual([...imageOf(state)]);
  });

  it('begins with its position and goes on in a fixed order', () => {
    const kinds = [...imageOf(fullStory().state)].map(({ kind }) => kind);
    expect(kinds[0]).toBe('head');
    expect([...new Set(kinds)]).toEqual(['head', 'queue', 'task', 'name', 'free']);
  });

  it('names paused queues in an order that does not depend on how they came', () => {
    const paused = ({ state }: { state: State }) =>
      [...imageOf(state)].flatMap((record) => (record.kind === 'queue' ? [record.queue] : []));
    expect(paused(given(pauseQueue('b'), pauseQueue('a')))).toEqual(['a', 'b']);
    expect(paused(given(createTask({ queue: 'b' }), pauseQueue('a'), pauseQueue('b')))).toEqual(['a', 'b']);
  });

  it('keeps the order in which ended tasks and idle names will be forgotten', () => {
    const story = given(
      ...['one', 'two', 'three'].flatMap((id) => [
        createTask({ taskId: id }),
        acquireNames({ names: [id], token: id }),
      ]),
      ...['two', 'three', 'one'].flatMap((id) => [
        killTask({ taskId: id }),
        releaseName({ name: id, token: id }),
      ]),
    );
    const restored = restoredFrom(story.state);
    const order = ({ tasks, names }: State) => {
      const ids: string[] = [];
      for (let row = tasks.ended.first; row !== 0; row = tasks.ended.next(row)) ids.push(tasks.idOf(row));
      for (let row = names.idle.first; row !== 0; row = names.idle.next(row)) ids.push(names.nameOf(row));
      return ids;
    };
    expect(order(restored)).toEqual(['two', 'three', 'one', 'two', 'three', 'one']);
  });

  it('keeps free rows in the order in which they will be used again, also when there are many', () => {
    const story = scenario({ watch: 'end', retention: { endedTasksMs: 1 } });
    for (let index = 0; index < 5_000; index++) story.given(createTask({ taskId: `t${index}`, queue: 'a' }));
    for (let index = 0; index < 5_000; index++) story.given(killTask({ taskId: `t${(index * 7) % 5_000}` }));
    for (let round = 0; round < 6; round++) story.given(later(1));
    expect(story.state.tasks.rows.live).toBe(0);
    const restored = restoredFrom(story.state);
    expect([...restored.tasks.rows.freeRows()]).toEqual([...story.state.tasks.rows.freeRows()]);
    expect([...imageOf(restored)].filter(({ kind }) => kind === 'free')).toHaveLength(2);
  });

  it('puts a delayed task that has become due into its line', () => {
    const { state } = given(createTask({ delayMs: 10 }), at(START_MS + 10), acquireNames());
    const restored = restoredFrom(state);
    expect([restored.tasks.delayed.size, restored.tasks.queues.get('default')!.next()]).toEqual([0, 1]);
  });

  it('stands for a state that a restore changes alike, whatever order its leases had been in', () => {
    const names = ['a', 'b', 'c'];
    const story = new Scenario().given(...names.map((name) => acquireNames({ names: [name] })));
    const { state } = story.given(acquireNames({ names: ['b'], token: 'again' }));
    const restored = restoredFrom(state);
    const entry = {
      type: 'EpochStarted',
      epoch: 9,
      format: 'leasehold',
      version: 1,
      restored: true,
    } as const;
    for (const each of [restored, state]) apply(each, entry, 1_000, START_MS);
    expect(stateHash(restored)).toBe(stateHash(state));
  });

  it('of an empty state is its head alone', () => {
    expect([...imageOf(given().state)]).toEqual([
      {
        kind: 'head',
        lastSeq: 1,
        lastAtMs: START_MS,
        epoch: 1,
        epochStartedAtMs: START_MS,
        taskRows: 0,
        nameRows: 0,
      },
    ]);
  });

  it('goes on where it stopped', () => {
    fullStory()
      .given(restart())
      .when(releaseTask({ taskId: 'leased' }))
      .thenCommits()
      .when(createTask({ taskId: 'another', queue: 'a', dedupKey: 'key' }))
      .thenAnswers({ taskId: 'waiting', duplicate: true });
  });
});

/** References follow the bytes that a compaction has moved, and nothing else changes. */
import { describe, expect, it } from 'vitest';
import {
  acquireNames,
  checkpointTask,
  completeTask,
  createTask,
  killTask,
  leaseTasks,
  TTL_MS,
  writeObject,
} from '../../test/support/commands.ts';
import { later, Scenario } from '../../test/support/scenario.ts';
import { relocateRows, rowsToRelocate } from './relocate.ts';
import { stateHash } from './state-hash.ts';

/** One of each kind of reference: payload, result, late result, checkpoint, value, metadata. */
function createStory(): Scenario {
  return new Scenario().given(
    createTask({ taskId: 'done' }),
    leaseTasks(),
    completeTask({ taskId: 'done', result: 'result' }),
    createTask({ taskId: 'late' }),
    leaseTasks(),
    checkpointTask({ taskId: 'late' }),
    later(TTL_MS),
    completeTask({ taskId: 'late', result: 'late result' }),
    acquireNames({ metadata: 'metadata' }),
    writeObject(),
  );
}

function placesOf(story: Scenario): number[] {
  const [done, late, name] = [story.task('done'), story.task('late'), story.name('name')];
  return [
    done.payload,
    done.result!,
    late.payload,
    late.leases[0]!.lateResult!,
    late.checkpoint!,
    name.metadata!,
    name.object!.value,
  ].map(({ at }) => at);
}

describe('relocation', () => {
  it('moves every kind of reference once', () => {
    const story = createStory();
    const before = placesOf(story);
    relocateRows(story.state, 1, rowsToRelocate(story.state) + 1, (at) => at + 500);
    expect(placesOf(story)).toEqual(before.map((at) => at + 500));
  });

  it('may be done some rows at a time, and changes no answer', () => {
    const story = createStory();
    const before = placesOf(story);
    const hash = stateHash(story.state);
    relocateRows(story.state, 1, 2, (at) => at + 500);
    expect(placesOf(story).slice(2, 5)).toEqual(before.slice(2, 5));
    relocateRows(story.state, 2, rowsToRelocate(story.state) + 1, (at) => at + 500);
    expect(placesOf(story)).toEqual(before.map((at) => at + 500));
    expect(stateHash(story.state)).toBe(hash);
  });

  it.each([
    ['names', [createTask()], ['a', 'b', 'c']],
    ['tasks', [createTask({ taskId: 'x' }), createTask({ taskId: 'y' }), createTask({ taskId: 'z' })], ['a']],
  ] as const)('reaches the last row, when there are more %s than others', (_, tasks, names) => {
    const story = new Scenario().given(...tasks, acquireNames({ names: [...names], metadata: 'metadata' }));
    let asked = 0;
    relocateRows(story.state, 1, rowsToRelocate(story.state) + 1, (at) => {
      asked += 1;
      return at;
    });
    expect(asked).toBe(tasks.length + names.length);
  });

  it('leaves free rows alone', () => {
    const story = new Scenario({ retention: { endedTasksMs: 1 } }).given(createTask(), killTask(), later(1));
    const asked: number[] = [];
    relocateRows(story.state, 1, rowsToRelocate(story.state) + 1, (at) => {
      asked.push(at);
      return at;
    });
    expect(asked).toEqual([]);
  });
});

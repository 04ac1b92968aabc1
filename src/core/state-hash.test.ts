/** One number for a state: equal for equal states, different for anything that could change an answer. */
import { describe, expect, it } from 'vitest';
import {
  acquireNames,
  completeTask,
  createTask,
  extendLease,
  failTask,
  killTask,
  leaseTasks,
  pauseQueue,
  releaseName,
  renewName,
  TTL_MS,
  writeObject,
} from '../../test/support/commands.ts';
import { given, later, restoredFrom, Scenario, type Step } from '../../test/support/scenario.ts';
import { relocateRows, rowsToRelocate } from './relocate.ts';
import type { TaskRow } from './row-types.ts';
import { stateHash } from './state-hash.ts';

const hashAfter = (...steps: readonly Step[]): string => stateHash(new Scenario().given(...steps).state);

describe('the hash of a state', () => {
  it('is sixteen hexadecimal digits', () => {
    expect(hashAfter()).toMatch(/^[0-9a-f]{16}$/);
    expect(hashAfter(createTask(), acquireNames())).toMatch(/^[0-9a-f]{16}$/);
  });

  it('is the same for the same history', () => {
    const steps = [createTask(), leaseTasks(), acquireNames(), completeTask({ writes: [{}] })];
    expect(hashAfter(...steps)).toBe(hashAfter(...steps));
  });

  it('changes with every entry', () => {
    const story = given();
    const hashes = [stateHash(story.state)];
    for (const step of [
      createTask(),
      createTask({ taskId: 'x' }),
      leaseTasks(),
      later(1),
      extendLease(),
      failTask(),
      killTask({ taskId: 'x' }),
      acquireNames(),
      later(1),
      renewName(),
      writeObject(),
      writeObject(),
      releaseName(),
      pauseQueue(),
    ]) {
      story.given(step);
      if ('happens' in step) continue;
      hashes.push(stateHash(story.state));
    }
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it.each<[string, Step, Step]>([
    ['ids', createTask({ taskId: 'ab' }), createTask({ taskId: 'ba' })],
    ['payloads', createTask({ payload: 'ab' }), createTask({ payload: 'ba' })],
    ['queues', createTask({ queue: 'a' }), createTask({ queue: 'b' })],
    ['priorities', createTask({ priority: 1 }), createTask({ priority: -1 })],
    ['delays', createTask({ delayMs: 1 }), createTask({ delayMs: 2 })],
    ['limits', createTask({ maxAttempts: 1 }), createTask({ maxAttempts: 2 })],
    ['dedup keys', createTask({ dedupKey: 'a' }), createTask({ dedupKey: null })],
    ['holders', acquireNames({ holder: 'a' }), acquireNames({ holder: 'b' })],
    ['tokens', acquireNames({ token: 'a' }), acquireNames({ token: 'b' })],
    ['ends', acquireNames({ ttlMs: 10 }), acquireNames({ ttlMs: 11 })],
    ['metadata', acquireNames({ metadata: 'a' }), acquireNames()],
  ])('tells %s apart', (_, one, two) => {
    expect(hashAfter(one)).not.toBe(hashAfter(two));
  });

  it('sees the order of free rows, because it decides which row comes next', () => {
    const created = ['a', 'b', 'c'].map((taskId) => createTask({ taskId }));
    const hash = (...order: string[]): string => {
      const story = new Scenario({ retention: { endedTasksMs: 1 } }).given(...created);
      for (const taskId of order) story.given(killTask({ taskId }));
      return stateHash(story.given(later(TTL_MS)).state);
    };
    expect(hash('a', 'b', 'c')).not.toBe(hash('c', 'b', 'a'));
  });

  it('does not see where the log keeps bytes, which compaction changes', () => {
    const { state } = new Scenario().given(
      createTask(),
      leaseTasks(),
      acquireNames({ metadata: 'm' }),
      completeTask({ result: 'r', writes: [{}] }),
    );
    const row = 1 as TaskRow;
    const moved = restoredFrom(state);
    relocateRows(moved, 1, rowsToRelocate(moved) + 1, (at) => at + 1_000);
    expect(moved.tasks.payload.get(row)).not.toEqual(state.tasks.payload.get(row));
    expect(stateHash(moved)).toBe(stateHash(state));
  });
});

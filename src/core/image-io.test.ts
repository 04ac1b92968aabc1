/** Images: a state written out, and read back into an empty one, answers every question alike. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arbitraryEntryOf, arbitraryImageOf } from '../../test/support/arbitrary-records.ts';
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
} from '../../test/support/commands.ts';
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
import { apply } from './apply.ts';
import type { TaskCreated } from './entries.ts';
import type { LeaseImage, NameImage, ObjectImage, TaskImage } from './image.ts';
import { imageOf, restoreImage } from './image-io.ts';
import { checkInvariants } from './invariants.ts';
import { ROWS } from './row-table.ts';
import type { NameRow, TaskRow } from './row-types.ts';
import { createState, type State } from './state.ts';
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

  it('begins with its position and has a fixed order', () => {
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
      for (const row of tasks.inOrderOfEnd()) ids.push(tasks.idOf(row));
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
        forgottenThroughMs: 0,
      },
    ]);
  });

  it('continues where it stopped', () => {
    fullStory()
      .given(restart())
      .when(releaseTask({ taskId: 'leased' }))
      .thenCommits()
      .when(createTask({ taskId: 'another', queue: 'a', dedupKey: 'key' }))
      .thenAnswers({ taskId: 'waiting', duplicate: true });
  });
});

/** An arbitrary record as a row can keep it: texts are well-formed, counts have 32 bits, and bytes are elsewhere. */
function kept<T>(value: T, field = ''): T {
  if (Array.isArray(value)) return value.map((item) => kept(item)) as T;
  if (typeof value === 'string') return value.replaceAll(/\p{Cs}/gu, '?') as T;
  if (typeof value === 'number') return (COUNTS.includes(field) ? value >>> 0 : value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if ('bytes' in value) return { ...value, bytes: null, at: 7 };
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, kept(item, name)])) as T;
}

const COUNTS: readonly string[] = Object.entries(ROWS.TaskImage.fields).flatMap(([name, { kind }]) =>
  kind === 'count' ? [name] : [],
);

/** Only the lease of a task that is LEASED is live, and a task without an id of its own is known by its `createdSeq`. */
const keptTask = (arbitraryImageOf('task') as fc.Arbitrary<TaskImage>).map((image): TaskImage => {
  const leases = image.leases.map((lease): LeaseImage => ({ ...lease, end: 'expired' }));
  if (leases.length > 0 && image.state === 'LEASED') leases[0] = { ...leases[0]!, end: 'live' };
  const state = leases.length === 0 && image.state === 'LEASED' ? 'WAITING' : image.state;
  const createdSeq = typeof image.task === 'number' ? image.task : image.createdSeq;
  return { ...kept({ ...image, leases }), row: 1, state, createdSeq };
});

/** A grant has a token, and the version of the object is that of the name. */
const keptName = (arbitraryImageOf('name') as fc.Arbitrary<NameImage>).map((image): NameImage => {
  const object: ObjectImage | null = image.object && { ...image.object, version: image.version };
  const end = image.tokenHash === '' && image.end === 'live' ? 'none' : image.end;
  const { tokenHash, pastTokens } = image;
  return { ...kept({ ...image, object }), row: 1, end, tokenHash, pastTokens };
});

function restored(image: TaskImage | NameImage): State {
  const state = createState();
  const head = { lastSeq: 0, lastAtMs: 0, epoch: 0, epochStartedAtMs: 0, forgottenThroughMs: 0 };
  restoreImage(state, { kind: 'head', ...head, taskRows: 1, nameRows: 1 });
  restoreImage(state, image);
  return state;
}

describe('a row', () => {
  it('of a task gives back every field of its image', () => {
    fc.assert(
      fc.property(keptTask, (image) => {
        expect(restored(image).tasks.image(1 as TaskRow)).toEqual(image);
      }),
    );
  });

  it('of a name gives back every field of its image', () => {
    fc.assert(
      fc.property(keptName, (image) => {
        expect(restored(image).names.image(1 as NameRow)).toEqual(image);
      }),
    );
  });

  it('of a session gives back every field of its image', () => {
    fc.assert(
      fc.property(arbitraryImageOf('session'), (image) => {
        const state = createState();
        restoreImage(state, image);
        expect([...imageOf(state)][1]).toEqual(image);
      }),
    );
  });

  it('that is used again holds nothing of the task before, nor does anything else', () => {
    const [entry] = fc.sample(arbitraryEntryOf('TaskCreated'), { seed: 7, numRuns: 1 }) as [TaskCreated];
    const fresh = createState();
    fresh.tasks.create(entry, 1, 1);
    fc.assert(
      fc.property(keptTask, (image) => {
        const { tasks } = restored(image);
        tasks.leave(1 as TaskRow);
        tasks.forget(1 as TaskRow);
        expect([tasks.strings.size, tasks.leases.sparse.rows.live]).toEqual([0, 0]);
        tasks.create(entry, 1, 1);
        expect(tasks.image(1 as TaskRow)).toEqual(fresh.tasks.image(1 as TaskRow));
      }),
    );
  });
});

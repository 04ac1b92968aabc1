/** The order in which things happen: time, lines, and what comes before what. */
import { describe, expect, it } from 'vitest';
import {
  acquireGuard,
  acquireNames,
  breakName,
  type CommandBuilder,
  completeTask,
  createTask,
  extendLease,
  failTask,
  heartbeat,
  leaseTasks,
  pauseQueue,
  releaseName,
  releaseTask,
  renewName,
  resumeQueue,
  TTL_MS,
  wipeNames,
  writeObject,
} from '../../test/support/commands.ts';
import {
  at,
  by,
  given,
  hangUp,
  later,
  leave,
  restart,
  START_MS,
  type Step,
  scenario,
} from '../../test/support/scenario.ts';

const END_MS = START_MS + TTL_MS;
const WAIT_MS = 1_000;

/** A caller that asks for names and is ready to wait. */
function queueUp(who: string, names: readonly string[] = ['name'], waitMs = WAIT_MS): Step {
  return by(who, acquireNames({ names, holder: who, token: who, waitMs }));
}

const granted = (holder: string, names: readonly string[] = ['name']): Record<string, unknown> => ({
  leases: names.map((name) => ({ name, holder })),
  duplicate: false,
});

describe('waiting for a name', () => {
  it('is answered at once when the name is free', () => {
    given().when(queueUp('first')).thenServes('first', granted('first'));
  });

  it('stands in line while the name is held', () => {
    given(acquireNames()).when(queueUp('first')).thenStillWaits('first').thenRecordsNothing();
  });

  it.each<[string, Step]>([
    ['released', releaseName()],
    ['broken', breakName()],
    ['wiped', by('wiper', wipeNames())],
  ])('is granted in the same batch in which the lease is %s', (_, end) => {
    given(acquireGuard(), acquireNames(), queueUp('first'))
      .when(end)
      .thenServes('first', { leases: [{ holder: 'first', acquiredAtMs: START_MS, remainingMs: TTL_MS }] });
  });

  it('is granted in the millisecond in which the lease ends', () => {
    given(acquireNames({ ttlMs: 500 }), queueUp('first'))
      .when(at(START_MS + 499))
      .thenStillWaits('first')
      .when(at(START_MS + 500))
      .thenRecords('NameExpired', 'NameLeased')
      .thenServes('first', { leases: [{ holder: 'first', acquiredAtMs: START_MS + 500 }] });
  });

  it('is first come, first served', () => {
    const story = given(acquireNames(), queueUp('first'), queueUp('second'), queueUp('third'));
    story.when(releaseName()).thenServes('first', granted('first')).thenStillWaits('second', 'third');
    story.when(releaseName({ holder: 'first', token: 'first' })).thenServes('second', granted('second'));
    story.thenStillWaits('third');
    story.when(breakName()).thenServes('third', granted('third'));
  });

  it('is served before anything else: a caller of the same moment stands behind it', () => {
    given(acquireNames({ ttlMs: 500 }), queueUp('first'))
      .when(by('late', acquireNames({ holder: 'late', token: 'late' })), { atMs: START_MS + 500 })
      .thenRecords('NameExpired', 'NameLeased')
      .thenServes('late', { refused: 'LEASE_HELD', holder: 'first', remainingMs: TTL_MS });
  });

  it('ends when the wait has run out, with the lease in the way', () => {
    given(acquireNames(), queueUp('first'))
      .when(at(START_MS + WAIT_MS))
      .thenServes('first', { refused: 'LEASE_HELD', holder: 'holder', remainingMs: TTL_MS - WAIT_MS })
      .when(releaseName())
      .thenName('name', { end: 'released' });
  });

  it('has run out even when the name comes free in the same millisecond', () => {
    given(acquireNames({ ttlMs: WAIT_MS }), queueUp('first'), queueUp('second', ['name'], WAIT_MS + 1))
      .when(at(START_MS + WAIT_MS))
      .thenServes('first', { refused: 'LEASE_HELD' })
      .thenServes('second', granted('second'));
  });

  it('has not run out in the millisecond before', () => {
    given(acquireNames({ ttlMs: WAIT_MS - 1 }), queueUp('first'))
      .when(at(START_MS + WAIT_MS - 1))
      .thenServes('first', granted('first'));
  });

  it('grants nothing to a connection that has closed', () => {
    given(acquireNames(), queueUp('first'), queueUp('second'), hangUp('first'))
      .when(releaseName())
      .thenServes('second', granted('second'))
      .thenRecords('NameReleased', 'NameLeased')
      .thenServes('first', { refused: 'LEASE_HELD' });
  });

  it('lets those behind move up when a waiter leaves', () => {
    given(acquireNames({ names: ['a'] }), queueUp('first', ['a', 'b']), queueUp('second', ['b']))
      .when(leave('first'))
      .thenServes('second', granted('second', ['b']))
      .thenStillWaits('first');
  });

  it('does not survive a restart', () => {
    given(acquireNames({ ttlMs: 500 }), queueUp('first'), restart({ downMs: 500 }))
      .thenStillWaits('first')
      .thenName('name', { end: 'expired' });
  });

  it('is over for a token that an earlier grant had, and those behind are served', () => {
    given(
      acquireNames(),
      by('twin', acquireNames({ holder: 'late', token: 'late', waitMs: WAIT_MS })),
      queueUp('second'),
    )
      .given(by('late', acquireNames({ holder: 'late', token: 'late', waitMs: WAIT_MS })))
      .when(releaseName())
      .thenServes('twin', granted('late'))
      .when(releaseName({ holder: 'late', token: 'late' }))
      .thenServes('second', granted('second'))
      .when(releaseName({ holder: 'second', token: 'second' }))
      .thenServes('late', { refused: 'LEASE_NOT_HELD' });
  });

  it('gives a repeated request that waits as well the same grant', () => {
    given(
      acquireNames(),
      queueUp('first'),
      by('again', acquireNames({ holder: 'first', token: 'first', waitMs: WAIT_MS })),
    )
      .when(releaseName())
      .thenServes('first', { leases: [{ leaseSeq: 4 }], duplicate: false })
      .thenServes('again', { leases: [{ leaseSeq: 4 }], duplicate: true });
  });
});

describe('no caller passes a line', () => {
  const heldWithLine = [acquireNames({ names: ['a'] }), queueUp('both', ['a', 'b'])];

  it('not even for a name that is free', () => {
    given(...heldWithLine)
      .when(acquireNames({ names: ['b'], holder: 'late', token: 'late' }))
      .thenRefuses('LEASE_HELD', { holder: 'both', remainingMs: 0 })
      .thenRecordsNothing();
  });

  it('but may stand behind it', () => {
    given(...heldWithLine, queueUp('late', ['b']))
      .thenStillWaits('late')
      .when(releaseName({ name: 'a' }))
      .thenServes('both', { leases: [{ name: 'a' }, { name: 'b' }] })
      .thenStillWaits('late')
      .when(releaseName({ name: 'b', holder: 'both', token: 'both' }))
      .thenServes('late', { leases: [{ name: 'b', holder: 'late' }] });
  });

  it('except to take again what it holds itself', () => {
    const story = given(acquireNames(), queueUp('first'));
    story.when(acquireNames()).thenAnswers({ duplicate: true }).thenRecordsNothing();
    story.when(acquireNames({ token: 'new' })).thenAnswers({ leases: [{ holder: 'holder', leaseSeq: 3 }] });
    story.thenStillWaits('first');
    story.when(releaseName({ token: 'new' })).thenServes('first', granted('first'));
  });

  it('except to supersede a dead holder', () => {
    const story = given(acquireNames(), queueUp('first'));
    story
      .when(acquireNames({ holder: 'next', token: 'next', supersedes: story.name('name').leaseSeq }))
      .thenRecords('NameBroken', 'NameLeased')
      .thenAnswers({ leases: [{ holder: 'next' }] })
      .thenStillWaits('first')
      .when(releaseName({ holder: 'next', token: 'next' }))
      .thenServes('first', granted('first'));
  });

  it('not with a name of its own beside one that others wait for', () => {
    given(
      acquireNames({ names: ['a'] }),
      acquireNames({ names: ['c'], holder: 'late', token: 'late' }),
      queueUp('both', ['a', 'b']),
    )
      .when(acquireNames({ names: ['b', 'c'], holder: 'late', token: 'later' }))
      .thenRefuses('LEASE_HELD', { holder: 'both', name: 'b' });
  });

  it('when the line has dissolved the name is free again', () => {
    given(...heldWithLine, later(WAIT_MS))
      .when(acquireNames({ names: ['b'], holder: 'late', token: 'late' }))
      .thenAnswers({ leases: [{ name: 'b' }] });
  });
});

describe('waiting for several names', () => {
  it('is granted all in one entry when it heads each line and all are free', () => {
    const story = given(
      acquireNames({ names: ['a'] }),
      acquireNames({ names: ['b'] }),
      queueUp('both', ['a', 'b', 'c']),
    );
    story
      .when(releaseName({ name: 'a' }))
      .thenStillWaits('both')
      .thenRecords('NameReleased');
    story
      .when(releaseName({ name: 'b' }))
      .thenRecords('NameReleased', 'NameLeased')
      .thenServes('both', {
        leases: [
          { name: 'a', leaseSeq: 6 },
          { name: 'b', leaseSeq: 6 },
          { name: 'c', leaseSeq: 6 },
        ],
      });
  });

  it('waits until it heads every line, not only the one that moves', () => {
    given(
      acquireNames({ names: ['a'] }),
      acquireNames({ names: ['b'] }),
      queueUp('first', ['b']),
      queueUp('both', ['a', 'b']),
    )
      .when(releaseName({ name: 'a' }))
      .thenStillWaits('both')
      .when(releaseName({ name: 'b' }))
      .thenServes('first', granted('first', ['b']))
      .thenStillWaits('both')
      .when(releaseName({ name: 'b', holder: 'first', token: 'first' }))
      .thenServes('both', granted('both', ['a', 'b']));
  });

  it('does not pass a waiter before it in a blocked line, even if every name it wants is free', () => {
    given(
      acquireNames({ names: ['a'] }),
      acquireNames({ names: ['c'] }),
      queueUp('first', ['a', 'b']),
      queueUp('second', ['b', 'c']),
    )
      .when(releaseName({ name: 'c' }))
      .thenStillWaits('first', 'second')
      .thenRecords('NameReleased')
      .when(releaseName({ name: 'a' }))
      .thenServes('first', granted('first', ['a', 'b']))
      .thenStillWaits('second')
      .when(releaseName({ name: 'b', holder: 'first', token: 'first' }))
      .thenServes('second', granted('second', ['b', 'c']));
  });

  it('ends with the lease that was in the way, and not with one that it holds itself', () => {
    given(
      acquireNames({ names: ['a'], holder: 'both' }),
      acquireNames({ names: ['b'] }),
      queueUp('both', ['a', 'b']),
    )
      .when(at(START_MS + WAIT_MS))
      .thenServes('both', { refused: 'LEASE_HELD', holder: 'holder', remainingMs: TTL_MS - WAIT_MS });
  });

  it('holds its place in each line while others come and go', () => {
    given(
      acquireNames({ names: ['a'] }),
      acquireNames({ names: ['b'] }),
      queueUp('both', ['a', 'b']),
      queueUp('only b', ['b']),
    )
      .when(releaseName({ name: 'b' }))
      .thenStillWaits('both', 'only b')
      .when(releaseName({ name: 'a' }))
      .thenServes('both', granted('both', ['a', 'b']))
      .thenStillWaits('only b');
  });

  it('that gives up lets those behind it be served, in every line', () => {
    given(
      acquireNames({ names: ['a'] }),
      queueUp('both', ['a', 'b', 'c'], 500),
      queueUp('one', ['b']),
      queueUp('two', ['c']),
    )
      .when(at(START_MS + 500))
      .thenServes('both', { refused: 'LEASE_HELD', holder: 'holder' })
      .thenServes('one', granted('one', ['b']))
      .thenServes('two', granted('two', ['c']));
  });

  it('names the conflict: the line, when every name is free', () => {
    given(acquireNames({ names: ['a'] }), queueUp('both', ['a', 'b'], 900), queueUp('late', ['b'], 500))
      .when(at(START_MS + 500))
      .thenServes('late', { refused: 'LEASE_HELD', holder: 'both', remainingMs: 0 });
  });

  it('never blocks itself, whatever the order of the names', () => {
    given(
      acquireNames({ names: ['a', 'b'] }),
      queueUp('first', ['a', 'b']),
      queueUp('second', ['b', 'a']),
      releaseName({ name: 'b' }),
    )
      .when(releaseName({ name: 'a' }))
      .thenServes('first', granted('first', ['a', 'b']))
      .given(releaseName({ name: 'a', holder: 'first', token: 'first' }))
      .when(releaseName({ name: 'b', holder: 'first', token: 'first' }))
      .thenServes('second', granted('second', ['b', 'a']));
  });
});

describe('waiting for a task', () => {
  const worker = (who: string, more: Parameters<typeof leaseTasks>[0] = {}): Step =>
    by(who, leaseTasks({ workerId: who, waitMs: WAIT_MS, ...more }));

  it('is answered with the next task that is created', () => {
    given(worker('w1'))
      .when(createTask())
      .thenRecords('TaskCreated', 'LeaseGranted')
      .thenServes('w1', { leases: [{ taskId: 'task', attempt: 1 }], duplicate: false });
  });

  it('is first come, first served', () => {
    const story = given(worker('w1'), worker('w2'));
    story
      .when(createTask({ taskId: 'one' }))
      .thenServes('w1', { leases: [{ taskId: 'one' }] })
      .thenStillWaits('w2');
    story.when(createTask({ taskId: 'two' })).thenServes('w2', { leases: [{ taskId: 'two' }] });
  });

  it.each<[string, readonly Step[], Step]>([
    ['is released', [], releaseTask()],
    ['fails', [], failTask({ delayMs: 0 })],
    ['runs out', [], at(END_MS)],
    ['has a queue that is resumed', [releaseTask(), pauseQueue(), worker('w1')], resumeQueue()],
    ['becomes due', [releaseTask({ delayMs: 10 }), worker('w1')], later(10)],
  ])('is answered when a task %s', (_, before, end) => {
    const story = given(createTask(), leaseTasks(), ...before);
    if (before.length === 0) story.given(worker('w1', { waitMs: 2 * TTL_MS }));
    story.when(end).thenServes('w1', { leases: [{ taskId: 'task', attempt: 2 }] });
  });

  it('is answered with nothing when the wait has run out', () => {
    given(worker('w1'))
      .when(at(START_MS + WAIT_MS - 1))
      .thenStillWaits('w1')
      .when(at(START_MS + WAIT_MS))
      .thenServes('w1', { leases: [], duplicate: false })
      .thenRecordsNothing();
  });

  it('has run out even when a task becomes due in the same millisecond', () => {
    given(createTask({ delayMs: WAIT_MS }), worker('w1'))
      .when(at(START_MS + WAIT_MS))
      .thenServes('w1', { leases: [] })
      .thenTask('task', { state: 'WAITING', attempt: 0 });
  });

  it('grants nothing to a connection that has closed', () => {
    given(worker('w1'), worker('w2'), hangUp('w1'))
      .when(createTask())
      .thenServes('w1', { leases: [] })
      .thenServes('w2', { leases: [{ taskId: 'task' }] });
  });

  it('can be left', () => {
    given(worker('w1'), worker('w2'), leave('w1'))
      .when(createTask())
      .thenServes('w2', { leases: [{ taskId: 'task' }] });
  });

  it('in several queues is answered by whichever comes first', () => {
    given(worker('w1', { queues: ['a', 'b', 'a'] }))
      .when(createTask({ queue: 'b' }))
      .thenServes('w1', { leases: [{ queue: 'b' }] })
      .when(createTask({ taskId: 'second', queue: 'a' }))
      .thenTask('second', { state: 'WAITING' });
  });

  it('takes as many as it asked for when several become due at once', () => {
    given(
      createTask({ taskId: 'one', delayMs: 5 }),
      createTask({ taskId: 'two', delayMs: 5 }),
      worker('w1', { max: 5 }),
    )
      .when(later(5))
      .thenServes('w1', { leases: [{ taskId: 'one' }, { taskId: 'two' }] });
  });

  it('no worker takes from a queue in whose line another stands before it', () => {
    given(
      createTask({ taskId: 'plain', queue: 'a', delayMs: 5 }),
      createTask({ taskId: 'urgent', queue: 'b', delayMs: 5, priority: 9 }),
      worker('only b', { queues: ['b'] }),
      worker('both', { queues: ['a', 'b'] }),
    )
      .when(later(5))
      .thenServes('only b', { leases: [{ taskId: 'urgent' }] })
      .thenServes('both', { leases: [{ taskId: 'plain' }] });
  });

  it('repeated with the same request_id gives the same leases to both waiters', () => {
    given(
      worker('w1', { requestId: 'r1' }),
      by('again', leaseTasks({ workerId: 'w1', requestId: 'r1', waitMs: WAIT_MS })),
    )
      .given(createTask({ taskId: 'one' }))
      .when(createTask({ taskId: 'two' }))
      .thenServes('w1', { leases: [{ taskId: 'one' }] })
      .thenServes('again', { leases: [{ taskId: 'one', attempt: 1 }], duplicate: true })
      .thenTask('two', { state: 'WAITING' });
  });

  it('does not survive a restart', () => {
    given(worker('w1'), restart())
      .when(createTask())
      .thenStillWaits('w1')
      .thenTask('task', { state: 'WAITING' });
  });

  it('is served before the worker whose repeated request made the task free', () => {
    // More leases run out at once than one batch writes, so this one is written when its worker asks again.
    const story = scenario({ watch: 'end' }).given(pauseQueue('crowd'), resumeQueue('crowd'));
    for (let index = 0; index < 2_000; index++)
      story.given(createTask({ taskId: `crowd-${index}`, queue: 'crowd' }));
    story.given(leaseTasks({ queues: ['crowd'], max: 1_000 }), leaseTasks({ queues: ['crowd'], max: 1_000 }));
    story.given(createTask(), leaseTasks({ requestId: 'r1' }), worker('patient', { waitMs: 2 * TTL_MS }));
    story
      .when(leaseTasks({ requestId: 'r1' }), { atMs: END_MS })
      .thenLeases()
      .thenServes('patient', { leases: [{ taskId: 'task', attempt: 2 }] });
  });
});

describe('time', () => {
  it('never goes backwards, whatever the clock says', () => {
    given(acquireNames(), at(END_MS))
      .thenName('name', { end: 'expired' })
      .when(acquireNames({ token: 'new' }), { atMs: START_MS })
      .thenAnswers({ leases: [{ acquiredAtMs: END_MS }] });
  });

  it('never goes backwards between batches that wrote nothing', () => {
    given(at(START_MS + 500))
      .when(acquireNames(), { atMs: START_MS + 400 })
      .thenAnswers({ leases: [{ acquiredAtMs: START_MS + 500 }] });
  });

  it('never goes backwards over a restart, and no expired lease comes back', () => {
    given(acquireNames(), at(END_MS), restart({ downMs: -TTL_MS }))
      .thenName('name', { end: 'expired' })
      .when(renewName())
      .thenRefuses('LEASE_EXPIRED');
  });

  it('that jumps far ends everything it passes', () => {
    const story = given(createTask(), leaseTasks(), acquireNames(), at(START_MS + 1e11));
    story.thenTask('task', { state: 'WAITING' }).thenName('name', { end: 'expired' });
  });

  it('is written as an end before the subject is judged, by every command that names it', () => {
    const commands: [CommandBuilder, string][] = [
      [extendLease(), 'LeaseExpired'],
      [completeTask(), 'LeaseExpired'],
      [heartbeat(), 'LeaseExpired'],
      [renewName(), 'NameExpired'],
      [writeObject(), 'NameExpired'],
    ];
    for (const [command, type] of commands) {
      const story = given(createTask(), leaseTasks(), acquireNames()).when(command, { atMs: END_MS });
      expect(story.entries.map((entry) => entry.type)).toContain(type);
    }
  });

  it('reports when the next thing falls due', () => {
    const story = given();
    const nextMs = (): number => story.machine.nextDueMs();
    expect(nextMs()).toBe(Number.POSITIVE_INFINITY);
    story.given(acquireNames());
    expect(nextMs()).toBe(END_MS);
    story.given(queueUp('first', ['name'], 400));
    expect(nextMs()).toBe(START_MS + 400);
    story.given(by('w1', leaseTasks({ waitMs: 300 })));
    expect(nextMs()).toBe(START_MS + 300);
    story.given(createTask({ delayMs: 200 }));
    expect(nextMs()).toBe(START_MS + 200);
  });

  it('does not wake for delayed tasks while no worker waits for them', () => {
    expect(given(createTask({ delayMs: 200 })).machine.nextDueMs()).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('all waiters', () => {
  it('can be listed, so that all get an answer when the authority dies', () => {
    const story = given(
      acquireNames(),
      queueUp('first'),
      by('w1', leaseTasks({ workerId: 'w1', waitMs: 5 })),
    );
    expect([...story.machine.lines.all()].map(({ command }) => command.type)).toEqual([
      'AcquireNames',
      'LeaseTasks',
    ]);
    story.given(later(WAIT_MS));
    expect([...story.machine.lines.all()]).toEqual([]);
  });
});

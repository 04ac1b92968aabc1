/** Ends in time: what has run out is written, oldest first, a bounded number a batch. */
import { describe, expect, it } from 'vitest';
import {
  acceptIntent,
  acquireGuard,
  acquireNames,
  breakName,
  type CommandBuilder,
  completeTask,
  createTask,
  deleteObject,
  extendLease,
  failTask,
  heartbeat,
  heartbeatSession,
  leaseStarts,
  leaseTasks,
  newestSession,
  releaseName,
  releaseTask,
  renewName,
  startSession,
  TTL_MS,
  tokenHashOf,
  wipeNames,
  writeObject,
} from '../../test/support/commands.ts';
import { at, given, later, restart, START_MS, type Step, scenario } from '../../test/support/scenario.ts';
import { expireDue } from './expiry.ts';
import { ORCHESTRATOR_GUARD } from './reserved-names.ts';

const END_MS = START_MS + TTL_MS;

describe('a lease', () => {
  it('is valid while now < its end, and over from that millisecond', () => {
    const story = given(createTask(), leaseTasks(), acquireNames());
    story.when(at(END_MS - 1)).thenRecordsNothing();
    story.when(at(END_MS)).thenRecords('LeaseExpired', 'NameExpired');
    story
      .thenTask('task', { state: 'WAITING', dueAtMs: END_MS })
      .thenName('name', { end: 'expired', endedAtMs: END_MS });
  });

  it('ends once', () => {
    given(createTask(), leaseTasks(), acquireNames(), at(END_MS)).when(later(TTL_MS)).thenRecordsNothing();
  });

  it('that was prolonged ends at its new end only', () => {
    const story = given(createTask(), leaseTasks(), acquireNames(), later(10), extendLease(), renewName());
    story.when(at(END_MS)).thenRecordsNothing();
    story.when(at(END_MS + 9)).thenRecordsNothing();
    story.when(at(END_MS + 10)).thenRecords('LeaseExpired', 'NameExpired');
  });

  it('ends during replay only by its entry, whatever time it is', () => {
    given(acquireNames(), restart({ downMs: TTL_MS - 1 })).thenName('name', { end: 'live' });
    given(acquireNames(), restart({ downMs: TTL_MS })).thenName('name', { end: 'expired' });
  });

  it('says whether it fell due while the authority was down', () => {
    given(createTask(), leaseTasks(), restart({ downMs: TTL_MS })).thenTask('task', { countedAttempts: 0 });
    given(createTask(), leaseTasks())
      .when(at(END_MS))
      .thenRecordsEntry({ type: 'LeaseExpired', task: 'task', leaseSeq: 3, counted: true });
  });
});

describe('leases that run out together', () => {
  it('end in the order of their ends, tasks and names alike', () => {
    const story = given(
      createTask({ taskId: 'third' }),
      leaseTasks({ ttlMs: 30 }),
      acquireNames({ names: ['first'], ttlMs: 10 }),
      createTask({ taskId: 'second' }),
      leaseTasks({ ttlMs: 20 }),
      acquireNames({ names: ['fourth'], ttlMs: 40 }),
    ).when(later(TTL_MS));
    const order = story.entries.map((entry) =>
      'task' in entry ? entry.task : 'name' in entry ? entry.name : entry.type,
    );
    expect(order).toEqual(['first', 'second', 'third', 'fourth']);
  });

  it('end in the order of their ends, also when one was renewed to an end that has passed as well', () => {
    const story = given(
      acquireNames({ names: ['renewed'], ttlMs: 10 }),
      acquireNames({ names: ['plain'], ttlMs: 20 }),
      renewName({ name: 'renewed', ttlMs: 30 }),
    ).when(later(TTL_MS));
    expect(story.entries.map((entry) => 'name' in entry && entry.name)).toEqual(['plain', 'renewed']);
  });

  it('end in the order of their ends, also when one was extended to an end that has passed as well', () => {
    const story = given(
      createTask({ taskId: 'extended' }),
      createTask({ taskId: 'plain' }),
      leaseTasks({ ttlMs: 10 }),
      leaseTasks({ ttlMs: 20 }),
      extendLease({ taskId: 'extended', ttlMs: 30 }),
    ).when(later(TTL_MS));
    expect(story.entries.map((entry) => 'task' in entry && entry.task)).toEqual(['plain', 'extended']);
  });

  it('end in the order of their grants when their ends are one, whatever rows they have', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const story = given(...names.map((name) => acquireNames({ names: [name], token: `first ${name}` })));
    const order = ['d', 'b', 'g', 'a', 'f', 'c', 'e'];
    for (const name of order) story.given(acquireNames({ names: [name] }));
    story.when(at(END_MS));
    expect(story.entries.map((entry) => 'name' in entry && entry.name)).toEqual(order);
  });

  it('are written a bounded number a batch, and all in the end', () => {
    const story = scenario({ watch: 'end' });
    for (let index = 0; index < 1_500; index++) story.given(acquireNames({ names: [`n${index}`] }));
    story.when(at(END_MS));
    expect(story.entries).toHaveLength(1_000);
    expect(story.machine.nextDueMs()).toBeLessThanOrEqual(END_MS);
    story.when(at(END_MS));
    expect(story.entries).toHaveLength(500);
  });

  it('count as work even when they turn out to have been prolonged', () => {
    const story = given(
      acquireNames({ names: ['a'] }),
      acquireNames({ names: ['b'] }),
      renewName({ name: 'a', ttlMs: 99_999 }),
    );
    const written: string[] = [];
    expireDue(story.state, END_MS, 1, ({ type }) => written.push(type));
    expect(written).toEqual([]);
  });
});

describe('while more leases run out at once than one batch writes', () => {
  /** A thousand names share a grant, and each of them ends by an entry of its own. */
  const crowd = (letter: string): Step => {
    const names = Array.from({ length: 1_000 }, (_, index) => `${letter}${index}`);
    return acquireNames({ names, token: letter, ttlMs: TTL_MS - 1 });
  };

  /** What the last holder hears at the very end of its lease, although its turn to be written has not come. */
  const HEARD: readonly (readonly [what: string, command: CommandBuilder, hears: Record<string, unknown>])[] =
    [
      ['extend', extendLease(), { refused: 'LEASE_EXPIRED' }],
      ['complete', completeTask(), { outcome: 'CANCELLED', cause: 'expired' }],
      ['fail', failTask(), { outcome: 'CANCELLED', cause: 'expired' }],
      ['release', releaseTask(), { outcome: 'CANCELLED', cause: 'expired' }],
      ['heartbeat', heartbeat(), { extended: [], lost: [{ cause: 'expired' }] }],
      ['acquire', acquireNames(), { refused: 'LEASE_NOT_HELD' }],
      [
        'acquire by another',
        acquireNames({ holder: 'next', token: 'next' }),
        { leases: [{ holder: 'next' }] },
      ],
      ['renew', renewName(), { refused: 'LEASE_EXPIRED' }],
      ['let go', releaseName(), { released: false }],
      ['break', breakName(), { refused: 'LEASE_NOT_FOUND' }],
      ['write', writeObject(), { refused: 'LEASE_EXPIRED' }],
      ['delete', deleteObject(), { refused: 'LEASE_EXPIRED' }],
      ['wipe', wipeNames(), { refused: 'GUARD_NOT_HELD' }],
      [
        'complete with a write',
        completeTask({ taskId: 'long', writes: [{}] }),
        { refused: 'LEASE_EXPIRED', index: 0 },
      ],
    ];

  it.each(HEARD)('%s is judged by the time, not by what has been written', (_, command, hears) => {
    const story = scenario({ watch: 'end' }).given(crowd('a'), crowd('b'));
    story.given(
      createTask(),
      leaseTasks(),
      createTask({ taskId: 'long' }),
      leaseTasks({ ttlMs: 9 * TTL_MS }),
    );
    story.given(acquireNames(), acquireGuard()).when(command, { atMs: END_MS });
    expect(story.answer).toMatchObject(hears);
    expect(story.entries.filter(({ type }) => type === 'NameExpired').length).toBeGreaterThanOrEqual(1_000);
  });

  const LONG = { ttlMs: 9 * TTL_MS };
  const SLOT = 'lease:tuner:0';
  const lasting = acquireNames({ names: [ORCHESTRATOR_GUARD], ...LONG });
  const inTheWay = (name: string): Step => acquireNames({ names: [name], holder: 'x', token: 'x' });
  const serviceLease = { tokenHash: tokenHashOf('api'), ttlMs: TTL_MS };

  /** The same of what sessions need: what was there before, and what is heard when some of it is over. */
  const SESSIONS: readonly (readonly [
    what: string,
    before: readonly Step[],
    command: CommandBuilder,
    hears: Record<string, unknown>,
  ])[] = [
    [
      'to start a session without the guard',
      [acquireGuard(), acceptIntent(), leaseStarts(LONG)],
      startSession(),
      { refused: 'GUARD_NOT_HELD' },
    ],
    [
      'to start it without its start task',
      [lasting, acceptIntent(), leaseStarts()],
      startSession(),
      { refused: 'LEASE_EXPIRED' },
    ],
    [
      'to start it on a slot that is held',
      [lasting, acceptIntent(), leaseStarts(LONG), inTheWay(SLOT)],
      startSession({ slots: ['0'] }),
      { session: { state: 'STARTING', slot: '0' } },
    ],
    [
      'to ask for one whose service is held',
      [inTheWay('lease:service:service')],
      acceptIntent({ serviceLease }),
      { status: 'accepted' },
    ],
    [
      'to watch it',
      [lasting, acceptIntent(), leaseStarts(LONG), startSession()],
      heartbeatSession(),
      { refused: 'SESSION_TERMINAL', reason: 'R_LEASE_EXPIRED' },
    ],
  ];

  it.each(SESSIONS)('a command %s is judged by the time as well', (_, before, command, hears) => {
    const story = scenario({ watch: 'end' }).given(crowd('a'), crowd('b'), ...before);
    expect(story.when(command, { atMs: END_MS }).answer).toMatchObject(hears);
  });

  it('a wipe finds start tasks back already whose lease is over', () => {
    const story = scenario({ watch: 'end' }).given(crowd('a'), crowd('b'));
    story
      .given(lasting, acceptIntent(), leaseStarts())
      .when(wipeNames({ prefix: 'lease:' }), { atMs: END_MS })
      .thenTask(newestSession(story.state), { state: 'WAITING', countedAttempts: 1 });
  });

  it('a slot is no longer in use, and no violation is reported', () => {
    const story = scenario({ watch: 'end' }).given(crowd('a'), crowd('b'), lasting);
    story.given(acceptIntent(), leaseStarts(LONG), startSession(), at(END_MS));
    expect(story.machine.sessions.slotClaims()).toEqual({ inUse: 0, violations: [] });
  });
});

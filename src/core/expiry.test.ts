/** Ends in time: what has run out is written, oldest first, a bounded number a batch. */
import { describe, expect, it } from 'vitest';
import { at, given, later, restart, START_MS, scenario } from '../../test/support/scenario.ts';
import {
  acquireNames,
  createTask,
  extendLease,
  leaseTasks,
  renewName,
  TTL_MS,
} from '../../test/support/wishes.ts';
import { expireDue } from './expiry.ts';

const END_MS = START_MS + TTL_MS;

describe('a lease', () => {
  it('is valid while now < its end, and over from the very millisecond', () => {
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

  it('end in the order of their rows when their ends are one', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const story = given(...names.map((name) => acquireNames({ names: [name] }))).when(at(END_MS));
    expect(story.entries.map((entry) => 'name' in entry && entry.name)).toEqual(names);
  });

  it('are written a bounded number a batch, and all in the end', () => {
    const story = scenario({ watch: 'end' });
    for (let index = 0; index < 2_500; index++) story.given(acquireNames({ names: [`n${index}`] }));
    story.when(at(END_MS));
    expect(story.entries).toHaveLength(2_000);
    expect(story.machine.nextDueMs()).toBeLessThanOrEqual(END_MS);
    story.when(at(END_MS));
    expect(story.entries).toHaveLength(500);
  });

  it('do not keep a lease that is asked for from being judged', () => {
    const story = scenario({ watch: 'end' });
    for (let index = 0; index < 2_100; index++) story.given(acquireNames({ names: [`n${index}`] }));
    story.when(renewName({ name: 'n2099' }), { atMs: END_MS }).thenRefuses('LEASE_EXPIRED');
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

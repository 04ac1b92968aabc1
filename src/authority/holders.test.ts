// Notifying the holder of a lease that it has ended: the connection of the last grant or renewal, once, whether the end is
// durable before or after the reply to the grant was sent.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Entry } from '../core/entries.ts';
import { leaseIdOfSeq } from '../core/ids.ts';
import { Feed } from './feed.ts';
import { type HolderNews, type HolderSubscription, Holders } from './holders.ts';

let feed: Feed;
let holders: Holders;
let seq: number;

beforeEach(() => {
  feed = new Feed();
  holders = new Holders(feed);
  seq = 100;
});

/** They become durable. */
function happens(...entries: readonly Entry[]): void {
  feed.publish(entries.map((entry) => ({ seq: ++seq, atMs: 0, entry })));
}

function subscribed(): { readonly subscription: HolderSubscription; readonly told: HolderNews[] } {
  const told: HolderNews[] = [];
  return { subscription: holders.subscribe((news) => told.push(news) > 0), told };
}

const lost = (leaseSeq: number, cause: string, name = 'n') => ({
  type: 'lost',
  leaseSeq,
  subject: { name },
  cause,
});
const broken = (leaseSeq: number): Entry => ({ type: 'NameBroken', name: 'n', leaseSeq, reason: 'stuck' });
const granted = (name = 'n'): Entry => ({
  type: 'NameLeased',
  names: [name],
  holder: 'h',
  tokenHash: '',
  expiresAtMs: 1,
  metadata: null,
});
const taskLost = (leaseSeq: number, cause: string) => ({
  type: 'lost',
  leaseSeq,
  subject: { task_id: 't', lease_id: leaseIdOfSeq(leaseSeq) },
  cause,
});

describe('the holder of a name', () => {
  it.each([
    ['broken', broken(5)],
    ['expired', { type: 'NameExpired', name: 'n', leaseSeq: 5 }],
    ['wiped', { type: 'NamesWiped', prefix: '', count: 1 }],
    ['superseded', granted()],
  ] as const)('is told once that its lease is over: %s', (cause, entry) => {
    const { subscription, told } = subscribed();
    holders.holdName(subscription, 'n', 5);
    happens(entry);
    happens(entry);
    expect(told).toEqual([lost(5, cause)]);
  });

  it('is told of an end that was durable before the reply to its grant had left', () => {
    const { subscription, told } = subscribed();
    happens(broken(5));
    expect(told).toEqual([]);
    holders.holdName(subscription, 'n', 5);
    expect(told).toEqual([lost(5, 'broken')]);
    happens(broken(5));
    expect(told).toHaveLength(1);
  });

  it.each([
    ['wiped', { type: 'NamesWiped', prefix: '', count: 1 }],
    ['superseded', granted()],
  ] as const)('is told the same when its grant was %s in the batch that granted it', (cause, entry) => {
    const { subscription, told } = subscribed();
    happens(granted(), entry);
    holders.holdName(subscription, 'n', 101);
    expect(told).toEqual([lost(101, cause)]);
    happens(granted());
    expect(told).toHaveLength(1);
  });

  it.each([
    ['broken', broken(101)],
    ['wiped', { type: 'NamesWiped', prefix: '', count: 1 }],
    ['superseded', granted()],
  ] as const)(
    'is told once of a grant that was %s, when further replies of the batch name it',
    (cause, entry) => {
      const [before, after] = [subscribed(), subscribed()];
      happens(granted());
      holders.holdName(before.subscription, 'n', 101);
      happens(entry);
      holders.holdName(before.subscription, 'n', 101);
      happens(granted());
      expect(before.told).toEqual([lost(101, cause)]);

      seq = 100;
      happens(granted(), entry);
      holders.holdName(after.subscription, 'n', 101);
      holders.holdName(after.subscription, 'n', 101);
      happens(granted());
      expect(after.told).toEqual([lost(101, cause)]);
    },
  );

  it('is told over each connection whose reply names it, when two renewed it in the batch that ended it', () => {
    const [one, other] = [subscribed(), subscribed()];
    holders.holdName(one.subscription, 'n', 5);
    happens(broken(5));
    holders.holdName(other.subscription, 'n', 5);
    holders.holdName(one.subscription, 'n', 5);
    happens(granted());
    expect([one.told, other.told]).toEqual([[lost(5, 'broken')], [lost(5, 'broken')]]);
  });

  it('is told of each of the names that were granted together', () => {
    const { subscription, told } = subscribed();
    happens(broken(5), { type: 'NameBroken', name: 'o', leaseSeq: 5, reason: 'stuck' });
    for (const name of ['n', 'o']) holders.holdName(subscription, name, 5);
    expect(told).toEqual([lost(5, 'broken'), lost(5, 'broken', 'o')]);
  });

  it('is not told of a wipe or a grant before its own in the same batch, nor of a wipe of other names', () => {
    const { subscription, told } = subscribed();
    happens(granted(), { type: 'NamesWiped', prefix: '', count: 1 }, granted(), {
      type: 'NamesWiped',
      prefix: 'm',
      count: 0,
    });
    holders.holdName(subscription, 'n', 103);
    expect(told).toEqual([]);
    happens({ type: 'NameBroken', name: 'n', leaseSeq: 103, reason: 'stuck' });
    expect(told).toEqual([lost(103, 'broken')]);
  });

  it('is told once, with the cause of its own end, when the name was granted again in that batch', () => {
    const { subscription, told } = subscribed();
    happens(granted(), { type: 'NameBroken', name: 'n', leaseSeq: 101, reason: 'stuck' }, granted());
    holders.holdName(subscription, 'n', 101);
    expect(told).toEqual([lost(101, 'broken')]);
  });

  it('is not told of the end of another grant, nor of its own release', () => {
    const { subscription, told } = subscribed();
    holders.holdName(subscription, 'n', 5);
    happens(broken(4), { type: 'NameReleased', name: 'n', leaseSeq: 5 }, granted());
    expect(told).toEqual([]);
  });

  it('is not told of the next grant when its renewal was answered in the batch that released the name', () => {
    const { subscription, told } = subscribed();
    holders.holdName(subscription, 'n', 5);
    holders.holdName(subscription, 'o', 5);
    happens({ type: 'NameReleased', name: 'n', leaseSeq: 5 });
    holders.holdName(subscription, 'n', 5);
    holders.holdName(subscription, 'o', 5);
    happens(granted(), granted('o'));
    expect(told).toEqual([lost(5, 'superseded', 'o')]);
  });

  it('is the one that renewed it last', () => {
    const [one, other] = [subscribed(), subscribed()];
    holders.holdName(one.subscription, 'n', 5);
    holders.holdName(other.subscription, 'n', 5);
    holders.unsubscribe(one.subscription);
    happens(broken(5));
    expect([one.told, other.told]).toEqual([[], [lost(5, 'broken')]]);
  });

  it.each([
    ['in order', [5, 6]],
    ['the newer first', [6, 5]],
  ])('is the newest of two grants in one batch, when their replies leave %s', (_, order) => {
    const subscriptions = new Map([5, 6].map((leaseSeq) => [leaseSeq, subscribed()]));
    for (const leaseSeq of order) holders.holdName(subscriptions.get(leaseSeq)!.subscription, 'n', leaseSeq);
    expect(subscriptions.get(5)!.told).toEqual([lost(5, 'superseded')]);
    happens(broken(6));
    expect(subscriptions.get(6)!.told).toEqual([lost(6, 'broken')]);
  });

  it('keeps a guard when the leases beside it are wiped', () => {
    const { subscription, told } = subscribed();
    holders.holdName(subscription, 'system:orchestrator:main', 4);
    holders.holdName(subscription, 'n', 5);
    happens({ type: 'NamesWiped', prefix: '', count: 1 });
    expect(told).toEqual([lost(5, 'wiped')]);
  });
});

describe('the holder of a task', () => {
  it.each([
    ['expired', { type: 'LeaseExpired', task: 't', leaseSeq: 5, counted: true }],
    ['killed', { type: 'TaskDead', task: 't', leaseSeq: 5, reason: 'no', detail: null }],
  ] as const)(
    'is told that its lease is over, before or after the reply to its grant: %s',
    (cause, entry) => {
      const [before, after] = [subscribed(), subscribed()];
      holders.holdTask(before.subscription, 5);
      happens(entry);
      expect(before.told).toEqual([taskLost(5, cause)]);
      happens(entry);
      holders.holdTask(after.subscription, 5);
      expect([before.told.length, after.told]).toEqual([1, [taskLost(5, cause)]]);
    },
  );

  it('is told that the task is to be cancelled, and later that its lease is over', () => {
    const { subscription, told } = subscribed();
    holders.holdTask(subscription, 5);
    happens({ type: 'TaskCancelRequested', task: 't', leaseSeq: 5, reason: 'a mistake' });
    happens({ type: 'LeaseExpired', task: 't', leaseSeq: 5, counted: true });
    expect(told).toEqual([
      { type: 'cancel', leaseSeq: 5, subject: taskLost(5, '').subject, reason: 'a mistake' },
      taskLost(5, 'expired'),
    ]);
  });

  it('is not told of its own verdict', () => {
    const { subscription, told } = subscribed();
    holders.holdTask(subscription, 5);
    happens({ type: 'TaskCompleted', task: 't', leaseSeq: 5, result: null, writes: [] });
    happens({ type: 'TaskDead', task: 't', leaseSeq: 5, reason: 'no', detail: null });
    expect(told).toEqual([]);
  });

  it.each([
    ['its verdict', { type: 'TaskCompleted', task: 't', leaseSeq: 5, result: null, writes: [] }],
    ['its death', { type: 'TaskDead', task: 't', leaseSeq: 5, reason: 'no', detail: null }],
  ] as const)('is forgotten when its extension was answered in the batch of %s', (_, entry) => {
    const { subscription } = subscribed();
    holders.holdTask(subscription, 5);
    happens(entry);
    holders.holdTask(subscription, 5);
    expect(subscription.tasks.size).toBe(0);
  });
});

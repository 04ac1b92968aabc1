/**
 * Notifies the holder of a lease: the connection over which it was last acquired, renewed or extended. A holder is notified when
 * its lease ends without its own request, when its task should be cancelled, and when another caller asks it to give way: after
 * the entry is durable, after the reply with the grant has been sent, and at most once. Soft state: deadlines decide, a
 * notification is only earlier.
 *
 *   reply sent ─► hold ─► end of the lease in the feed ─► notified, forgotten
 *
 * An end may be durable before the reply with its grant is sent (payloads are read in between). So the newest ends without a
 * holder are kept for a while.
 */
import type { Entry } from '../core/entries.ts';
import { taskIdOfKey } from '../core/entry-json.ts';
import { leaseIdOfSeq } from '../core/ids.ts';
import { GUARD_PREFIX } from '../core/reserved-names.ts';
import type { LoggedEntry } from '../engines/log.ts';
import type { Feed } from './feed.ts';

export type HolderNews =
  | { readonly type: 'lost'; readonly leaseSeq: number; readonly subject: Subject; readonly cause: string }
  | { readonly type: 'cancel'; readonly leaseSeq: number; readonly subject: Subject; readonly reason: string }
  | { readonly type: 'asked'; readonly leaseSeq: number; readonly subject: Subject; readonly reason: string };

/** A name, or a task with the id of its lease. */
export type Subject = { readonly name: string } | { readonly task_id: string; readonly lease_id: string };

/** Receives the news of a lease. True when the news reached its holder. */
export type HolderListener = (news: HolderNews) => boolean;

/** How many ends are kept for replies that have not been sent. */
const MISSED_MAX = 1_024;

/** The end of a lease, and who was notified of it. */
interface Ended {
  readonly news: HolderNews;
  readonly notified: Set<HolderSubscription>;
}

/** The leases that one connection holds, and how to notify it. */
export class HolderSubscription {
  readonly notify: HolderListener;
  readonly names = new Map<string, number>();
  readonly tasks = new Set<number>();

  constructor(notify: HolderListener) {
    this.notify = notify;
  }
}

export class Holders {
  private readonly feed: Feed;
  private readonly byName = new Map<string, HolderSubscription>();
  private readonly byTask = new Map<number, HolderSubscription>();
  /** Notified of every lease: in process there is no reply to wait for. */
  private readonly listeners = new Set<HolderListener>();
  private subscriptions = 0;
  private readonly missed = new Map<number | string, HolderNews>();
  /**
   * Leases that the newest batch ended: null for those that their holder ended. A renewal in the same batch is answered after
   * that, and its connection is notified unless it was already.
   */
  private readonly over = new Map<number | string, Ended | null>();
  /** The wipes of the newest batch, and its newest grant of each name: they end grants whose replies follow. */
  private readonly granted = new Map<string, number>();
  private readonly wipes: { readonly prefix: string; readonly seq: number }[] = [];
  private unfollow: (() => void) | null = null;

  constructor(feed: Feed) {
    this.feed = feed;
  }

  subscribe(notify: HolderListener): HolderSubscription {
    this.subscriptions += 1;
    this.follow();
    return new HolderSubscription(notify);
  }

  unsubscribe(subscription: HolderSubscription): void {
    for (const name of subscription.names.keys())
      if (this.byName.get(name) === subscription) this.byName.delete(name);
    for (const leaseSeq of subscription.tasks)
      if (this.byTask.get(leaseSeq) === subscription) this.byTask.delete(leaseSeq);
    this.subscriptions -= 1;
    this.unfollowIfIdle();
  }

  /** Notifies of every lease until the returned function is called. */
  listen(listener: HolderListener): () => void {
    this.listeners.add(listener);
    this.follow();
    return () => {
      this.listeners.delete(listener);
      this.unfollowIfIdle();
    };
  }

  /** A reply that names the holder was sent. */
  holdName(subscription: HolderSubscription, name: string, leaseSeq: number): void {
    if (this.over.size > 0 && this.isOver(subscription, grantOf(name, leaseSeq))) return;
    const before = this.byName.get(name);
    const current = before?.names.get(name) ?? leaseSeq;
    // Two grants of a name in one batch: their replies may leave in any order.
    if (current > leaseSeq) return this.end(subscription, lostName(name, leaseSeq, 'superseded'));
    if (current < leaseSeq) this.loseName(name, current, 'superseded');
    else if (before !== subscription) before?.names.delete(name);
    this.byName.set(name, subscription);
    subscription.names.set(name, leaseSeq);
    this.deliverMissed(subscription, leaseSeq, name);
    const cause = this.lossInBatch(name, leaseSeq);
    if (cause !== null && this.forgetName(name, leaseSeq) !== undefined)
      this.end(subscription, lostName(name, leaseSeq, cause));
  }

  holdTask(subscription: HolderSubscription, leaseSeq: number): void {
    if (this.isOver(subscription, leaseSeq)) return;
    const before = this.byTask.get(leaseSeq);
    if (before !== undefined && before !== subscription) before.tasks.delete(leaseSeq);
    this.byTask.set(leaseSeq, subscription);
    subscription.tasks.add(leaseSeq);
    this.deliverMissed(subscription, leaseSeq, null);
  }

  /** Asks the holder of exactly this grant to give way; false when it cannot be notified. */
  ask(name: string, leaseSeq: number, reason: string): boolean {
    const news: HolderNews = { type: 'asked', leaseSeq, subject: { name }, reason };
    let isNotified = false;
    for (const listener of this.listeners) if (listener(news)) isNotified = true;
    const subscription = this.byName.get(name);
    if (subscription?.names.get(name) !== leaseSeq) return isNotified;
    return subscription.notify(news) || isNotified;
  }

  private follow(): void {
    this.unfollow ??= this.feed.follow(this.look);
  }

  private unfollowIfIdle(): void {
    if (this.subscriptions > 0 || this.listeners.size > 0) return;
    this.unfollow?.();
    this.unfollow = null;
    this.missed.clear();
    this.forgetBatch();
  }

  private forgetBatch(): void {
    this.over.clear();
    this.granted.clear();
    this.wipes.length = 0;
  }

  private readonly look = (entries: readonly LoggedEntry[]): void => {
    this.forgetBatch();
    for (let index = 0; index < entries.length; index++)
      this.note(entries[index]!.entry, entries[index]!.seq);
  };

  private note(entry: Entry, seq: number): void {
    switch (entry.type) {
      case 'NameLeased':
        for (const name of entry.names) this.supersede(name, seq);
        return;
      case 'NameReleased':
        this.forgetName(entry.name, entry.leaseSeq);
        this.over.set(grantOf(entry.name, entry.leaseSeq), null);
        return;
      case 'NameExpired':
        return this.loseName(entry.name, entry.leaseSeq, 'expired');
      case 'NameBroken':
        return this.loseName(entry.name, entry.leaseSeq, 'broken');
      case 'NamesWiped':
        this.wipes.push({ prefix: entry.prefix, seq });
        return this.wipe(entry.prefix);
      case 'TaskCompleted':
      case 'TaskFailed':
      case 'TaskReleased':
        this.forgetTask(entry.leaseSeq);
        this.over.set(entry.leaseSeq, null);
        return;
      case 'LeaseExpired':
        return this.loseTask(entry.task, entry.leaseSeq, 'expired');
      case 'TaskDead':
        if (entry.leaseSeq !== 0) this.loseTask(entry.task, entry.leaseSeq, 'killed');
        return;
      case 'TaskCancelRequested': {
        const { leaseSeq, reason } = entry;
        const news = { type: 'cancel', leaseSeq, subject: taskOf(entry.task, leaseSeq), reason } as const;
        return this.notify(this.byTask.get(leaseSeq), news);
      }
      default:
    }
  }

  /** The newest grant of a name fences out the one before. */
  private supersede(name: string, seq: number): void {
    this.granted.set(name, seq);
    const leaseSeq = this.byName.get(name)?.names.get(name);
    if (leaseSeq !== undefined && leaseSeq < seq) this.loseName(name, leaseSeq, 'superseded');
  }

  private wipe(prefix: string): void {
    for (const [name, subscription] of [...this.byName]) {
      if (isWiped(name, prefix)) this.loseName(name, subscription.names.get(name)!, 'wiped');
    }
  }

  /** Why a grant that was neither given up nor missed is over since the newest batch; null when it is not. */
  private lossInBatch(name: string, leaseSeq: number): string | null {
    if (this.wipes.some(({ prefix, seq }) => leaseSeq < seq && isWiped(name, prefix))) return 'wiped';
    return (this.granted.get(name) ?? leaseSeq) > leaseSeq ? 'superseded' : null;
  }

  private loseName(name: string, leaseSeq: number, cause: string): void {
    this.notify(this.forgetName(name, leaseSeq), lostName(name, leaseSeq, cause));
  }

  private loseTask(task: number | string, leaseSeq: number, cause: string): void {
    const subscription = this.forgetTask(leaseSeq);
    this.notify(subscription, { type: 'lost', leaseSeq, subject: taskOf(task, leaseSeq), cause });
  }

  private forgetName(name: string, leaseSeq: number): HolderSubscription | undefined {
    const subscription = this.byName.get(name);
    if (subscription?.names.get(name) !== leaseSeq) return undefined;
    this.byName.delete(name);
    subscription.names.delete(name);
    return subscription;
  }

  private forgetTask(leaseSeq: number): HolderSubscription | undefined {
    const subscription = this.byTask.get(leaseSeq);
    this.byTask.delete(leaseSeq);
    subscription?.tasks.delete(leaseSeq);
    return subscription;
  }

  private notify(subscription: HolderSubscription | undefined, news: HolderNews): void {
    for (const listener of this.listeners) listener(news);
    if (subscription !== undefined) this.end(subscription, news);
    else if (this.subscriptions > 0) this.keepMissed(news);
  }

  /** Notifies a holder. If its lease has ended, later replies of the batch that name it as the holder do not count. */
  private end(subscription: HolderSubscription, news: HolderNews): void {
    if (news.type === 'lost') this.over.set(keyOf(news), { news, notified: new Set([subscription]) });
    subscription.notify(news);
  }

  /** Whether the newest batch ended the lease that a reply has just named. */
  private isOver(subscription: HolderSubscription, key: number | string): boolean {
    const ended = this.over.get(key);
    if (ended === undefined) return false;
    if (ended === null || ended.notified.has(subscription)) return true;
    ended.notified.add(subscription);
    subscription.notify(ended.news);
    return true;
  }

  private keepMissed(news: HolderNews): void {
    if (this.missed.size >= MISSED_MAX) this.missed.delete(this.missed.keys().next().value!);
    this.missed.set(keyOf(news), news);
  }

  private deliverMissed(subscription: HolderSubscription, leaseSeq: number, name: string | null): void {
    if (this.missed.size === 0) return;
    const key = name === null ? leaseSeq : grantOf(name, leaseSeq);
    const news = this.missed.get(key);
    if (news === undefined) return;
    this.missed.delete(key);
    if (news.type === 'lost' && name !== null) this.forgetName(name, leaseSeq);
    else if (news.type === 'lost') this.forgetTask(leaseSeq);
    this.end(subscription, news);
  }
}

function keyOf({ leaseSeq, subject }: HolderNews): number | string {
  return 'name' in subject ? grantOf(subject.name, leaseSeq) : leaseSeq;
}

function lostName(name: string, leaseSeq: number, cause: string): HolderNews {
  return { type: 'lost', leaseSeq, subject: { name }, cause };
}

function isWiped(name: string, prefix: string): boolean {
  return name.startsWith(prefix) && !name.startsWith(GUARD_PREFIX);
}

/** Names that were granted together have one number. */
function grantOf(name: string, leaseSeq: number): string {
  return `${leaseSeq} ${name}`;
}

function taskOf(task: number | string, leaseSeq: number): Subject {
  return { task_id: taskIdOfKey(task), lease_id: leaseIdOfSeq(leaseSeq) };
}

/**
 * Who is to be told about a lease: the connection over which it was last acquired, renewed or extended. Holders are told when a
 * lease ends otherwise than by their own word, when a task is to be cancelled, and when they are asked to give way; after the
 * entry is durable, after the reply that told of the grant, and at most once. Soft state: deadlines decide, being told is sooner.
 *
 *   reply leaves ─► hold ─► end of the lease in the feed ─► told, forgotten
 *
 * An end may be durable before the reply to its grant has left (payloads are read in between). So the newest ends that found no
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

/** A connection, or whatever else can be told. True when it concerned it. */
export type Hear = (news: HolderNews) => boolean;

/** So many ends are remembered for replies that have not left yet. */
const MISSED_MAX = 1_024;

/** What one connection holds. */
export class HolderSeat {
  readonly hear: Hear;
  readonly names = new Map<string, number>();
  readonly tasks = new Set<number>();

  constructor(hear: Hear) {
    this.hear = hear;
  }
}

export class Holders {
  private readonly feed: Feed;
  private readonly byName = new Map<string, HolderSeat>();
  private readonly byTask = new Map<number, HolderSeat>();
  /** Those that are told everything: in process there is no reply to wait for. */
  private readonly listeners = new Set<Hear>();
  private seats = 0;
  private readonly missed = new Map<number, HolderNews>();
  private unfollow: (() => void) | null = null;

  constructor(feed: Feed) {
    this.feed = feed;
  }

  open(hear: Hear): HolderSeat {
    this.seats += 1;
    this.follow();
    return new HolderSeat(hear);
  }

  close(seat: HolderSeat): void {
    for (const name of seat.names.keys()) if (this.byName.get(name) === seat) this.byName.delete(name);
    for (const leaseSeq of seat.tasks) if (this.byTask.get(leaseSeq) === seat) this.byTask.delete(leaseSeq);
    this.seats -= 1;
    this.rest();
  }

  /** Tells of everything until the result is called. */
  listen(hear: Hear): () => void {
    this.listeners.add(hear);
    this.follow();
    return () => {
      this.listeners.delete(hear);
      this.rest();
    };
  }

  /** A reply that says who holds the name has left. */
  holdName(seat: HolderSeat, name: string, leaseSeq: number): void {
    const before = this.byName.get(name);
    const current = before?.names.get(name) ?? leaseSeq;
    // Two grants of a name in one batch: their replies may leave in any order.
    if (current > leaseSeq) {
      seat.hear({ type: 'lost', leaseSeq, subject: { name }, cause: 'superseded' });
      return;
    }
    if (current < leaseSeq) this.loseName(name, current, 'superseded');
    else if (before !== seat) before?.names.delete(name);
    this.byName.set(name, seat);
    seat.names.set(name, leaseSeq);
    this.tellMissed(seat, leaseSeq, name);
  }

  holdTask(seat: HolderSeat, leaseSeq: number): void {
    const before = this.byTask.get(leaseSeq);
    if (before !== undefined && before !== seat) before.tasks.delete(leaseSeq);
    this.byTask.set(leaseSeq, seat);
    seat.tasks.add(leaseSeq);
    this.tellMissed(seat, leaseSeq, null);
  }

  /** Asks the holder of this very grant to give way; false when it cannot be told. */
  ask(name: string, leaseSeq: number, reason: string): boolean {
    const news: HolderNews = { type: 'asked', leaseSeq, subject: { name }, reason };
    let isTold = false;
    for (const hear of this.listeners) if (hear(news)) isTold = true;
    const seat = this.byName.get(name);
    if (seat?.names.get(name) !== leaseSeq) return isTold;
    return seat.hear(news) || isTold;
  }

  private follow(): void {
    this.unfollow ??= this.feed.follow(this.look);
  }

  private rest(): void {
    if (this.seats > 0 || this.listeners.size > 0) return;
    this.unfollow?.();
    this.unfollow = null;
    this.missed.clear();
  }

  private readonly look = (entries: readonly LoggedEntry[]): void => {
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
        return;
      case 'NameExpired':
        return this.loseName(entry.name, entry.leaseSeq, 'expired');
      case 'NameBroken':
        return this.loseName(entry.name, entry.leaseSeq, 'broken');
      case 'NamesWiped':
        return this.wipe(entry.prefix);
      case 'TaskCompleted':
      case 'TaskFailed':
      case 'TaskReleased':
        this.forgetTask(entry.leaseSeq);
        return;
      case 'LeaseExpired':
        return this.loseTask(entry.task, entry.leaseSeq, 'expired');
      case 'TaskDead':
        if (entry.leaseSeq !== 0) this.loseTask(entry.task, entry.leaseSeq, 'killed');
        return;
      case 'TaskCancelRequested': {
        const { leaseSeq, reason } = entry;
        const news = { type: 'cancel', leaseSeq, subject: taskOf(entry.task, leaseSeq), reason } as const;
        return this.tell(this.byTask.get(leaseSeq), news);
      }
      default:
    }
  }

  /** The newest grant of a name fences out the one before. */
  private supersede(name: string, seq: number): void {
    const leaseSeq = this.byName.get(name)?.names.get(name);
    if (leaseSeq !== undefined && leaseSeq < seq) this.loseName(name, leaseSeq, 'superseded');
  }

  private wipe(prefix: string): void {
    for (const [name, seat] of [...this.byName]) {
      if (!name.startsWith(prefix) || name.startsWith(GUARD_PREFIX)) continue;
      this.loseName(name, seat.names.get(name)!, 'wiped');
    }
  }

  private loseName(name: string, leaseSeq: number, cause: string): void {
    const seat = this.forgetName(name, leaseSeq);
    this.tell(seat, { type: 'lost', leaseSeq, subject: { name }, cause });
  }

  private loseTask(task: number | string, leaseSeq: number, cause: string): void {
    const seat = this.forgetTask(leaseSeq);
    this.tell(seat, { type: 'lost', leaseSeq, subject: taskOf(task, leaseSeq), cause });
  }

  private forgetName(name: string, leaseSeq: number): HolderSeat | undefined {
    const seat = this.byName.get(name);
    if (seat?.names.get(name) !== leaseSeq) return undefined;
    this.byName.delete(name);
    seat.names.delete(name);
    return seat;
  }

  private forgetTask(leaseSeq: number): HolderSeat | undefined {
    const seat = this.byTask.get(leaseSeq);
    this.byTask.delete(leaseSeq);
    seat?.tasks.delete(leaseSeq);
    return seat;
  }

  private tell(seat: HolderSeat | undefined, news: HolderNews): void {
    for (const hear of this.listeners) hear(news);
    if (seat !== undefined) seat.hear(news);
    else if (this.seats > 0) this.miss(news);
  }

  private miss(news: HolderNews): void {
    if (this.missed.size >= MISSED_MAX) this.missed.delete(this.missed.keys().next().value!);
    this.missed.set(news.leaseSeq, news);
  }

  private tellMissed(seat: HolderSeat, leaseSeq: number, name: string | null): void {
    const news = this.missed.size === 0 ? undefined : this.missed.get(leaseSeq);
    if (news === undefined || (name !== null && (news.subject as { name?: string }).name !== name)) return;
    this.missed.delete(leaseSeq);
    if (news.type === 'lost' && name !== null) this.forgetName(name, leaseSeq);
    else if (news.type === 'lost') this.forgetTask(leaseSeq);
    seat.hear(news);
  }
}

function taskOf(task: number | string, leaseSeq: number): Subject {
  return { task_id: taskIdOfKey(task), lease_id: leaseIdOfSeq(leaseSeq) };
}

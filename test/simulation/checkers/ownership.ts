// Who owns what, from the entries alone: a few maps, no rules. It believes every entry, also one that no fair authority
// could have written; whether it could is for the checkers to say, who look at what was true just before it.
import type { Era, Fact } from './reading.ts';
import { list, millis, namesOf, text, whole } from './reading.ts';

export interface Lease {
  readonly seq: number;
  /** The holder of a name, the worker of a task. */
  readonly owner: string;
  readonly tokenHash: string;
  readonly grant: Fact;
  expiresAtMs: number;
  /** The entry that last moved its end. */
  newest: Fact;
}

export interface Name {
  /** Null once an entry has ended it. */
  lease: Lease | null;
  /** The newest grant, live or not. */
  last: Lease;
  /** The entry that ended the newest grant; null while it lives. */
  end: Fact | null;
}

export interface Task {
  readonly created: Fact;
  state: 'WAITING' | 'LEASED' | 'COMPLETED' | 'FAILED' | 'DEAD';
  lease: Lease | null;
  attempt: number;
  /** Attempts that count against `max_attempts`. */
  counted: number;
  dueAtMs: number;
  failures: number;
  queue: string;
  /** Its cancellation was asked for while it was leased. */
  isCancelled: boolean;
  /** The entry that runs it again, once it has ended. */
  requeued: Fact | null;
  changed: Fact;
}

export interface Session {
  readonly accepted: Fact;
  state: 'NEW' | 'STARTING' | 'READY' | 'STOPPING' | 'STOPPED' | 'FAILED' | 'CANCELLED';
  slot: string;
  /** Of its service and slot; 0 while it has none. */
  leaseSeq: number;
  changed: Fact;
}

export interface Write {
  readonly objectId: string;
  readonly leaseSeq: number;
  readonly version: number;
}

export const GUARD_PREFIX = 'system:';
export const GUARD = 'system:orchestrator:guard_lock';

export class Ownership {
  readonly names = new Map<string, Name>();
  readonly tasks = new Map<string, Task>();
  readonly sessions = new Map<string, Session>();
  /** Versions of objects, those of deleted ones included. */
  readonly versions = new Map<string, number>();

  apply(fact: Fact): void {
    const { entry } = fact;
    switch (entry.type) {
      case 'NameLeased':
        for (const name of namesOf(entry)) this.take(name, fact);
        return;
      case 'NameRenewed':
        this.prolong(this.names.get(text(entry.name))?.lease, millis(entry.expires_at), fact);
        return;
      case 'NameReleased':
      case 'NameExpired':
      case 'NameBroken':
        this.endName(text(entry.name), fact);
        return;
      case 'NamesWiped':
        for (const name of this.wipedBy(text(entry.prefix))) this.endName(name, fact);
        return;
      case 'ObjectWritten':
      case 'ObjectDeleted':
        this.versions.set(text(entry.object_id), whole(entry.version));
        return;
      case 'EpochStarted':
        if (entry.restored === true) this.endAll(fact);
        return;
      case 'Forgotten':
        for (const name of Array.isArray(entry.names) ? entry.names.map(text) : []) this.forgetName(name);
        for (const id of Array.isArray(entry.task_ids) ? entry.task_ids.map(text) : []) this.tasks.delete(id);
        for (const id of Array.isArray(entry.session_ids) ? entry.session_ids.map(text) : [])
          this.sessions.delete(id);
        return;
      case 'IntentAccepted':
        this.sessions.set(text(entry.session_id), {
          accepted: fact,
          state: 'NEW',
          slot: '',
          leaseSeq: 0,
          changed: fact,
        });
        this.createTask(text(entry.task_id), fact, fact.atMs);
        return;
      case 'SessionChanged':
        this.changeSession(fact);
        return;
      default:
        this.applyToTask(fact);
    }
  }

  /** The live names that a wipe of this prefix ends. */
  wipedBy(prefix: string): string[] {
    return [...this.names]
      .filter(
        ([name, { lease }]) => lease !== null && name.startsWith(prefix) && !name.startsWith(GUARD_PREFIX),
      )
      .map(([name]) => name);
  }

  /** Whether a session that runs still holds its service and its slot. */
  isServed({ state, slot, leaseSeq }: Session): boolean {
    if (!isRunning(state)) return true;
    let held = 0;
    for (const { lease } of this.names.values()) if (lease?.seq === leaseSeq) held += 1;
    return held === 2 && this.names.get(`lease:tuner:${slot}`)?.lease?.seq === leaseSeq;
  }

  private changeSession(fact: Fact): void {
    const { entry } = fact;
    const session = this.sessions.get(text(entry.session_id));
    if (session === undefined) return;
    session.state = text(entry.state) as Session['state'];
    session.slot = text(entry.slot);
    session.leaseSeq = whole(entry.lease_seq) || 0;
    session.changed = fact;
    if (isRunning(session.state) || session.leaseSeq === 0) return;
    for (const [name, { lease }] of this.names) if (lease?.seq === session.leaseSeq) this.endName(name, fact);
  }

  private createTask(id: string, fact: Fact, dueAtMs: number): void {
    const idle = {
      state: 'WAITING',
      lease: null,
      attempt: 0,
      counted: 0,
      failures: 0,
      requeued: null,
      isCancelled: false,
    } as const;
    const queue = text(fact.entry.queue);
    this.tasks.set(id, { created: fact, ...idle, queue, dueAtMs, changed: fact });
    const origin = this.tasks.get(text(fact.entry.requeued_from));
    if (origin !== undefined) origin.requeued = fact;
  }

  private applyToTask(fact: Fact): void {
    const { entry } = fact;
    const id = text(entry.task_id);
    if (entry.type === 'TaskCreated') return this.createTask(id, fact, millis(entry.due_at));
    if (entry.type === 'ScheduleFired') {
      if (id !== '') this.createTask(id, fact, fact.atMs);
      return;
    }
    const task = this.tasks.get(id);
    if (task === undefined) return;
    switch (entry.type) {
      case 'LeaseGranted':
        task.attempt = whole(entry.attempt);
        task.counted += 1;
        task.lease = leaseOf(fact, text(entry.worker_id), millis(entry.expiry_timestamp));
        task.state = 'LEASED';
        break;
      case 'LeaseExtended':
        this.prolong(task.lease, millis(entry.new_expiry_timestamp), fact);
        break;
      case 'LeaseExpired':
        if (entry.counted === false) task.counted -= 1;
        move(task, 'WAITING', fact.atMs);
        break;
      case 'TaskCompleted':
        for (const write of writesIn(fact)) this.versions.set(write.objectId, write.version);
        move(task, 'COMPLETED', 0);
        break;
      case 'TaskFailed':
        task.failures += 1;
        if (entry.next_state === 'FAILED') move(task, 'FAILED', 0);
        else move(task, 'WAITING', entry.next_state === 'DEAD' ? fact.atMs : millis(entry.due_at));
        break;
      case 'TaskReleased':
        task.counted -= 1;
        move(task, 'WAITING', millis(entry.due_at));
        break;
      case 'TaskDead':
        move(task, 'DEAD', 0);
        break;
      case 'TaskCancelRequested':
        task.isCancelled = true;
        break;
      case 'TaskChanged':
        task.queue = text(entry.queue);
        task.dueAtMs = millis(entry.due_at);
        break;
      case 'TaskCheckpointed':
        break;
      default:
        return;
    }
    task.changed = fact;
  }

  private take(name: string, fact: Fact): void {
    const { entry } = fact;
    const lease = leaseOf(fact, text(entry.holder), millis(entry.expires_at), text(entry.token_sha256));
    this.names.set(name, { lease, last: lease, end: null });
  }

  private prolong(lease: Lease | null | undefined, expiresAtMs: number, fact: Fact): void {
    if (lease === null || lease === undefined) return;
    lease.expiresAtMs = expiresAtMs;
    lease.newest = fact;
  }

  private endName(name: string, fact: Fact): void {
    const known = this.names.get(name);
    if (known === undefined || known.lease === null) return;
    known.lease = null;
    known.end = fact;
  }

  private endAll(fact: Fact): void {
    for (const name of this.names.keys()) this.endName(name, fact);
    for (const task of this.tasks.values()) {
      if (task.state !== 'LEASED') continue;
      task.counted -= 1;
      move(task, task.isCancelled ? 'DEAD' : 'WAITING', fact.atMs);
    }
    for (const session of this.sessions.values()) {
      if (!isRunning(session.state)) continue;
      session.state = session.state === 'STOPPING' ? 'STOPPED' : 'FAILED';
      session.changed = fact;
    }
  }

  private forgetName(name: string): void {
    this.names.delete(name);
    this.versions.delete(name);
  }
}

export function isRunning(state: Session['state']): boolean {
  return state === 'STARTING' || state === 'READY' || state === 'STOPPING';
}

function leaseOf(grant: Fact, owner: string, expiresAtMs: number, tokenHash = ''): Lease {
  return { seq: grant.seq, owner, tokenHash, grant, expiresAtMs, newest: grant };
}

function move(task: Task, state: Task['state'], dueAtMs: number): void {
  task.state = state;
  task.lease = null;
  task.dueAtMs = dueAtMs;
}

/** The fenced writes that an entry makes. */
export function writesIn({ entry }: Fact): Write[] {
  const written = entry.type === 'TaskCompleted' ? list(entry.writes) : [entry];
  if (entry.type !== 'TaskCompleted' && entry.type !== 'ObjectWritten' && entry.type !== 'ObjectDeleted')
    return [];
  return written.map((write) => ({
    objectId: text(write.object_id),
    leaseSeq: whole(write.lease_seq),
    version: whole(write.version),
  }));
}

/** Every entry of an era with what was true just before it. What was kept was judged with the era it comes from. */
export function follow({ facts, kept }: Era, look: (fact: Fact, before: Ownership) => void): Ownership {
  const ownership = new Ownership();
  for (const [index, fact] of facts.entries()) {
    if (index >= kept) look(fact, ownership);
    ownership.apply(fact);
  }
  return ownership;
}

// Who owns what, said once more in the simplest possible way: a few maps and the rules of ownership, nothing else. It reads
// the log as an observer would and complains about any fact that a fair authority could not have written.
import { expect } from 'vitest';
import type {
  Entry,
  FencedWrite,
  Intent,
  IntentAccepted,
  SessionChanged,
  TaskKey,
} from '../../src/core/entries.ts';
import { sessionIdOfSeq } from '../../src/core/ids.ts';

interface Lease {
  readonly seq: number;
  readonly holder: string;
  expiresAtMs: number;
}

interface Task {
  state: 'WAITING' | 'LEASED' | 'ENDED';
  attempt: number;
  lease: Lease | null;
  isCancelled?: true;
}

interface Session {
  readonly id: string;
  readonly service: string;
  slot: string | null;
  state: 'WAITING' | 'RUNNING' | 'ENDED';
}

export class OwnershipModel {
  readonly tasks = new Map<TaskKey, Task>();
  readonly names = new Map<string, Lease | null>();
  /** By the position of their intent. */
  readonly sessions = new Map<number, Session>();
  /** The highest number granted for anything. */
  newest = 0;
  private lastSeq = 0;
  private atMs = 0;

  observe(seq: number, atMs: number, entry: Entry): void {
    expect(seq, 'positions grow').toBeGreaterThan(this.lastSeq);
    expect(atMs, 'time never goes backwards').toBeGreaterThanOrEqual(this.atMs);
    this.lastSeq = seq;
    this.atMs = atMs;
    this.judge(seq, entry);
  }

  /** The holder of a name by the authority's clock; null when it is free. */
  holderOf(name: string, nowMs: number): string | null {
    const lease = this.names.get(name) ?? null;
    return lease !== null && nowMs < lease.expiresAtMs ? lease.holder : null;
  }

  private judge(seq: number, entry: Entry): void {
    switch (entry.type) {
      case 'TaskCreated':
        expect(this.tasks.has(entry.task), 'an id belongs to one task').toBe(false);
        this.tasks.set(entry.task, { state: 'WAITING', attempt: 0, lease: null });
        return;
      case 'ScheduleFired':
        if (entry.task === null) return;
        expect(this.tasks.has(entry.task), 'an id belongs to one task').toBe(false);
        this.tasks.set(entry.task, { state: 'WAITING', attempt: 0, lease: null });
        return;
      case 'LeaseGranted': {
        const task = this.task(entry.task);
        expect(task, 'only a WAITING task is leased').toMatchObject({ state: 'WAITING', lease: null });
        expect(task.isCancelled, 'a cancelled task is never leased again').toBeUndefined();
        expect(entry.attempt, 'attempts count one by one').toBe(task.attempt + 1);
        task.attempt += 1;
        task.state = 'LEASED';
        task.lease = this.grant(seq, entry.workerId, entry.expiresAtMs);
        return;
      }
      case 'LeaseExtended':
        this.prolong(this.held(entry.task, entry.leaseSeq), entry.expiresAtMs);
        return;
      case 'LeaseExpired': {
        const task = this.task(entry.task);
        expect(task.lease?.seq).toBe(entry.leaseSeq);
        expect(task.lease!.expiresAtMs, 'nothing ends before its time').toBeLessThanOrEqual(this.atMs);
        this.end(task, 'WAITING');
        return;
      }
      case 'TaskCompleted':
        this.held(entry.task, entry.leaseSeq);
        for (const write of entry.writes) this.checkWrite(write);
        this.end(this.task(entry.task), 'ENDED');
        return;
      case 'TaskFailed':
        this.held(entry.task, entry.leaseSeq);
        this.end(this.task(entry.task), entry.nextState === 'FAILED' ? 'ENDED' : 'WAITING');
        return;
      case 'TaskReleased':
        this.held(entry.task, entry.leaseSeq);
        this.end(this.task(entry.task), 'WAITING');
        return;
      case 'TaskCancelled':
        expect(this.task(entry.task).lease?.seq, 'a holder is never cancelled').not.toBe(entry.leaseSeq);
        return;
      case 'TaskDead':
        expect(this.task(entry.task).state, 'terminal is for ever').not.toBe('ENDED');
        this.end(this.task(entry.task), 'ENDED');
        return;
      case 'TaskCancelRequested':
        this.held(entry.task, entry.leaseSeq);
        this.task(entry.task).isCancelled = true;
        return;
      case 'TaskCheckpointed':
        this.held(entry.task, entry.leaseSeq);
        return;
      case 'TaskChanged':
        expect(this.task(entry.task).state, 'only a WAITING task is changed').toBe('WAITING');
        return;
      case 'NameLeased':
        for (const name of entry.names) {
          const holder = this.names.get(name)?.holder ?? entry.holder;
          expect(holder, `${name} has at most one live holder`).toBe(entry.holder);
          this.names.set(name, null);
        }
        for (const name of entry.names)
          this.names.set(name, this.grant(seq, entry.holder, entry.expiresAtMs));
        return;
      case 'NameRenewed':
        this.prolong(this.heldName(entry.name, entry.leaseSeq), entry.expiresAtMs);
        return;
      case 'NameExpired':
        expect(this.names.get(entry.name)!.expiresAtMs).toBeLessThanOrEqual(this.atMs);
        this.names.set(entry.name, null);
        return;
      case 'NameReleased':
      case 'NameBroken':
        this.heldName(entry.name, entry.leaseSeq);
        this.names.set(entry.name, null);
        return;
      case 'NamesWiped':
        for (const name of this.names.keys()) {
          if (name.startsWith(entry.prefix) && !name.startsWith('system:')) this.names.set(name, null);
        }
        return;
      case 'ObjectWritten':
        this.checkWrite(entry);
        return;
      case 'ObjectDeleted':
        this.heldName(entry.objectId, entry.leaseSeq);
        return;
      case 'EpochStarted':
        if (entry.restored) this.endAll();
        return;
      case 'Forgotten':
        for (const key of entry.tasks) {
          expect(this.task(key).state, 'only what has ended is forgotten').toBe('ENDED');
          this.tasks.delete(key);
        }
        for (const name of entry.names) {
          expect(this.names.get(name) ?? null, 'only a name without holder is forgotten').toBeNull();
          this.names.delete(name);
        }
        for (const session of entry.sessions) {
          expect(this.sessions.get(session)?.state, 'only what has ended is forgotten').toBe('ENDED');
          this.sessions.delete(session);
        }
        return;
      case 'IntentAccepted':
        this.accept(seq, entry);
        return;
      case 'SessionChanged':
        this.change(entry);
        return;
      case 'QueueLimited':
      case 'QueuePaused':
      case 'QueueResumed':
        return;
    }
  }

  private accept(seq: number, { intent }: IntentAccepted): void {
    const id = sessionIdOfSeq(seq);
    expect(this.tasks.has(id), 'an id belongs to one task').toBe(false);
    this.tasks.set(id, { state: 'WAITING', attempt: 0, lease: null });
    this.sessions.set(seq, { id, service: serviceOf(intent), slot: null, state: 'WAITING' });
  }

  private change(entry: SessionChanged): void {
    const session = this.sessions.get(entry.session);
    expect(session, `session ${entry.session}`).toBeDefined();
    expect(session!.state, 'terminal is for ever').not.toBe('ENDED');
    if (entry.state === 'STOPPED' || entry.state === 'FAILED' || entry.state === 'CANCELLED') {
      this.endSession(session!);
      return;
    }
    session!.slot = `lease:tuner:${entry.slot}`;
    session!.state = 'RUNNING';
    for (const name of [session!.service, session!.slot]) {
      expect(this.heldName(name, entry.leaseSeq).holder, `${name} is the session's own`).toBe(session!.id);
    }
    const sharing = [...this.sessions.values()].filter(
      ({ slot, state }) => state === 'RUNNING' && slot === session!.slot,
    );
    expect(sharing, 'a slot carries one session').toEqual([session]);
  }

  private endSession(session: Session): void {
    session.state = 'ENDED';
    for (const name of [session.service, session.slot]) {
      if (name !== null && this.names.get(name)?.holder === session.id) this.names.set(name, null);
    }
  }

  private grant(seq: number, holder: string, expiresAtMs: number): Lease {
    expect(seq, 'lease numbers grow strictly').toBeGreaterThanOrEqual(this.newest);
    expect(expiresAtMs).toBeGreaterThan(this.atMs);
    this.newest = seq;
    return { seq, holder, expiresAtMs };
  }

  private task(key: TaskKey): Task {
    const task = this.tasks.get(key);
    expect(task, `task ${key}`).toBeDefined();
    return task!;
  }

  /** The lease that a caller presents. It must be current and not expired. */
  private held(key: TaskKey, leaseSeq: number): Lease {
    return this.live(this.task(key).lease, leaseSeq);
  }

  private heldName(name: string, leaseSeq: number): Lease {
    return this.live(this.names.get(name) ?? null, leaseSeq);
  }

  private live(lease: Lease | null, leaseSeq: number): Lease {
    expect(lease?.seq, 'only the holder acts').toBe(leaseSeq);
    expect(lease!.expiresAtMs, 'no holder acts after the end').toBeGreaterThan(this.atMs);
    return lease!;
  }

  private prolong(lease: Lease, expiresAtMs: number): void {
    expect(expiresAtMs, 'never shortened').toBeGreaterThan(lease.expiresAtMs);
    lease.expiresAtMs = expiresAtMs;
  }

  private checkWrite({ objectId, leaseSeq }: FencedWrite): void {
    this.heldName(objectId, leaseSeq);
  }

  private end(task: Task, state: Task['state']): void {
    task.lease = null;
    task.state = state;
  }

  private endAll(): void {
    for (const task of this.tasks.values()) {
      if (task.lease !== null) this.end(task, task.isCancelled ? 'ENDED' : 'WAITING');
    }
    for (const name of this.names.keys()) this.names.set(name, null);
    for (const session of this.sessions.values()) {
      if (session.state === 'RUNNING') this.endSession(session);
    }
  }
}

/** As section 4 of the specification names it; a live intent has no start. */
function serviceOf({ type, target, startMs }: Intent): string {
  return type === 'live' ? `lease:service:${target}` : `lease:vod:${target}:${Math.floor(startMs / 1_000)}`;
}

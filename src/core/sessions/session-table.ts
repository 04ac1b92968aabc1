/**
 * The sessions, and how they are found: by the position of their intent, by idempotency key while they can still
 * be shared, by the grant that their service and slot have in common. The number of slots bounds those that run, and
 * retention bounds those that have ended, so plain maps are enough.
 */
import type { SessionView } from '../answers.ts';
import { seqOfSessionId, sessionIdOfSeq } from '../ids.ts';
import type { Session } from '../row-objects.ts';
import type { Seq } from '../row-types.ts';

export type { Session };

export function hasEnded({ state }: Pick<Session, 'state'>): boolean {
  return state === 'STOPPED' || state === 'FAILED' || state === 'CANCELLED';
}

/** It holds its service and its slot, and ends when it loses one of them. */
export function isRunning({ state }: Session): boolean {
  return state === 'STARTING' || state === 'READY' || state === 'STOPPING';
}

/** Whether repeating the intent returns this session. */
function isShared({ state }: Session): boolean {
  return state === 'NEW' || state === 'STARTING' || state === 'READY';
}

export class SessionTable {
  /** Sessions that have not ended, in order of creation. */
  readonly open = new Map<Seq, Session>();
  /** Ended sessions in the order of their end, which is the order in which they are forgotten. */
  readonly ended = new Map<Seq, Session>();
  private readonly byKey = new Map<string, Session>();
  private readonly byLease = new Map<Seq, Session>();

  at(seq: Seq): Session | undefined {
    return this.open.get(seq) ?? this.ended.get(seq);
  }

  /** The next session to forget. */
  get firstEnded(): Session | undefined {
    return this.ended.size === 0 ? undefined : this.ended.values().next().value;
  }

  /** By its id on the wire. */
  find(sessionId: string): Session | undefined {
    return this.at(seqOfSessionId(sessionId));
  }

  findByKey(key: string): Session | undefined {
    return this.byKey.get(key);
  }

  /** The running session whose service and slot were taken at this position. */
  findByLease(leaseSeq: Seq): Session | undefined {
    return this.byLease.get(leaseSeq);
  }

  running(): IterableIterator<Session> {
    return this.byLease.values();
  }

  get runningCount(): number {
    return this.byLease.size;
  }

  get keyCount(): number {
    return this.byKey.size;
  }

  /** Adds a session to the maps of its state; `leave` has removed it from the previous ones. */
  enter(session: Session): void {
    (hasEnded(session) ? this.ended : this.open).set(session.seq, session);
    if (isShared(session)) this.byKey.set(session.key, session);
    if (isRunning(session)) this.byLease.set(session.leaseSeq, session);
  }

  /** Stays in `open` while it has not ended: the order there is that of the intents. */
  leave(session: Session): void {
    if (this.byKey.get(session.key) === session) this.byKey.delete(session.key);
    this.byLease.delete(session.leaseSeq);
  }

  end(session: Session): void {
    this.open.delete(session.seq);
  }

  forget(seq: Seq): void {
    this.ended.delete(seq);
  }
}

export function sessionView(session: Session): SessionView {
  const { seq, intent, state, reason, reasonDetail, slot, leaseSeq, createdAtMs, updatedAtMs } = session;
  return {
    sessionId: sessionIdOfSeq(seq),
    intent,
    state,
    reason,
    reasonDetail,
    slot,
    leaseSeq,
    createdAtMs,
    updatedAtMs,
    seq: session.lastSeq,
  };
}

/** The effect of each entry about a session: the session itself, its start task, and the leases that its end releases. */
import { endName } from '../apply-names.ts';
import { check } from '../check.ts';
import type { Forgotten, IntentAccepted, SessionChanged } from '../entries.ts';
import { sessionIdOfSeq } from '../ids.ts';
import { PLAIN_TASK } from '../plain-task.ts';
import { SESSION_LEASES, START_QUEUE } from '../reserved-names.ts';
import type { Seq } from '../row-types.ts';
import type { State } from '../state.ts';
import { namesOf } from './session-names.ts';
import { changed, mayBecome, stepOf } from './session-rules.ts';
import { hasEnded, isRunning, type Session } from './session-table.ts';

/**
 * The start task is an ordinary task with the usual policy; leasing it needs the guard. No entry stores these
 * numbers, so they belong to the log format: other numbers would change the meaning of old logs.
 */
const START_POLICY = {
  queue: START_QUEUE,
  priority: 0,
  maxFailures: 5,
  backoffMs: 1_000,
  maxBackoffMs: 300_000,
  maxAttempts: 100,
  ...PLAIN_TASK,
} as const;

export function acceptIntent(state: State, entry: IntentAccepted, seq: Seq, atMs: number): void {
  const { sessions, tasks } = state;
  const { intent, serviceName, key, payload } = entry;
  const task = sessionIdOfSeq(seq);
  check(sessions.findByKey(key) === undefined, entry, seq, 'the key is taken');
  check(tasks.at(task) === 0, entry, seq, 'the start task exists');
  check(serviceName.startsWith(SESSION_LEASES), entry, seq, 'a wipe would not find its lease');
  tasks.create({ ...START_POLICY, task, dueAtMs: atMs, payload }, seq, atMs);
  sessions.enter({
    seq,
    intent,
    serviceName,
    key,
    state: 'NEW',
    reason: null,
    reasonDetail: null,
    slot: null,
    leaseSeq: 0,
    createdAtMs: atMs,
    updatedAtMs: atMs,
    lastSeq: seq,
  });
}

export function changeSession(state: State, entry: SessionChanged, seq: Seq, atMs: number): void {
  const { sessions, names } = state;
  const session = sessions.at(entry.session);
  check(session !== undefined, entry, seq, 'the session is unknown');
  check(
    mayBecome(session.state, entry.state),
    entry,
    seq,
    `a session that is ${session.state} cannot become it`,
  );
  const isKept = session.reason === null || entry.reason === session.reason;
  check(isKept, entry, seq, 'the first reason wins');
  move(state, session, entry, seq, atMs);
  if (isRunning(session)) {
    for (const name of namesOf(session)) {
      const row = names.find(name);
      const isHeld = row !== 0 && names.isLive(row) && names.leaseSeq.get(row) === session.leaseSeq;
      check(isHeld && names.heldBy(row, sessionIdOfSeq(session.seq)), entry, seq, `it does not hold ${name}`);
    }
  }
}

/** Moves a session to its next state; at its end its leases are released. */
function move(state: State, session: Session, entry: SessionChanged, seq: Seq, atMs: number): void {
  const { sessions } = state;
  sessions.leave(session);
  session.state = entry.state;
  session.reason = entry.reason;
  session.reasonDetail = entry.reasonDetail;
  session.slot = entry.slot;
  session.leaseSeq = entry.leaseSeq;
  session.updatedAtMs = atMs;
  session.lastSeq = seq;
  if (hasEnded(session)) {
    giveBack(state, session, seq, atMs);
    sessions.end(session);
  }
  sessions.enter(session);
}

/** Leaves a newer grant to the same holder alone: it was acquired and answered separately. */
function giveBack(state: State, session: Session, seq: Seq, atMs: number): void {
  const { names } = state;
  const holder = sessionIdOfSeq(session.seq);
  for (const name of namesOf(session)) {
    const row = names.find(name);
    if (row === 0 || !names.isLive(row) || !names.heldBy(row, holder)) continue;
    const isItsOwn = session.leaseSeq === 0 || names.leaseSeq.get(row) === session.leaseSeq;
    if (isItsOwn) endName(state, row, seq, atMs, 'released');
  }
}

/** A restored log ends every lease, and with them the sessions that ran on them. */
export function endRunningSessions(state: State, seq: Seq, atMs: number): void {
  for (const session of [...state.sessions.running()]) {
    const step = stepOf(session.state, 'lease_lost');
    if (typeof step === 'object') move(state, session, changed(session, step, 'restored'), seq, atMs);
  }
}

export function forgetSessions({ sessions }: State, entry: Forgotten, seq: Seq): void {
  for (const session of entry.sessions) {
    check(sessions.ended.has(session), entry, seq, 'the session has not ended');
    sessions.forget(session);
  }
}

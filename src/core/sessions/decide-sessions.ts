/**
 * Sessions: what an intent, a client and the orchestrator may do to them. Due expiries of leases and start tasks are
 * written before any of these rules runs, and the guard has been checked for commands that only the orchestrator
 * may send.
 */
import type { AcceptedIntent } from '../answers.ts';
import type { AcceptIntent, StartSession } from '../commands.ts';
import { acquireNames, held } from '../decide-names.ts';
import { type Decision, isRefusal, refuse, unchanged } from '../decision.ts';
import type { Entry, NameRenewed, TaskDead } from '../entries.ts';
import { sessionIdOfSeq } from '../ids.ts';
import type { Refusal } from '../refusals.ts';
import type { TaskRow } from '../row-types.ts';
import type { State } from '../state.ts';
import { findLease } from '../verdicts.ts';
import { namesOf, serviceNameOf, slotName } from './session-names.ts';
import { changed, type SessionHappening, stepOf } from './session-rules.ts';
import { isRunning, type Session } from './session-table.ts';

/** The entries that follow, or the refusal. The session afterwards is read from the state. */
export type SessionFacts = readonly Entry[] | Refusal;

const NOTHING: readonly Entry[] = [];

/** The number of sessions that may wait for an orchestrator: the map that holds them has a size limit. */
const OPEN_SESSIONS_MAX = 1_000_000;

/**
 * One entry for intent, session, key and start task. Repeating the intent returns its session while that can be
 * shared. Where the intent takes the service lease itself, a holder of that lease is checked first.
 */
export function acceptIntent(state: State, command: AcceptIntent, nowMs: number): Decision<AcceptedIntent> {
  const { sessions } = state;
  const { intent, key, previousKey, payload, serviceLease } = command;
  const serviceName = serviceNameOf(intent);
  if (serviceLease !== null) {
    const inTheWay = holderOf(state, serviceName, nowMs);
    if (inTheWay !== null) return { entries: [], answer: inTheWay };
  }
  const known =
    sessions.findByKey(key) ?? (previousKey === null ? undefined : sessions.findByKey(previousKey));
  if (known !== undefined) {
    return unchanged({
      sessionId: sessionIdOfSeq(known.seq),
      status: 'idempotent_replay',
      seq: known.lastSeq,
    });
  }
  if (sessions.open.size >= OPEN_SESSIONS_MAX) return refuse('OVERLOADED');
  const seq = state.lastSeq + 1;
  const sessionId = sessionIdOfSeq(seq);
  const entries: Entry[] = [{ type: 'IntentAccepted', intent, serviceName, key, payload }];
  if (serviceLease !== null) {
    const { tokenHash, ttlMs } = serviceLease;
    entries.push({
      type: 'NameLeased',
      names: [serviceName],
      holder: sessionId,
      tokenHash,
      expiresAtMs: nowMs + ttlMs,
      metadata: null,
    });
  }
  return { entries, answer: { sessionId, status: 'accepted', seq: state.lastSeq + entries.length } };
}

/** The refusal that names the holder of the service, and its session if the holder is one. */
function holderOf(state: State, serviceName: string, nowMs: number): Refusal | null {
  const row = state.names.find(serviceName);
  if (row === 0 || !state.names.isLive(row)) return null;
  const refusal = held(state, row, nowMs);
  const session = state.sessions.find(refusal.holder!);
  return session === undefined ? refusal : { ...refusal, sessionId: refusal.holder! };
}

/** The entries that follow from an event of a session. */
export function happens(
  state: State,
  session: Session,
  happening: SessionHappening,
  detail: string | null,
): SessionFacts {
  const step = stepOf(session.state, happening);
  if (step === 'over') return terminal(session);
  if (step === 'conflict') return conflict(session);
  if (step === 'unchanged') return NOTHING;
  const change = changed(session, step, detail);
  // A session that ends before its start must not be started any more.
  return session.state === 'NEW' ? [change, startTaskDies(state, session, step.reason!)] : [change];
}

/** Ends the start task of a session that is NEW. */
function startTaskDies({ tasks }: State, session: Session, reason: string): TaskDead {
  const task = sessionIdOfSeq(session.seq);
  const row = tasks.at(task) as TaskRow;
  const leaseSeq = tasks.stateOf(row) === 'LEASED' ? tasks.leases.seq.get(tasks.lease.get(row)) : 0;
  return { type: 'TaskDead', task, leaseSeq, reason, detail: null };
}

export function terminal({ seq, state, reason, reasonDetail }: Session): Refusal {
  return { refused: 'SESSION_TERMINAL', sessionId: sessionIdOfSeq(seq), state, reason, reasonDetail };
}

function conflict({ seq, state }: Session): Refusal {
  return { refused: 'SESSION_STATE_CONFLICT', sessionId: sessionIdOfSeq(seq), state };
}

/** Whether a caller waits for the name: sessions do not skip lines either. */
export type IsAwaited = (name: string) => boolean;

/**
 * Takes the service, then the first free slot, in one grant; or the session fails, which is an entry as well. Its start
 * task is completed in both cases.
 */
export function startSession(
  state: State,
  session: Session,
  command: StartSession,
  nowMs: number,
  isAwaited: IsAwaited,
): SessionFacts {
  const { sessionId } = command;
  if (stepOf(session.state, 'granted') === 'over') return terminal(session);
  if (session.state !== 'NEW') return isRepeated(state, session, command) ? NOTHING : conflict(session);
  const stale = staleTaskLease(state, command);
  if (stale !== null) return stale;
  const done: Entry = {
    type: 'TaskCompleted',
    task: sessionId,
    leaseSeq: command.taskLeaseSeq,
    result: null,
    writes: [],
  };
  const fails = (happening: 'busy' | 'no_slot', detail: string): readonly Entry[] => {
    const step = stepOf(session.state, happening);
    return typeof step === 'object' ? [changed(session, step, detail), done] : NOTHING;
  };
  const isFree = (name: string): boolean => {
    const row = state.names.find(name);
    const isHeld = row !== 0 && state.names.isLive(row);
    return isHeld ? state.names.heldBy(row, sessionId) : !isAwaited(name);
  };
  const { serviceName } = session;
  if (!isFree(serviceName)) {
    const inTheWay = holderOf(state, serviceName, nowMs);
    const isLeaving = inTheWay !== null && state.sessions.find(inTheWay.holder!)?.state === 'STOPPING';
    return isLeaving && command.isPatient ? inTheWay : fails('busy', 'REJECTED_BUSY');
  }
  const slot = command.slots.find((each) => isFree(slotName(each)));
  if (slot === undefined) return fails('no_slot', 'REJECTED_NO_TUNER');
  const { tokenHash, ttlMs } = command;
  const names = [serviceName, slotName(slot)];
  const grant = acquireNames(
    state,
    {
      type: 'AcquireNames',
      names,
      holder: sessionId,
      tokenHash,
      ttlMs,
      waitMs: 0,
      metadata: null,
      isAdmin: false,
    },
    nowMs,
  );
  if (isRefusal(grant.answer)) return grant.answer;
  const step = stepOf(session.state, 'granted');
  const leaseSeq = state.lastSeq + 1;
  return typeof step === 'object'
    ? [...grant.entries, changed(session, step, null, { slot, leaseSeq }), done]
    : NOTHING;
}

/** The answer to the start was lost: the grant of the session has the same token. */
function isRepeated({ names }: State, session: Session, { tokenHash }: StartSession): boolean {
  const row = names.find(session.serviceName);
  return (
    isRunning(session) && names.leaseSeq.get(row) === session.leaseSeq && names.tokens.matches(row, tokenHash)
  );
}

function staleTaskLease(state: State, { sessionId, taskLeaseSeq }: StartSession): Refusal | null {
  const { tasks } = state;
  const row = tasks.at(sessionId);
  const lease = findLease(state, row, taskLeaseSeq);
  if (lease === 0) return { refused: 'LEASE_UNKNOWN' };
  const end = tasks.leases.endOf(lease);
  if (end === 'live') return null;
  return { refused: end === 'expired' ? 'LEASE_EXPIRED' : 'LEASE_NOT_CURRENT' };
}

/** Renews both leases of a running session; one that already lasts longer is left unchanged. */
export function renewSession({ names }: State, session: Session, expiresAtMs: number): NameRenewed[] {
  const entries: NameRenewed[] = [];
  for (const name of namesOf(session)) {
    const row = names.find(name);
    if (names.expiresAtMs.get(row) >= expiresAtMs) continue;
    entries.push({ type: 'NameRenewed', name, leaseSeq: session.leaseSeq, expiresAtMs });
  }
  return entries;
}

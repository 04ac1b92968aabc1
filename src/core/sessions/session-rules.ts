/**
 * The states of a session, and what every event does in each of them.
 *
 *   NEW ──granted──▸ STARTING ──ready──▸ READY
 *    │                  │                  │
 *    │                  ├──client_stop, shutdown, idle──▸ STOPPING ──stopped──▸ STOPPED
 *    │                  │                                    (by its first reason)
 *    ├──client_stop──▸ CANCELLED
 *    └──busy, no_slot, start_failed, and from there on process_ended, lease_lost──▸ FAILED
 *
 * STOPPED, FAILED and CANCELLED absorb everything. The first reason to end stays, whatever comes after it.
 */
import type { SessionEvent } from '../commands.ts';
import type { SessionChanged, SessionReason, SessionState } from '../entries.ts';
import type { Seq } from '../row-types.ts';
import type { Session } from './session-table.ts';

/** Events of a session: observed by the orchestrator, requested by a client, or caused by the state itself. */
export type SessionHappening = SessionEvent | 'granted' | 'busy' | 'no_slot' | 'client_stop' | 'lease_lost';

/** 'conflict': it cannot happen in this state. 'unchanged': it says nothing new. 'over': the session has ended. */
export type SessionStep =
  | { readonly to: SessionState; readonly reason: SessionReason | null }
  | 'conflict'
  | 'unchanged'
  | 'over';

const OVER: Record<SessionHappening, SessionStep> = {
  granted: 'over',
  busy: 'over',
  no_slot: 'over',
  ready: 'over',
  start_failed: 'over',
  process_ended: 'over',
  client_stop: 'over',
  shutdown: 'over',
  idle: 'over',
  stopped: 'over',
  lease_lost: 'over',
};

/** A STOPPING session has its reason already. */
const STOPPED: SessionStep = { to: 'STOPPED', reason: null };

const STEPS: Record<SessionState, Record<SessionHappening, SessionStep>> = {
  NEW: {
    granted: { to: 'STARTING', reason: null },
    busy: { to: 'FAILED', reason: 'R_LEASE_BUSY' },
    no_slot: { to: 'FAILED', reason: 'R_NO_TUNER' },
    ready: 'conflict',
    start_failed: { to: 'FAILED', reason: 'R_PIPELINE_START_FAILED' },
    process_ended: 'conflict',
    client_stop: { to: 'CANCELLED', reason: 'R_CANCELLED' },
    shutdown: 'conflict',
    idle: 'conflict',
    stopped: 'conflict',
    // No pipeline runs on a lease that the intent took itself.
    lease_lost: 'unchanged',
  },
  STARTING: {
    granted: 'conflict',
    busy: 'conflict',
    no_slot: 'conflict',
    ready: { to: 'READY', reason: null },
    start_failed: { to: 'FAILED', reason: 'R_PIPELINE_START_FAILED' },
    process_ended: { to: 'FAILED', reason: 'R_PIPELINE_START_FAILED' },
    client_stop: { to: 'STOPPING', reason: 'R_CLIENT_STOP' },
    shutdown: { to: 'STOPPING', reason: 'R_SHUTDOWN' },
    idle: { to: 'STOPPING', reason: 'R_IDLE_TIMEOUT' },
    stopped: 'conflict',
    lease_lost: { to: 'FAILED', reason: 'R_LEASE_EXPIRED' },
  },
  READY: {
    granted: 'conflict',
    busy: 'conflict',
    no_slot: 'conflict',
    ready: 'unchanged',
    start_failed: 'conflict',
    process_ended: { to: 'FAILED', reason: 'R_PROCESS_ENDED' },
    client_stop: { to: 'STOPPING', reason: 'R_CLIENT_STOP' },
    shutdown: { to: 'STOPPING', reason: 'R_SHUTDOWN' },
    idle: { to: 'STOPPING', reason: 'R_IDLE_TIMEOUT' },
    stopped: 'conflict',
    lease_lost: { to: 'FAILED', reason: 'R_LEASE_EXPIRED' },
  },
  STOPPING: {
    granted: 'conflict',
    busy: 'conflict',
    no_slot: 'conflict',
    // It was asked to stop while it started; the orchestrator sees that in the answer.
    ready: 'unchanged',
    start_failed: STOPPED,
    process_ended: STOPPED,
    client_stop: 'unchanged',
    shutdown: 'unchanged',
    idle: 'unchanged',
    stopped: STOPPED,
    lease_lost: STOPPED,
  },
  STOPPED: OVER,
  FAILED: OVER,
  CANCELLED: OVER,
};

export function stepOf(state: SessionState, happening: SessionHappening): SessionStep {
  return STEPS[state][happening];
}

/** Whether any event leads from one state to the other. */
export function mayBecome(from: SessionState, to: SessionState): boolean {
  return Object.values(STEPS[from]).some((step) => typeof step === 'object' && step.to === to);
}

/** The entry for a step of a session. Its first reason and the detail of that stay. */
export function changed(
  session: Session,
  { to, reason }: Exclude<SessionStep, string>,
  detail: string | null,
  taken: { readonly slot: string; readonly leaseSeq: Seq } | null = null,
): SessionChanged {
  const isFirst = session.reason === null && reason !== null;
  return {
    type: 'SessionChanged',
    session: session.seq,
    state: to,
    reason: isFirst ? reason : session.reason,
    reasonDetail: isFirst ? detail : session.reasonDetail,
    slot: taken?.slot ?? session.slot,
    leaseSeq: taken?.leaseSeq ?? session.leaseSeq,
  };
}

/** From what the core says about sessions to the bodies of the contract, which keep some spellings of their own. */
import type { SessionBeats } from '../authority/sessions/session-beats.ts';
import type {
  AcceptedIntent,
  ChangedSession,
  RenewedSessions,
  SessionView,
  StartedSession,
} from '../core/commands.ts';
import { intentToJson } from '../core/entry-json.ts';
import { hasEnded } from '../core/sessions/session-table.ts';
import { instant } from '../protocol/instant.ts';
import type { Body, SessionRecord } from '../protocol/replies.ts';

/** Who watches, and since when that is known. */
export interface SessionWatch {
  readonly beats: SessionBeats;
  readonly nowMs: number;
  /** When this server began; before that nobody could be heard. */
  readonly startedAtMs: number;
}

export function sessionRecord(view: SessionView, watch: SessionWatch): SessionRecord {
  const { sessionId, intent, state, reason, reasonDetail, slot, leaseSeq } = view;
  const { beats, nowMs, startedAtMs } = watch;
  const lastMs = beats.lastMs(sessionId);
  return {
    session_id: sessionId,
    state,
    reason,
    reason_detail: reasonDetail,
    ...intentToJson(intent),
    ...(slot === null ? {} : { slot }),
    ...(leaseSeq === 0 ? {} : { lease_seq: leaseSeq }),
    created_at: instant(view.createdAtMs),
    updated_at: instant(view.updatedAtMs),
    ...(lastMs === null ? {} : { last_heartbeat_at: instant(lastMs) }),
    ...(hasEnded(view) ? {} : { idle_ms: beats.idleMs(view, nowMs, startedAtMs) }),
    seq: view.seq,
  };
}

export function acceptedIntent(
  { sessionId, status, seq }: AcceptedIntent,
  requestId: string,
): Body<'intent.accept'> {
  return { ok: true, session_id: sessionId, status, requestId, seq };
}

export function changedSession({ session }: ChangedSession, watch: SessionWatch): Body<'session.change'> {
  return { ok: true, ...sessionRecord(session, watch) };
}

export function startedSession({ session, lease, seq, duplicate }: StartedSession): Body<'session.start'> {
  return {
    ok: true,
    session_id: session.sessionId,
    state: session.state,
    reason: session.reason,
    reason_detail: session.reasonDetail,
    ...(session.slot === null ? {} : { slot: session.slot }),
    ...(session.leaseSeq === 0 ? {} : { lease_seq: session.leaseSeq }),
    ...(lease === null ? {} : { expires_at: instant(lease.expiresAtMs), remaining_ms: lease.remainingMs }),
    seq,
    ...(duplicate ? { duplicate: true as const } : {}),
  };
}

export function renewedSessions({ renewed, lost, seq }: RenewedSessions): Body<'session.renew'> {
  return {
    ok: true,
    renewed: renewed.map(({ sessionId, state, expiresAtMs, remainingMs }) => ({
      session_id: sessionId,
      state,
      expires_at: instant(expiresAtMs),
      remaining_ms: remainingMs,
    })),
    lost: lost.map(({ sessionId, state, reason }) => ({ session_id: sessionId, state, reason })),
    seq,
  };
}

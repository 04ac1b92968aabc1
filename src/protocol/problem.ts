/** A refusal as the caller sees it: what RFC 9457 calls a problem. */
import type { SessionReason, SessionState } from '../core/entries.ts';
import { REFUSALS, type Refusal, type RefusalCode } from '../core/refusals.ts';

export interface Problem {
  readonly ok: false;
  readonly code: RefusalCode;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly holder?: string;
  readonly remaining_ms?: number;
  /** Which of several names is held. */
  readonly name?: string;
  readonly index?: number;
  readonly outcome?: 'REJECTED';
  readonly first_seq?: number;
  /** The URL of the leader, if the standby knows it. */
  readonly leader_url?: string;
  /** The fence that refused the write. */
  readonly current_fence?: number;
  /** The session that has ended or cannot take this change, or the one in the way. */
  readonly session_id?: string;
  readonly state?: SessionState;
  /** Why a session has ended; null only for one that has not. */
  readonly reason?: SessionReason | null;
  readonly reason_detail?: string | null;
  /** Over the wire: the id of this request in the server's log. */
  readonly requestId?: string;
}

/** What every operation returns: its body with `ok: true`, or the problem with `ok: false`. */
export type Reply<T> = T | Problem;

/** Refusals of a write are precondition failures, whatever the code says elsewhere. */
const WRITE_STATUS: Partial<Record<RefusalCode, number>> = { LEASE_EXPIRED: 412 };

/** A sentence with the names and numbers of this refusal, where it has them. */
function detailOf(refusal: Refusal): string | null {
  const { refused, holder, remainingMs, name, fence, state, reason, leaderUrl, firstSeq } = refusal;
  if (leaderUrl !== undefined) return `${leaderUrl} leads.`;
  if (firstSeq !== undefined) return `${REFUSALS[refused].says} It begins at ${firstSeq}.`;
  if (refused === 'SESSION_TERMINAL') return `The session is ${state} (${reason}) and never changes again.`;
  if (refused === 'SESSION_STATE_CONFLICT')
    return `The session is ${state}, and this change is not possible in that state.`;
  if (refused === 'LEASE_HELD' && holder !== undefined) {
    const what = name === undefined ? 'it' : `"${name}"`;
    if (!remainingMs) return `${holder} is first in line for ${what}.`;
    return `${holder} holds ${what} for another ${remainingMs} ms.`;
  }
  if (refused !== 'WRITE_STALE_FENCE' && refused !== 'WRITE_UNKNOWN_FENCE') return null;
  return `${REFUSALS[refused].says} The fence is ${fence}.`;
}

export function problem(refusal: Refusal): Problem {
  const kind = REFUSALS[refusal.refused];
  const isWrite = refusal.fence !== undefined;
  return {
    ok: false,
    code: refusal.refused,
    status: (isWrite ? WRITE_STATUS[refusal.refused] : undefined) ?? kind.status,
    title: kind.says,
    detail: refusal.detail ?? detailOf(refusal) ?? kind.says,
    ...(refusal.holder === undefined ? {} : { holder: refusal.holder }),
    ...(refusal.remainingMs === undefined ? {} : { remaining_ms: refusal.remainingMs }),
    ...(refusal.name === undefined ? {} : { name: refusal.name }),
    ...(refusal.index === undefined ? {} : { index: refusal.index }),
    ...(refusal.outcome === undefined ? {} : { outcome: refusal.outcome }),
    ...(refusal.firstSeq === undefined ? {} : { first_seq: refusal.firstSeq }),
    ...(refusal.leaderUrl === undefined ? {} : { leader_url: refusal.leaderUrl }),
    ...(refusal.fence === undefined ? {} : { current_fence: refusal.fence }),
    ...(refusal.sessionId === undefined ? {} : sessionFields(refusal)),
  };
}

function sessionFields({ sessionId, state, reason, reasonDetail }: Refusal): Partial<Problem> {
  return {
    session_id: sessionId!,
    ...(state === undefined ? {} : { state }),
    ...(reason === undefined ? {} : { reason }),
    ...(reasonDetail === undefined ? {} : { reason_detail: reasonDetail }),
  };
}

/** A separate list, because the client does not import the core; a test compares it with the table of refusals. */
const RETRYABLE: ReadonlySet<string> = new Set<RefusalCode>([
  'REQUEST_TIMEOUT',
  'TASK_NOT_ENDED',
  'LEASE_HELD',
  'OVERLOADED',
  'UNAVAILABLE',
  'NOT_LEADER',
  'DISK_FULL',
]);

/** Whether the same call can succeed later. */
export function isRetryable(code: RefusalCode): boolean {
  return RETRYABLE.has(code);
}

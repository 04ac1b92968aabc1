/**
 * All refusals. HTTP statuses, problem titles and `docs/errors.md` are read from this table; a code is never
 * renamed. `retry` tells a client whether the same call can succeed later: 'never' (the call itself is wrong or
 * comes too late), 'later' (another caller or the state is in the way), 'soon' (the authority cannot answer now).
 */
import type { SessionReason, SessionState } from './entries.ts';
import type { Seq } from './row-types.ts';

export interface RefusalKind {
  readonly status: number;
  readonly retry: 'never' | 'later' | 'soon';
  readonly says: string;
}

export const REFUSALS = {
  INVALID_ARGUMENT: { status: 400, retry: 'never', says: 'The request is not well formed.' },
  UNAUTHENTICATED: { status: 401, retry: 'never', says: 'The request carries no token that is known here.' },
  FORBIDDEN: { status: 403, retry: 'never', says: 'The caller may not do this.' },
  GUARD_NOT_HELD: { status: 403, retry: 'never', says: 'The caller does not hold the guard.' },
  TASK_NOT_FOUND: { status: 404, retry: 'never', says: 'There is no such task.' },
  LEASE_NOT_FOUND: { status: 404, retry: 'never', says: 'The lease is not held.' },
  OBJECT_NOT_FOUND: { status: 404, retry: 'never', says: 'There is no such object.' },
  SESSION_NOT_FOUND: { status: 404, retry: 'never', says: 'There is no such session.' },
  SCHEDULE_NOT_FOUND: { status: 404, retry: 'never', says: 'There is no such schedule.' },
  ROUTE_NOT_FOUND: { status: 404, retry: 'never', says: 'There is nothing at this path.' },
  METHOD_NOT_ALLOWED: { status: 405, retry: 'never', says: 'The path does not take this method.' },
  REQUEST_TIMEOUT: { status: 408, retry: 'soon', says: 'The request did not arrive in time.' },
  TASK_ID_CONFLICT: { status: 409, retry: 'never', says: 'The id belongs to a task with another payload.' },
  TASK_NOT_ENDED: { status: 409, retry: 'later', says: 'The task has not ended.' },
  PAYLOAD_DAMAGED: {
    status: 409,
    retry: 'never',
    says: 'The payload of the task cannot be read any more.',
  },
  TASK_TERMINAL: { status: 409, retry: 'never', says: 'The task has ended and never changes again.' },
  TASK_NOT_WAITING: { status: 409, retry: 'never', says: 'The task is leased or has ended.' },
  LEASE_UNKNOWN: { status: 409, retry: 'never', says: 'The task never had this lease.' },
  LEASE_NOT_CURRENT: { status: 409, retry: 'never', says: 'The lease has ended.' },
  LEASE_HELD: {
    status: 409,
    retry: 'later',
    says: 'Another caller holds this lease, or is first in line for it.',
  },
  LEASE_NOT_HELD: { status: 409, retry: 'never', says: 'The caller does not hold this lease.' },
  LEASE_EXPIRED: { status: 409, retry: 'never', says: 'The lease is over.' },
  SESSION_STATE_CONFLICT: { status: 409, retry: 'never', says: 'The session is past that.' },
  SESSION_TERMINAL: { status: 410, retry: 'never', says: 'The session has ended and never changes again.' },
  LOG_COMPACTED: { status: 410, retry: 'never', says: 'The log no longer reaches back that far.' },
  LEASE_OBJECT_MISMATCH: { status: 412, retry: 'never', says: 'The lease is for another object.' },
  WRITE_STALE_FENCE: {
    status: 412,
    retry: 'never',
    says: 'The lease is older than the fence of the object.',
  },
  WRITE_UNKNOWN_FENCE: { status: 412, retry: 'never', says: 'This lease was never granted for the object.' },
  LEASE_HOLDER_MISMATCH: { status: 412, retry: 'never', says: 'The lease belongs to another holder.' },
  VERSION_MISMATCH: { status: 412, retry: 'never', says: 'The object has another version.' },
  PAYLOAD_TOO_LARGE: { status: 413, retry: 'never', says: 'The request is larger than the limit.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, retry: 'never', says: 'The body is not JSON.' },
  UPGRADE_REQUIRED: { status: 426, retry: 'never', says: 'The path takes a WebSocket only.' },
  WRITE_UNFENCED: { status: 428, retry: 'never', says: 'The write carries no lease.' },
  HEADERS_TOO_LARGE: { status: 431, retry: 'never', says: 'The headers are larger than the limit.' },
  INTERNAL: { status: 500, retry: 'never', says: 'The server made a mistake; its log has the details.' },
  OVERLOADED: { status: 503, retry: 'soon', says: 'Too much is waiting to be decided.' },
  UNAVAILABLE: { status: 503, retry: 'soon', says: 'The authority cannot write now.' },
  NOT_LEADER: { status: 503, retry: 'soon', says: 'Another server leads, or none does at the moment.' },
  DISK_FULL: { status: 507, retry: 'soon', says: 'There is no room on the disk for anything new.' },
} as const satisfies Record<string, RefusalKind>;

export type RefusalCode = keyof typeof REFUSALS;

/** A refusal with its details. It changes nothing. */
export interface Refusal {
  readonly refused: RefusalCode;
  /** A sentence for this case, where the general one is not enough. */
  readonly detail?: string;
  /** The conflicting lease. */
  readonly holder?: string;
  readonly remainingMs?: number;
  /** Its name, where several names were asked for. */
  readonly name?: string;
  /** Which of several writes failed. */
  readonly index?: number;
  /** For verdicts on tasks. */
  readonly outcome?: 'REJECTED';
  /** The fence a rejected write met; the receipt shows it. */
  readonly fence?: number;
  readonly firstSeq?: Seq;
  /** Where the leader says it is. */
  readonly leaderUrl?: string;
  /** The session that has ended, or that holds the service. */
  readonly sessionId?: string;
  readonly state?: SessionState;
  readonly reason?: SessionReason | null;
  readonly reasonDetail?: string | null;
}

/** From a request about intents and sessions, checked already, to the command it means. */
import type {
  AcceptIntent,
  ChangeSession,
  Guard,
  HeartbeatSession,
  RenewSessions,
  StartSession,
  StopSession,
} from '../core/commands.ts';
import { invalid } from '../core/decision.ts';
import type { Intent } from '../core/entries.ts';
import { intentToJson } from '../core/entry-json.ts';
import { seqOfLeaseId } from '../core/ids.ts';
import { opaque } from '../core/opaque.ts';
import type { Refusal } from '../core/refusals.ts';
import type { Requests } from '../protocol/requests.ts';
import { type IntentSecrets, intentKey } from './intent-keys.ts';
import { tokenHash } from './token-hashes.ts';

/** How long the service is kept for a session that nobody has started yet, where intents take it themselves. */
const SERVICE_TTL_MS = 30_000;

/** How intents are taken here. */
export interface IntentPolicy extends IntentSecrets {
  /** Whether an intent takes the lease of its service at once, as it did before only the orchestrator took leases. */
  readonly takesLease: boolean;
}

export function acceptIntent(
  request: Requests['intent.accept'],
  token: string,
  { secret, previousSecret, takesLease }: IntentPolicy,
): AcceptIntent | Refusal {
  const target = targetOf(request);
  if (typeof target !== 'string') return target;
  const { type, profileID: profileId, start_ms: startMs = 0 } = request;
  const intent: Intent = { type, target, profileId, startMs };
  return {
    type: 'AcceptIntent',
    intent,
    key: intentKey(secret, intent),
    previousKey: previousSecret === null ? null : intentKey(previousSecret, intent),
    payload: opaque(Buffer.from(JSON.stringify(intentToJson(intent)))),
    serviceLease: takesLease ? { tokenHash: tokenHash(token), ttlMs: SERVICE_TTL_MS } : null,
  };
}

/** What to show: each kind has a field of its own, and may not have that of the other. */
function targetOf({ type, serviceRef, recordingID, start_ms }: Requests['intent.accept']): string | Refusal {
  if (type === 'live') {
    if (recordingID !== undefined) return invalid('The field recordingID belongs to vod.');
    if (start_ms !== undefined) return invalid('The field start_ms belongs to vod.');
    return serviceRef ?? invalid('The field serviceRef is missing.');
  }
  if (serviceRef !== undefined) return invalid('The field serviceRef belongs to live.');
  return recordingID ?? invalid('The field recordingID is missing.');
}

export function stopSession({ session_id }: Requests['session.stop']): StopSession {
  return { type: 'StopSession', sessionId: session_id };
}

export function heartbeatSession({ session_id }: Requests['session.heartbeat']): HeartbeatSession {
  return { type: 'HeartbeatSession', sessionId: session_id };
}

export function startSession(request: Requests['session.start'], token: string): StartSession {
  return {
    type: 'StartSession',
    sessionId: request.session_id,
    guard: guardOf(request.guard),
    taskLeaseSeq: seqOfLeaseId(request.lease_id),
    slots: [...request.slots],
    tokenHash: tokenHash(token),
    ttlMs: request.ttl_ms,
    isPatient: request.patient ?? false,
  };
}

export function changeSession(request: Requests['session.change']): ChangeSession {
  return {
    type: 'ChangeSession',
    sessionId: request.session_id,
    guard: guardOf(request.guard),
    event: request.event,
    detail: request.detail ?? null,
  };
}

export function renewSessions({ guard, session_ids, ttl_ms }: Requests['session.renew']): RenewSessions {
  return { type: 'RenewSessions', guard: guardOf(guard), sessionIds: [...session_ids], ttlMs: ttl_ms };
}

/** Of whoever shows none, one that nobody can hold. */
export function guardOf(shown: Partial<Requests['lease.wipe']['guard']> = {}): Guard {
  const { name = '', holder = '', token = '' } = shown;
  return { name, holder, tokenHash: tokenHash(token) };
}

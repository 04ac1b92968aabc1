/** `intent.accept`: request a session. Repeating the request returns the existing session while that can be shared. */
import { type Static, Type } from '@sinclair/typebox';
import type { AcceptIntent } from '../core/commands.ts';
import { invalid } from '../core/decision.ts';
import type { Intent } from '../core/entries.ts';
import { intentToJson } from '../core/entry-json.ts';
import type { Refusal } from '../core/refusals.ts';
import { SESSION_ID } from './example-story.ts';
import { fields, Name, note, Seq as Position } from './fields.ts';
import { intentKey } from './intent-keys.ts';
import { opaqueOf } from './opaque-values.ts';
import { change } from './operation.ts';
import { Seq, Text } from './reply-fields.ts';
import { SESSION } from './session-records.ts';
import { tokenHash } from './token-hashes.ts';

/** How long the service is held for a session that has not been started, where intents acquire the lease themselves. */
const SERVICE_TTL_MS = 30_000;

// `targetOf` checks which fields belong together, with a sentence for each mistake.
const Request = fields({
  type: Type.Union([Type.Literal('live'), Type.Literal('vod')], {
    description: 'live: a service as it is broadcast. vod: a recording.',
  }),
  serviceRef: Type.Optional(note(Name, 'What to show; required for live, not allowed for vod.')),
  recordingID: Type.Optional(note(Name, 'What to show; required for vod, not allowed for live.')),
  profileID: Type.String({
    format: 'profile',
    description: 'How to show it: the name of a profile of the orchestrator.',
  }),
  start_ms: Type.Optional(
    note(
      Position,
      'Where in the recording to begin; 0 by default. Only for vod; the same whole second is the same intent.',
    ),
  ),
});

export const acceptIntent = change({
  name: 'intent.accept',
  method: 'POST',
  path: '/api/v3/intents',
  scope: 'v3:write',
  status: 202,
  // The same intent finds the session that the first try created, while that can be shared.
  retry: 'safe',
  refusedWhenFull: true,
  needsToken: true,
  showsRequestId: true,
  does: 'Request a session. Repeating the request returns the existing session, while that can be shared.',
  details: `\`status\` is \`idempotent_replay\` when the same intent has a session that is NEW, STARTING or READY. Two live
intents are the same when service and profile are, and two for a recording when they also begin in the same
whole second of it.

This reply does not say whether there is a slot; the session does. Where intents acquire their service themselves
(\`LEASEHOLD_API_LEASES\`) they are refused while it is held: the problem names the \`session_id\` in the way, and
\`Retry-After\` says when to retry.`,
  request: Request,
  reply: Type.Object({
    session_id: note(Text, 'the id of the session'),
    status: Type.Union([Type.Literal('accepted'), Type.Literal('idempotent_replay')], {
      description: 'whether this request created the session or found it',
    }),
    requestId: note(Text, 'the id of this request'),
    seq: Seq,
  }),
  refusals: ['LEASE_HELD', 'DISK_FULL'],
  example: {
    request: { type: 'live', serviceRef: SESSION.serviceRef!, profileID: 'high' },
    reply: { session_id: SESSION_ID, status: 'accepted', requestId: 'f3b0c1d2-1k', seq: 55 },
  },
  command(request, token, { intents }): AcceptIntent | Refusal {
    const { secret, previousSecret, takesLease } = intents;
    const target = targetOf(request);
    if (typeof target !== 'string') return target;
    const { type, profileID: profileId, start_ms: startMs = 0 } = request;
    const intent: Intent = { type, target, profileId, startMs };
    return {
      type: 'AcceptIntent',
      intent,
      key: intentKey(secret, intent),
      previousKey: previousSecret === null ? null : intentKey(previousSecret, intent),
      payload: opaqueOf(Buffer.from(JSON.stringify(intentToJson(intent)))),
      serviceLease: takesLease ? { tokenHash: tokenHash(token), ttlMs: SERVICE_TTL_MS } : null,
    };
  },
  body: ({ sessionId, status, seq }, requestId) => ({
    ok: true,
    session_id: sessionId,
    status,
    requestId,
    seq,
  }),
});

/** What to show: each type requires its own field and does not allow that of the other. */
function targetOf({ type, serviceRef, recordingID, start_ms }: Static<typeof Request>): string | Refusal {
  if (type === 'live') {
    if (recordingID !== undefined) return invalid('The field recordingID belongs to vod.');
    if (start_ms !== undefined) return invalid('The field start_ms belongs to vod.');
    return serviceRef ?? invalid('The field serviceRef is missing.');
  }
  if (serviceRef !== undefined) return invalid('The field serviceRef belongs to live.');
  return recordingID ?? invalid('The field recordingID is missing.');
}

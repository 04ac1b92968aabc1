/** `intent.accept`: ask for a session. Repeating the request returns the existing session while that can be shared. */
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

/** How long the service is kept for a session that has not been started, where intents take the lease themselves. */
const SERVICE_TTL_MS = 30_000;

// Which of the fields belong together is checked in `targetOf`, which says it in a sentence.
const Request = fields({
  type: Type.Union([Type.Literal('live'), Type.Literal('vod')], {
    description: 'live: a service as it is broadcast. vod: a recording.',
  }),
  serviceRef: Type.Optional(note(Name, 'What to show; needed for live, and only there.')),
  recordingID: Type.Optional(note(Name, 'What to show; needed for vod, and only there.')),
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
  // The same intent finds the session that the first try made, while that can be shared.
  retry: 'safe',
  refusedWhenFull: true,
  needsToken: true,
  showsRequestId: true,
  does: 'Ask for a session. Repeating the request returns the existing session, while that can be shared.',
  details: `\`status\` is \`idempotent_replay\` when the same intent has a session that is NEW, STARTING or READY. Two live
intents are the same when service and profile are, and two for a recording when they also begin in the same
whole second of it.

The session shows whether there is a slot; this reply does not. Only where intents take their service
themselves (\`XG2G_V3_API_LEASES\`) are they refused while it is held: the problem names the \`session_id\` in the
way, and \`Retry-After\` says when it may be over.`,
  request: Request,
  reply: Type.Object({
    session_id: note(Text, 'the id of the session'),
    status: Type.Union([Type.Literal('accepted'), Type.Literal('idempotent_replay')], {
      description: 'whether this request made the session, or found it',
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

/** What to show: each type has a field of its own, and may not have that of the other. */
function targetOf({ type, serviceRef, recordingID, start_ms }: Static<typeof Request>): string | Refusal {
  if (type === 'live') {
    if (recordingID !== undefined) return invalid('The field recordingID belongs to vod.');
    if (start_ms !== undefined) return invalid('The field start_ms belongs to vod.');
    return serviceRef ?? invalid('The field serviceRef is missing.');
  }
  if (serviceRef !== undefined) return invalid('The field serviceRef belongs to live.');
  return recordingID ?? invalid('The field recordingID is missing.');
}

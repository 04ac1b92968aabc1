/** The operations of the orchestrator, under its guard: `session.start`, `session.change`, `session.renew`. */
import { Type } from '@sinclair/typebox';
import type { ChangeSession, RenewSessions, StartSession } from '../core/commands.ts';
import { seqOfLeaseId } from '../core/ids.ts';
import { instant } from '../protocol/instant.ts';
import { LIMITS } from '../protocol/limits.ts';
import { GUARD, SESSION_ID, SESSION_LEASE, TOKEN } from './example-story.ts';
import { fields, LeaseId, Name, NewToken, note, Reason, SessionId, TtlMs } from './fields.ts';
import { GuardField, guardOf } from './guards.ts';
import { change } from './operation.ts';
import { Duplicate, Instant, RemainingMs, Seq, Text } from './reply-fields.ts';
import {
  ENDED_SESSION,
  OLDER_SESSION,
  REASON,
  Session,
  SessionState,
  sessionRecord,
} from './session-records.ts';
import { tokenHash } from './token-hashes.ts';

export const startSession = change({
  name: 'session.start',
  method: 'POST',
  path: '/api/v3/sessions/{session_id}/start',
  scope: 'v3:admin',
  status: 200,
  retry: { fills: 'token' }, // The same token is the same start.
  refusedWhenFull: true,
  needsToken: true,
  does: 'Acquire the service and the first free slot for a session, or fail it. Only for the holder of the guard.',
  details: `The orchestrator has leased the start task, whose id is that of the session, from the queue
\`system:session-starts\`. \`lease:service:{serviceRef}\` (live) or \`lease:vod:{recordingID}:{bucket}\` (vod; the bucket is
the whole second of \`start_ms\`) and the first free \`lease:tuner:{slot}\` are acquired in one entry; if one is not free, the
session is FAILED. Either way the start task is completed. \`LEASE_EXPIRED\`: the lease on the start task is over.
\`LEASE_NOT_HELD\`: the token was used before.`,
  request: fields({
    session_id: SessionId,
    guard: GuardField,
    lease_id: note(LeaseId, 'The id of the lease on the start task.'),
    slots: Type.Array(Name, {
      maxItems: LIMITS.slotsMax,
      description: 'All slots, in the order in which they are tried.',
    }),
    ttl_ms: note(TtlMs, 'How long the leases on the service and the slot last unless renewed.'),
    token: Type.Optional(NewToken),
    patient: Type.Optional(
      Type.Boolean({
        description:
          'True: while a session that is STOPPING holds the service, the call is refused with LEASE_HELD instead of ' +
          'failing the session. False by default.',
      }),
    ),
  }),
  reply: Type.Object({
    session_id: note(Text, 'the id of the session'),
    state: SessionState,
    ...REASON,
    slot: Type.Optional(note(Text, 'the slot it got')),
    lease_seq: Type.Optional(note(Seq, 'the fencing number of its leases')),
    expires_at: Type.Optional(note(Instant, 'when its leases end unless they are renewed')),
    remaining_ms: Type.Optional(RemainingMs),
    seq: Seq,
    duplicate: Duplicate,
  }),
  refusals: [
    'GUARD_NOT_HELD',
    'SESSION_NOT_FOUND',
    'LEASE_UNKNOWN',
    'LEASE_NOT_CURRENT',
    'LEASE_HELD',
    'LEASE_NOT_HELD',
    'LEASE_EXPIRED',
    'SESSION_STATE_CONFLICT',
    'SESSION_TERMINAL',
    'DISK_FULL',
  ],
  example: {
    request: {
      session_id: SESSION_ID,
      guard: GUARD,
      lease_id: 'l0000000001p',
      slots: ['0', '1'],
      ttl_ms: 15_000,
      token: TOKEN,
      patient: true,
    },
    reply: {
      session_id: SESSION_ID,
      state: 'STARTING',
      reason: null,
      reason_detail: null,
      ...SESSION_LEASE,
      expires_at: '2026-01-05T08:02:15.250Z',
      remaining_ms: 15_000,
      seq: 60,
    },
  },
  command: (request, token): StartSession => ({
    type: 'StartSession',
    sessionId: request.session_id,
    guard: guardOf(request.guard),
    taskLeaseSeq: seqOfLeaseId(request.lease_id),
    slots: [...request.slots],
    tokenHash: tokenHash(token),
    ttlMs: request.ttl_ms,
    isPatient: request.patient ?? false,
  }),
  body: ({ session, lease, seq, duplicate }) => ({
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
  }),
});

const EVENTS = ['ready', 'start_failed', 'process_ended', 'shutdown', 'idle', 'stopped'] as const;

export const changeSession = change({
  name: 'session.change',
  method: 'POST',
  path: '/api/v3/sessions/{session_id}/change',
  scope: 'v3:admin',
  status: 200,
  retry: 'safe', // Each event leaves the states in which it is possible, so it cannot happen twice.
  urgent: true,
  does: 'Report an event of the pipeline of a session. Only for the holder of the guard.',
  details: `\`ready\` makes a STARTING session READY; \`start_failed\` and \`process_ended\` make it FAILED; \`shutdown\` and
\`idle\` make it STOPPING, and \`stopped\` then STOPPED. The first reason to end stays.`,
  request: fields({
    session_id: SessionId,
    guard: GuardField,
    event: Type.Union(
      EVENTS.map((event) => Type.Literal(event)),
      { description: 'The event of the pipeline.' },
    ),
    detail: Type.Optional(note(Reason, 'More about it: an exit code, a signal, a sentence.')),
  }),
  reply: Session,
  refusals: ['GUARD_NOT_HELD', 'SESSION_NOT_FOUND', 'SESSION_STATE_CONFLICT', 'SESSION_TERMINAL'],
  example: {
    request: { session_id: SESSION_ID, guard: GUARD, event: 'process_ended', detail: 'exit code 1' },
    reply: ENDED_SESSION,
  },
  command: (request): ChangeSession => ({
    type: 'ChangeSession',
    sessionId: request.session_id,
    guard: guardOf(request.guard),
    event: request.event,
    detail: request.detail ?? null,
  }),
  body: ({ session }, _, { watch }) => ({ ok: true, ...sessionRecord(session, watch()) }),
});

export const renewSessions = change({
  name: 'session.renew',
  method: 'POST',
  path: '/api/v3/sessions/renew',
  scope: 'v3:admin',
  status: 200,
  retry: 'safe',
  urgent: true,
  renews: true,
  does: 'Renew both leases of every listed session and list those that are lost. Only for the holder of the guard.',
  details: `\`lost\` are sessions without leases: they have ended, have not started, or are unknown (\`state\` is null).`,
  request: fields({
    guard: GuardField,
    session_ids: Type.Array(SessionId, {
      maxItems: LIMITS.sessionsMax,
      description: 'The sessions whose leases to renew.',
    }),
    ttl_ms: TtlMs,
  }),
  reply: Type.Object({
    renewed: Type.Array(
      Type.Object({
        session_id: note(Text, 'the id of the session'),
        state: SessionState,
        expires_at: note(Instant, 'when its leases end unless they are renewed again'),
        remaining_ms: RemainingMs,
      }),
    ),
    lost: Type.Array(
      Type.Object({
        session_id: note(Text, 'the id of the session'),
        state: Type.Union([SessionState, Type.Null()], { description: 'null when it is unknown' }),
        reason: REASON.reason,
      }),
    ),
    seq: Seq,
  }),
  refusals: ['GUARD_NOT_HELD'],
  example: {
    request: { guard: GUARD, session_ids: [SESSION_ID, OLDER_SESSION.session_id], ttl_ms: 15_000 },
    reply: {
      renewed: [
        {
          session_id: SESSION_ID,
          state: 'READY',
          expires_at: '2026-01-05T08:02:20.250Z',
          remaining_ms: 15_000,
        },
      ],
      lost: [{ session_id: OLDER_SESSION.session_id, state: 'FAILED', reason: 'R_PROCESS_ENDED' }],
      seq: 65,
    },
  },
  command: ({ guard, session_ids, ttl_ms }): RenewSessions => ({
    type: 'RenewSessions',
    guard: guardOf(guard),
    sessionIds: [...session_ids],
    ttlMs: ttl_ms,
  }),
  body: ({ renewed, lost, seq }) => ({
    ok: true,
    renewed: renewed.map(({ sessionId, state, expiresAtMs, remainingMs }) => ({
      session_id: sessionId,
      state,
      expires_at: instant(expiresAtMs),
      remaining_ms: remainingMs,
    })),
    lost: lost.map(({ sessionId, state, reason }) => ({ session_id: sessionId, state, reason })),
    seq,
  }),
});

/** The record of a session, as every operation shows it. The v3 API spells fields of intents `serviceRef`, `profileID`. */
import { type Static, Type } from '@sinclair/typebox';
import type { SessionView } from '../core/answers.ts';
import { intentToJson } from '../core/entry-json.ts';
import type { Refusal } from '../core/refusals.ts';
import { hasEnded } from '../core/sessions/session-table.ts';
import { instant } from '../protocol/instant.ts';
import type { SessionWatch } from './contexts.ts';
import { SESSION_ID, SESSION_LEASE } from './example-story.ts';
import { note } from './fields.ts';
import type { Plain } from './operation.ts';
import { Instant, Seq, Text, Whole } from './reply-fields.ts';

export const SESSION_STATES = [
  'NEW',
  'STARTING',
  'READY',
  'STOPPING',
  'STOPPED',
  'FAILED',
  'CANCELLED',
] as const;
export const SessionState = Type.Union(SESSION_STATES.map((state) => Type.Literal(state)));

const SESSION_REASONS = [
  'R_LEASE_BUSY',
  'R_NO_TUNER',
  'R_CLIENT_STOP',
  'R_CANCELLED',
  'R_LEASE_EXPIRED',
  'R_PIPELINE_START_FAILED',
  'R_PROCESS_ENDED',
  'R_SHUTDOWN',
  'R_IDLE_TIMEOUT',
] as const;

export const REASON = {
  reason: Type.Union([Type.Union(SESSION_REASONS.map((reason) => Type.Literal(reason))), Type.Null()], {
    description: 'the first reason to end',
  }),
  reason_detail: Type.Union([Text, Type.Null()], { description: 'an exit code, a signal, a cause' }),
};

export const Session = Type.Object({
  session_id: note(Text, 'the id of the session'),
  state: SessionState,
  ...REASON,
  type: Type.Union([Type.Literal('live'), Type.Literal('vod')]),
  serviceRef: Type.Optional(note(Text, 'what a live session shows')),
  recordingID: Type.Optional(note(Text, 'what a vod session shows')),
  start_ms: Type.Optional(note(Whole, 'the position in the recording at which it begins')),
  profileID: note(Text, 'how it is shown'),
  slot: Type.Optional(note(Text, 'the slot it runs on')),
  lease_seq: Type.Optional(note(Seq, 'the fencing number of its leases')),
  created_at: Instant,
  updated_at: Instant,
  last_heartbeat_at: Type.Optional(note(Instant, 'the time of its last heartbeat')),
  idle_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        'time since its last heartbeat, its creation or the start of this server; absent once it has ended and for an earlier moment',
    }),
  ),
  seq: note(Seq, 'the newest entry that touched it'),
});

export const SESSION: Plain<Static<typeof Session>> = {
  session_id: SESSION_ID,
  state: 'READY',
  reason: null,
  reason_detail: null,
  type: 'live',
  serviceRef: '1:0:19:283D:3FB:1:C00000:0:0:0:',
  profileID: 'high',
  ...SESSION_LEASE,
  created_at: '2026-01-05T08:02:00.000Z',
  updated_at: '2026-01-05T08:02:01.500Z',
  last_heartbeat_at: '2026-01-05T08:02:30.000Z',
  idle_ms: 4_200,
  seq: 61,
};
const { last_heartbeat_at: _heartbeat, idle_ms: _idle, ...SETTLED } = SESSION;
export const ENDED_SESSION: Plain<Static<typeof Session>> = {
  ...SETTLED,
  state: 'FAILED',
  reason: 'R_PROCESS_ENDED',
  reason_detail: 'exit code 1',
  seq: 63,
};
export const OLDER_SESSION: Plain<Static<typeof Session>> = {
  ...ENDED_SESSION,
  session_id: 's0000000000c',
  lease_seq: 14,
  seq: 19,
};

export const SESSION_NOT_FOUND: Refusal = { refused: 'SESSION_NOT_FOUND' };

export function endedSession({ sessionId, state, reason, reasonDetail }: SessionView): Refusal {
  return { refused: 'SESSION_TERMINAL', sessionId, state, reason, reasonDetail };
}

export function sessionRecord(view: SessionView, watch: SessionWatch): Static<typeof Session> {
  const { sessionId, intent, state, reason, reasonDetail, slot, leaseSeq } = view;
  const { beats, nowMs, startedAtMs } = watch;
  const lastMs = beats?.lastMs(sessionId) ?? null;
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
    ...(beats === null || hasEnded(view) ? {} : { idle_ms: beats.idleMs(view, nowMs, startedAtMs) }),
    seq: view.seq,
  };
}

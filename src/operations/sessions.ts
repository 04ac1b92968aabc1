/** The operations of clients on sessions: `session.get`, `session.list`, `session.heartbeat`, `session.stop`. */
import { Type } from '@sinclair/typebox';
import type { ReadView } from '../authority/reads.ts';
import { listSessions, readSession } from '../authority/sessions/session-reads.ts';
import type { HeartbeatSession, StopSession } from '../core/commands.ts';
import { seqOfSessionId } from '../core/ids.ts';
import type { Machine } from '../core/machine.ts';
import type { Refusal } from '../core/refusals.ts';
import { hasEnded } from '../core/sessions/session-table.ts';
import type { Log } from '../engines/log.ts';
import type { ReadContext, SessionWatch } from './contexts.ts';
import { SESSION_ID } from './example-story.ts';
import { cursorOf, fields, Limit, SessionId, stale } from './fields.ts';
import { change, stateRead } from './operation.ts';
import { NextCursor } from './reply-fields.ts';
import {
  endedSession,
  OLDER_SESSION,
  SESSION,
  SESSION_NOT_FOUND,
  SESSION_STATES,
  Session,
  sessionRecord,
} from './session-records.ts';

export const getSession = stateRead({
  name: 'session.get',
  path: '/api/v3/sessions/{session_id}',
  scope: 'v3:read',
  does: 'Show a session that has not ended; with ended=ok, also one that has.',
  details: `\`slot\` and \`lease_seq\`, the fencing number of its service and its slot, are present from STARTING on. A session
that is STOPPED, FAILED or CANCELLED is answered 410, with \`state\`, \`reason\` and \`reason_detail\` in the
problem:

| outcome | state | reason | reason_detail |
|---|---|---|---|
| another session runs this service, or this second of the recording | FAILED | \`R_LEASE_BUSY\` | \`REJECTED_BUSY\` |
| no slot was free | FAILED | \`R_NO_TUNER\` | \`REJECTED_NO_TUNER\` |
| stopped by a client once STARTING | STOPPED | \`R_CLIENT_STOP\` | |
| stopped by a client while NEW | CANCELLED | \`R_CANCELLED\` | |
| a lease was lost | FAILED | \`R_LEASE_EXPIRED\` | \`expired\`, \`released\`, \`broken\`, \`wiped\`, \`superseded\` or \`restored\` |
| the pipeline did not start | FAILED | \`R_PIPELINE_START_FAILED\` | exit code, signal or a sentence |
| the pipeline ended by itself | FAILED | \`R_PROCESS_ENDED\` | exit code or signal |
| the orchestrator shut down | STOPPED | \`R_SHUTDOWN\` | |
| no heartbeat for too long | STOPPED | \`R_IDLE_TIMEOUT\` | |`,
  request: fields({
    session_id: SessionId,
    ended: Type.Optional(
      Type.Literal('ok', { description: 'ok: a session that has ended is shown as well, instead of 410.' }),
    ),
    stale,
  }),
  reply: Session,
  refusals: ['SESSION_NOT_FOUND', 'SESSION_TERMINAL'],
  example: { request: { session_id: SESSION_ID }, reply: SESSION },
  look: ({ session_id: sessionId, ended }, context) =>
    context.source.read((view) => {
      const session = readSession(view, sessionId);
      if (session === null) return SESSION_NOT_FOUND;
      if (hasEnded(session) && ended === undefined) return endedSession(session);
      return { ok: true as const, ...sessionRecord(session, watchAt(context, view)) };
    }),
});

export const listAllSessions = stateRead({
  name: 'session.list',
  path: '/api/v3/sessions',
  scope: 'v3:admin',
  long: 'list',
  does: 'List sessions, page by page: first those that have not ended, then those that have.',
  details: `Those that have not ended are in the order of their intents, the others in the order of their end. A session that
ends between two pages may be shown twice; none is missed.`,
  request: fields({
    state: Type.Optional(
      Type.Union(
        SESSION_STATES.map((state) => Type.Literal(state)),
        { description: 'Only sessions in this state.' },
      ),
    ),
    limit: Type.Optional(Limit),
    // o: among sessions that have not ended; e: among those that have. Then the position of the last one shown.
    cursor: Type.Optional(cursorOf('^[oe][0-9]{1,16}$')),
    stale,
  }),
  reply: Type.Object({ sessions: Type.Array(Session), next_cursor: NextCursor }),
  refusals: [],
  example: { request: { limit: 2 }, reply: { sessions: [SESSION, OLDER_SESSION], next_cursor: 'e19' } },
  look: ({ state = null, limit = 100, cursor = 'o0' }, context) =>
    context.source.read((view) => {
      const { items, next } = listSessions(view, state, limit, cursor);
      const watch = watchAt(context, view);
      const sessions = items.map((session) => sessionRecord(session, watch));
      return { ok: true as const, sessions, ...(next === null ? {} : { next_cursor: next }) };
    }),
});

function watchAt({ beats }: ReadContext, { state, batchAtMs: nowMs }: ReadView): SessionWatch {
  return { beats, nowMs, startedAtMs: state.epochStartedAtMs };
}

export const heartbeatSession = change({
  name: 'session.heartbeat',
  method: 'POST',
  path: '/api/v3/sessions/{session_id}/heartbeat',
  scope: 'v3:read',
  status: 200,
  retry: 'safe',
  urgent: true,
  renews: true,
  does: 'Keep a session from being idle. Soft state.',
  details: `Heartbeats are not in the log, and idle time starts again after a restart. An orchestrator with \`session_idle_ms\`
ends sessions without heartbeats.`,
  request: fields({ session_id: SessionId }),
  reply: Session,
  refusals: ['SESSION_NOT_FOUND', 'SESSION_TERMINAL'],
  example: { request: { session_id: SESSION_ID }, reply: { ...SESSION, idle_ms: 0 } },
  command: ({ session_id }): HeartbeatSession => ({ type: 'HeartbeatSession', sessionId: session_id }),
  body: ({ session }, _, { watch }) => ({ ok: true, ...sessionRecord(session, watch()) }),
});

export const stopSession = change({
  name: 'session.stop',
  method: 'DELETE',
  path: '/api/v3/sessions/{session_id}',
  scope: 'v3:write',
  status: 202,
  retry: 'safe', // A session that is ending or has ended does not end again.
  urgent: true,
  does: 'Stop a session.',
  details: `A session that is NEW is CANCELLED at once; one that is STARTING or READY is STOPPING until its pipeline has
ended.`,
  request: fields({ session_id: SessionId }),
  reply: Session,
  refusals: ['SESSION_NOT_FOUND', 'SESSION_TERMINAL'],
  example: {
    request: { session_id: SESSION_ID },
    reply: { ...SESSION, state: 'STOPPING', reason: 'R_CLIENT_STOP', seq: 62 },
  },
  command: ({ session_id }): StopSession => ({ type: 'StopSession', sessionId: session_id }),
  body: ({ session }, _, { watch }) => ({ ok: true, ...sessionRecord(session, watch()) }),
});

/**
 * The position from which a session is followed: its intent, or `fromSeq`, as far back as the log reaches. A session that
 * has ended is refused, as for any other read. A follower that resumes with `fromSeq` gets the rest first. Once it has the
 * last entry it is refused, or a browser would reconnect endlessly.
 */
export function sessionBegin(
  machine: Machine,
  { position }: Pick<Log, 'position'>,
  sessionId: string,
  fromSeq: number | null,
): number | Refusal {
  const session = readSession(machine, sessionId);
  if (session === null) return SESSION_NOT_FOUND;
  const begin = Math.max(fromSeq ?? 0, seqOfSessionId(sessionId), position.firstSeq);
  const hasAll = fromSeq === null || session.seq < begin;
  return hasEnded(session) && hasAll ? endedSession(session) : begin;
}

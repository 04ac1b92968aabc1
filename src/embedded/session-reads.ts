/** Looking at sessions. One that has ended is gone for whoever asks for it by its id; lists show it until it is forgotten. */
import type { Authority } from '../authority/authority.ts';
import { listSessions, readSession } from '../authority/session-reads.ts';
import type { SessionView } from '../core/commands.ts';
import { seqOfSessionId } from '../core/ids.ts';
import type { Machine } from '../core/machine.ts';
import type { Refusal } from '../core/refusals.ts';
import { hasEnded } from '../core/session-table.ts';
import type { Log } from '../engines/log.ts';
import type { Body } from '../protocol/replies.ts';
import type { Reads } from './reads.ts';
import { sessionRecord } from './session-bodies.ts';

const NOT_FOUND: Refusal = { refused: 'SESSION_NOT_FOUND' };

export function sessionReads(authority: Authority): Pick<Reads, 'session.get' | 'session.list'> {
  const watchAt = (nowMs: number) => ({
    beats: authority.soft.sessions,
    nowMs,
    startedAtMs: authority.state.epochStartedAtMs,
  });
  return {
    'session.get': ({ session_id: sessionId }) =>
      authority.read((machine): Body<'session.get'> | Refusal => {
        const view = readSession(machine, sessionId);
        if (view === null) return NOT_FOUND;
        if (hasEnded(view)) return endedSession(view);
        return { ok: true as const, ...sessionRecord(view, watchAt(machine.batchAtMs)) };
      }),

    'session.list': ({ state = null, limit = 100, cursor = 'o0' }) =>
      authority.read((machine): Body<'session.list'> => {
        const { items, next } = listSessions(machine, state, limit, cursor);
        const watch = watchAt(machine.batchAtMs);
        const sessions = items.map((view) => sessionRecord(view, watch));
        return { ok: true, sessions, ...(next === null ? {} : { next_cursor: next }) };
      }),
  };
}

function endedSession({ sessionId, state, reason, reasonDetail }: SessionView): Refusal {
  return { refused: 'SESSION_TERMINAL', sessionId, state, reason, reasonDetail };
}

/**
 * Where following a session begins: at its intent or behind what was heard already, as far back as the log reaches.
 * Whoever has heard of the end, or never can, is told so: a browser would come back for ever.
 */
export function sessionBegin(
  machine: Machine,
  { position }: Pick<Log, 'position'>,
  sessionId: string,
  fromSeq: number,
): number | Refusal {
  const session = readSession(machine, sessionId);
  if (session === null) return NOT_FOUND;
  const begin = Math.max(fromSeq, seqOfSessionId(sessionId), position.firstSeq);
  return hasEnded(session) && session.seq < begin ? endedSession(session) : begin;
}

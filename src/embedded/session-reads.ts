/** Looking at sessions. One that has ended is gone for whoever asks for it by its id; lists show it until it is forgotten. */
import type { ReadView } from '../authority/reads.ts';
import { SessionBeats } from '../authority/sessions/session-beats.ts';
import { listSessions, readSession } from '../authority/sessions/session-reads.ts';
import type { SessionView } from '../core/commands.ts';
import { seqOfSessionId } from '../core/ids.ts';
import type { Machine } from '../core/machine.ts';
import type { Refusal } from '../core/refusals.ts';
import { hasEnded } from '../core/sessions/session-table.ts';
import type { Log } from '../engines/log.ts';
import type { Body } from '../protocol/replies.ts';
import type { Reads, StateSource } from './reads.ts';
import { sessionRecord } from './session-bodies.ts';

const NOT_FOUND: Refusal = { refused: 'SESSION_NOT_FOUND' };

/** `beats` is what the writer has heard; whoever reads along has heard nothing. */
export function sessionReads(
  source: Pick<StateSource, 'read'>,
  beats = new SessionBeats(),
): Pick<Reads, 'session.get' | 'session.list'> {
  const watchAt = ({ state, batchAtMs: nowMs }: ReadView) => ({
    beats,
    nowMs,
    startedAtMs: state.epochStartedAtMs,
  });
  return {
    'session.get': ({ session_id: sessionId }) =>
      source.read((machine): Body<'session.get'> | Refusal => {
        const view = readSession(machine, sessionId);
        if (view === null) return NOT_FOUND;
        if (hasEnded(view)) return endedSession(view);
        return { ok: true as const, ...sessionRecord(view, watchAt(machine)) };
      }),

    'session.list': ({ state = null, limit = 100, cursor = 'o0' }) =>
      source.read((machine): Body<'session.list'> => {
        const { items, next } = listSessions(machine, state, limit, cursor);
        const watch = watchAt(machine);
        const sessions = items.map((view) => sessionRecord(view, watch));
        return { ok: true, sessions, ...(next === null ? {} : { next_cursor: next }) };
      }),
  };
}

function endedSession({ sessionId, state, reason, reasonDetail }: SessionView): Refusal {
  return { refused: 'SESSION_TERMINAL', sessionId, state, reason, reasonDetail };
}

/**
 * Where following a session begins: at its intent, or at `fromSeq`, as far back as the log reaches. A session that has
 * ended is gone, as for any other read. A follower that was cut off says with `fromSeq` where it was, and is told the rest
 * first; once it has been told of the end, it is refused, or a browser would come back for ever.
 */
export function sessionBegin(
  machine: Machine,
  { position }: Pick<Log, 'position'>,
  sessionId: string,
  fromSeq: number | null,
): number | Refusal {
  const session = readSession(machine, sessionId);
  if (session === null) return NOT_FOUND;
  const begin = Math.max(fromSeq ?? 0, seqOfSessionId(sessionId), position.firstSeq);
  const isTold = fromSeq === null || session.seq < begin;
  return hasEnded(session) && isTold ? endedSession(session) : begin;
}

/**
 * Reads of sessions, each as one step, queued with the changes. A list has the open sessions in order of creation, then the
 * ended ones in the order of their end. A session that ends between two pages moves from the first part to the end of the
 * second, so it may appear twice, but none is ever missed.
 */
import type { SessionView } from '../../core/answers.ts';
import type { SessionState } from '../../core/entries.ts';
import { sessionIdOfSeq } from '../../core/ids.ts';
import { type Session, sessionView } from '../../core/sessions/session-table.ts';
import type { ReadView } from '../reads.ts';

const SESSIONS_A_PAGE = 10_000;

export interface SessionPage {
  readonly items: readonly SessionView[];
  /** Where to continue; null at the end. */
  readonly next: string | null;
}

export function readSession(machine: ReadView, sessionId: string): SessionView | null {
  const session = machine.sessions.find(sessionId);
  return session === undefined ? null : sessionView(session);
}

/** `cursor` is `o` (open sessions) or `e` (ended ones), followed by the last position that was shown. */
export function listSessions(
  machine: ReadView,
  state: SessionState | null,
  limit: number,
  cursor: string,
): SessionPage {
  const { open, ended } = machine.state.sessions;
  const after = Number(cursor.slice(1));
  const isInOpen = cursor.startsWith('o');
  if (isInOpen) {
    // Writes due expiries first: a session that has expired by now belongs to the ended ones.
    for (const { seq } of [...machine.state.sessions.running()]) machine.sessions.find(sessionIdOfSeq(seq));
    const page = pageOf(open.values(), (session) => session.seq, state, limit, after);
    if (page.lastKey !== null) return { items: page.items, next: `o${page.lastKey}` };
    const left = limit - page.items.length;
    if (ended.size === 0) return { items: page.items, next: null };
    if (left === 0) return { items: page.items, next: 'e0' };
    const rest = listSessions(machine, state, left, 'e0');
    return { items: [...page.items, ...rest.items], next: rest.next };
  }
  const page = pageOf(ended.values(), (session) => session.lastSeq, state, limit, after);
  return { items: page.items, next: page.lastKey === null ? null : `e${page.lastKey}` };
}

/** `lastKey` is the last session examined; null when the end was reached. */
function pageOf(
  sessions: Iterable<Session>,
  keyOf: (session: Session) => number,
  state: SessionState | null,
  limit: number,
  after: number,
): { readonly items: SessionView[]; readonly lastKey: number | null } {
  const items: SessionView[] = [];
  let lastKey = 0;
  let looked = 0;
  for (const session of sessions) {
    const key = keyOf(session);
    if (key <= after) continue;
    if (items.length === limit || looked === SESSIONS_A_PAGE) return { items, lastKey };
    looked += 1;
    lastKey = key;
    if (state === null || session.state === state) items.push(sessionView(session));
  }
  return { items, lastKey: null };
}

export function countSessions({ state: { sessions } }: ReadView): Record<SessionState, number> {
  const counts = { NEW: 0, STARTING: 0, READY: 0, STOPPING: 0, STOPPED: 0, FAILED: 0, CANCELLED: 0 };
  for (const { state } of sessions.open.values()) counts[state] += 1;
  for (const { state } of sessions.ended.values()) counts[state] += 1;
  return counts;
}

/**
 * What an entry about a name or a task means for sessions: a lease that ends also ends its session, a start task
 * that ends without a start ends it too, and a wipe releases every start task. Written in the same batch, so
 * no caller ever sees a session run without its leases, whether or not an orchestrator is alive.
 */

import { isRefusal } from '../decision.ts';
import type { Entry, NamesWiped, TaskKey } from '../entries.ts';
import { sessionIdOfSeq } from '../ids.ts';
import type { State } from '../state.ts';
import { happens } from './decide-sessions.ts';
import { namesOf, wipesSessions } from './session-names.ts';
import type { Session } from './session-table.ts';

const NOTHING: readonly Entry[] = [];

export function consequencesOf(state: State, entry: Entry): readonly Entry[] {
  const { sessions } = state;
  if (sessions.open.size === 0) return NOTHING;
  switch (entry.type) {
    case 'NameExpired':
      return lost(state, sessions.findByLease(entry.leaseSeq), 'expired');
    case 'NameReleased':
      return lost(state, sessions.findByLease(entry.leaseSeq), 'released');
    case 'NameBroken':
      return lost(state, sessions.findByLease(entry.leaseSeq), 'broken');
    case 'NameLeased': {
      // A new grant to the same holder makes the old one stale.
      const session = sessions.find(entry.holder);
      const isTaken = session !== undefined && namesOf(session).some((name) => entry.names.includes(name));
      return isTaken && session.leaseSeq !== state.lastSeq ? lost(state, session, 'superseded') : NOTHING;
    }
    case 'NamesWiped':
      return wiped(state, entry);
    case 'TaskDead':
      return unstarted(state, entry.task, entry.reason);
    default:
      return NOTHING;
  }
}

function lost(state: State, session: Session | undefined, how: string): readonly Entry[] {
  if (session === undefined) return NOTHING;
  const facts = happens(state, session, 'lease_lost', how);
  return isRefusal(facts) ? NOTHING : facts;
}

function unstarted(state: State, task: TaskKey, why: string): readonly Entry[] {
  const session = typeof task === 'string' ? state.sessions.find(task) : undefined;
  if (session?.state !== 'NEW') return NOTHING;
  const facts = happens(state, session, 'start_failed', why);
  // The start task has ended already; only the session is left.
  return isRefusal(facts) ? NOTHING : facts.slice(0, 1);
}

function wiped(state: State, { prefix }: NamesWiped): readonly Entry[] {
  const { sessions, names, tasks } = state;
  const entries: Entry[] = [];
  for (const session of sessions.running()) {
    const isHeld = namesOf(session).every((name) => names.isLive(names.find(name)));
    if (!isHeld) entries.push(...lost(state, session, 'wiped'));
  }
  if (!wipesSessions(prefix)) return entries;
  for (const session of sessions.open.values()) {
    const task = sessionIdOfSeq(session.seq);
    const row = session.state === 'NEW' ? tasks.at(task) : 0;
    if (row === 0 || tasks.stateOf(row) !== 'LEASED') continue;
    const leaseSeq = tasks.leases.seq.get(tasks.lease.get(row));
    entries.push({ type: 'TaskReleased', task, leaseSeq, dueAtMs: state.lastAtMs });
  }
  return entries;
}

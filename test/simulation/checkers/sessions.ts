// The life of sessions in the log: from state to state by the rules and never on from an end, one session per key
// while it can be shared, both leases exactly while it runs, never two on one slot, and a failed start only for a
// valid reason.
import { checker } from './checker.ts';
import { follow, GUARD, isRunning, type Ownership, type Session } from './ownership.ts';
import type { Call, Fact, Reading } from './reading.ts';
import { namesOf, record, text, whole } from './reading.ts';
import { isSessionId } from './session-causes.ts';

type State = Session['state'];

/** Where each state may lead. */
const NEXT: Readonly<Record<State, readonly State[]>> = {
  NEW: ['STARTING', 'FAILED', 'CANCELLED'],
  STARTING: ['READY', 'STOPPING', 'FAILED'],
  READY: ['STOPPING', 'FAILED'],
  STOPPING: ['STOPPED'],
  STOPPED: [],
  FAILED: [],
  CANCELLED: [],
};

export const sessions = checker(
  'sessions',
  'The state table holds; one session for a key while it can be shared; both leases exactly while it runs; no shared slot; a failed start has a reason; a new guard wipes first.',
  (reading, complain) => {
    const starts = startsOf(reading);
    for (const era of reading.eras) {
      // A disk may lose a wipe and keep the guard, which the holder of both cannot know.
      let wipedAt = reading.eras.length > 1 ? Number.POSITIVE_INFINITY : 0;
      let unserved: { readonly session: Session; readonly by: Fact } | null = null;
      follow(era, (fact, before) => {
        const session = before.sessions.get(text(fact.entry.session_id));
        if (unserved !== null && !isConsequence(fact)) {
          const { session: left, by } = unserved;
          complain(
            `seq ${fact.seq}: ${idOf(left)} still runs as ${left.state} although its leases ended at seq ${by.seq}`,
            left.changed.event,
            by.event,
            fact.event,
          );
          unserved = null;
        }
        for (const says of wrongs(fact, session, before, starts)) {
          complain(`seq ${fact.seq}: ${says}`, session?.accepted.event, session?.changed.event, fact.event);
        }
        if (isWipe(fact)) wipedAt = Math.max(wipedAt, fact.seq);
        else if (isEarlyStart(fact, before, wipedAt))
          complain(
            `seq ${fact.seq}: a start is taken in before the leases of earlier sessions are wiped`,
            fact.event,
          );
        unserved = leftUnserved(fact, before, unserved);
      });
    }
    for (const says of staleReplays(reading))
      complain(says.says, says.ended.event, says.call.call, says.call.answer);
  },
);

function isWipe({ entry }: Fact): boolean {
  return entry.type === 'NamesWiped' && 'lease:'.startsWith(text(entry.prefix));
}

/** A new holder of the guard first ends what its predecessor left. */
function isEarlyStart({ entry }: Fact, before: Ownership, wipedAt: number): boolean {
  if (entry.type !== 'LeaseGranted' || !before.sessions.has(text(entry.task_id))) return false;
  return wipedAt < (before.names.get(GUARD)?.lease?.seq ?? 0);
}

/** What follows from the end of a lease is written right behind it. */
function isConsequence({ entry }: Fact): boolean {
  return entry.type === 'SessionChanged' || entry.type === 'TaskReleased';
}

/** A session whose leases this entry ends, or one that was left over from before and is not ended by it either. */
function leftUnserved(
  fact: Fact,
  before: Ownership,
  known: { readonly session: Session; readonly by: Fact } | null,
): { readonly session: Session; readonly by: Fact } | null {
  const { entry } = fact;
  const isEnded = (session: Session): boolean =>
    entry.type === 'SessionChanged' && entry.session_id === idOf(session);
  if (known !== null) return isEnded(known.session) ? null : known;
  for (const session of before.sessions.values()) {
    if (!isRunning(session.state) || isEnded(session)) continue;
    const isHit = [...before.names].some(
      ([name, { lease }]) => lease?.seq === session.leaseSeq && isEndOf(entry, name, before),
    );
    if (isHit) return { session, by: fact };
  }
  return null;
}

function isEndOf(entry: Fact['entry'], name: string, before: Ownership): boolean {
  switch (entry.type) {
    case 'NameExpired':
    case 'NameReleased':
    case 'NameBroken':
      return entry.name === name;
    case 'NamesWiped':
      return before.wipedBy(text(entry.prefix)).includes(name);
    case 'NameLeased':
      return namesOf(entry).includes(name);
    default:
      return false;
  }
}

function wrongs(
  fact: Fact,
  session: Session | undefined,
  before: Ownership,
  starts: ReadonlyMap<string, readonly Call[]>,
): string[] {
  const { entry } = fact;
  switch (entry.type) {
    case 'IntentAccepted': {
      const twin = [...before.sessions.values()].find(
        ({ accepted, state }) =>
          accepted.entry.idempotency_key === entry.idempotency_key && /^(NEW|STARTING|READY)$/.test(state),
      );
      return twin === undefined
        ? []
        : [`${text(entry.session_id)} has the key of ${idOf(twin)}, which is ${twin.state}`];
    }
    case 'NameLeased':
      return isSessionId(text(entry.holder)) ? claimWrongs(fact, before) : [];
    case 'SessionChanged':
      return changeWrongs(fact, session, before, starts);
    default:
      return [];
  }
}

function claimWrongs({ entry }: Fact, before: Ownership): string[] {
  const id = text(entry.holder);
  const state = before.sessions.get(id)?.state;
  return state === 'NEW' ? [] : [`${id}, which is ${state ?? 'unknown'}, takes ${namesOf(entry).join(', ')}`];
}

function changeWrongs(
  fact: Fact,
  session: Session | undefined,
  before: Ownership,
  starts: ReadonlyMap<string, readonly Call[]>,
): string[] {
  const { entry, atMs } = fact;
  const id = text(entry.session_id);
  const to = text(entry.state) as State;
  if (session === undefined) return [`${id} becomes ${to}, but there is no such session`];
  if (!NEXT[session.state].includes(to)) return [`${id} becomes ${to}, although it is ${session.state}`];
  const found: string[] = [];
  if (isRunning(to)) {
    const slot = text(entry.slot);
    const leaseSeq = whole(entry.lease_seq);
    const isHeld = [serviceOf(session), `lease:tuner:${slot}`].every((name) => {
      const lease = before.names.get(name)?.lease;
      return lease?.seq === leaseSeq && atMs < lease.expiresAtMs;
    });
    if (!isHeld) found.push(`${id} becomes ${to} without both of its leases`);
    for (const [other, { state, slot: taken }] of before.sessions) {
      if (other !== id && isRunning(state) && taken === slot)
        found.push(`${id} and ${other} are on slot ${slot}`);
    }
  }
  if (session.state === 'NEW' && to === 'FAILED') found.push(...startWrongs(fact, session, before, starts));
  return found;
}

/** It was refused because something was taken, so that must have been. */
function startWrongs(
  { entry, atMs }: Fact,
  session: Session,
  before: Ownership,
  starts: ReadonlyMap<string, readonly Call[]>,
): string[] {
  const id = text(entry.session_id);
  const isTaken = (name: string): boolean => {
    const lease = before.names.get(name)?.lease;
    return lease !== null && lease !== undefined && atMs < lease.expiresAtMs;
  };
  if (entry.reason === 'R_LEASE_BUSY') {
    const service = serviceOf(session);
    return isTaken(service) ? [] : [`${id} fails because ${service} is taken, but it is free`];
  }
  if (entry.reason !== 'R_NO_TUNER') return [];
  const offers = (starts.get(id) ?? []).map(({ call }) => call.request.slots as readonly string[]);
  const isSo = offers.some((slots) => slots.every((slot) => isTaken(`lease:tuner:${slot}`)));
  return isSo ? [] : [`${id} fails because no slot is free, but one of those it was offered is`];
}

function startsOf({ calls }: Reading): ReadonlyMap<string, readonly Call[]> {
  const starts = new Map<string, Call[]>();
  for (const call of calls) {
    if (call.call.op !== 'session.start') continue;
    const id = text(call.call.request.session_id);
    starts.set(id, [...(starts.get(id) ?? []), call]);
  }
  return starts;
}

/** A call made after a session has left its key does not get that session. */
function staleReplays(reading: Reading): { says: string; call: Call; ended: Fact }[] {
  if (reading.eras.length > 1) return [];
  const leftAt = new Map<string, Fact>();
  for (const fact of reading.eras[0]?.facts ?? []) {
    const { type, session_id: id, state } = fact.entry;
    if (type !== 'SessionChanged' || state === 'STARTING' || state === 'READY') continue;
    if (!leftAt.has(text(id))) leftAt.set(text(id), fact);
  }
  return reading.calls.flatMap((call) => {
    const { answer, calledAt } = call;
    if (call.call.op !== 'intent.accept' || answer?.body.status !== 'idempotent_replay') return [];
    const id = text(answer.body.session_id);
    const ended = leftAt.get(id);
    if (ended === undefined || reading.placeOf(ended.event) > calledAt) return [];
    return [{ says: `${call.call.client} is given ${id}, which is ${text(ended.entry.state)}`, call, ended }];
  });
}

/** What only one session at a time may show: a live service, or one second of a recording. */
function serviceOf({ accepted }: Session): string {
  const { serviceRef, recordingID, start_ms } = record(accepted.entry.intent);
  return serviceRef === undefined
    ? `lease:vod:${text(recordingID)}:${Math.floor(whole(start_ms) / 1_000)}`
    : `lease:service:${text(serviceRef)}`;
}

function idOf({ accepted }: Session): string {
  return text(accepted.entry.session_id);
}

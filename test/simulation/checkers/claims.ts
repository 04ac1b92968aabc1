// Which entries an answer claims to stand on: its own, for a change; those whose effect it shows, for a read or an answer
// that repeats an earlier one. A claim is a position and what must stand there.
import type { Json } from '../plan.ts';
import type { Call, Fact, Reading } from './reading.ts';
import { list, millis, namesOf, text, whole } from './reading.ts';

export interface Claim {
  readonly seq: number;
  /** What must stand at that position, in words. */
  readonly what: string;
  /** Whether this call made the entry, and did not merely see it. */
  readonly isOwn: boolean;
  /** For renewals, which make an entry only when they move the end: whether this one did. */
  mayOwn?(fact: Fact): boolean;
  matches(fact: Fact): boolean;
}

const VERBS: Readonly<Record<string, string>> = {
  'task.complete': 'TaskCompleted',
  'task.fail': 'TaskFailed',
  'task.release': 'TaskReleased',
};

export function claimsOf({ call, answer }: Call): Claim[] {
  if (answer === undefined || answer.status >= 300) return [];
  const { body } = answer;
  const { request } = call;
  const isOwn = body.duplicate !== true;
  const own = (type: string, fits: (fact: Fact) => boolean): Claim[] => [
    {
      seq: whole(body.seq),
      what: type,
      isOwn,
      matches: (fact) => fact.entry.type === type && fits(fact),
    },
  ];
  const aboutTask = (id: string) => (fact: Fact) => touchesTask(fact, id);
  const aboutName = (name: string) => (fact: Fact) => touchesName(fact, name);
  switch (call.op) {
    case 'task.create':
      return own('TaskCreated', aboutTask(text(body.task_id)));
    case 'task.requeue':
      // Where a forgotten successor was created is not known any more.
      return body.state === null ? [] : own('TaskCreated', aboutTask(text(body.task_id)));
    case 'task.lease':
      return list(body.leases).map((lease) => ({
        seq: whole(lease.lease_seq),
        what: `a lease on ${text(lease.task_id)}`,
        isOwn,
        matches: (fact) => fact.entry.type === 'LeaseGranted' && aboutTask(text(lease.task_id))(fact),
      }));
    case 'task.extend':
      return [extension(text(request.task_id), body)];
    case 'task.complete':
    case 'task.fail':
    case 'task.release': {
      const type = body.outcome === 'CANCELLED' ? 'TaskCancelled' : VERBS[call.op]!;
      return own(type, aboutTask(text(request.task_id)));
    }
    case 'task.kill':
      return own('TaskDead', aboutTask(text(request.task_id)));
    case 'task.checkpoint':
      return own('TaskCheckpointed', aboutTask(text(request.task_id)));
    case 'task.cancel':
      if (!isOwn)
        return [{ ...seen(body.seq, 'an entry about the task'), matches: aboutTask(text(request.task_id)) }];
      return own(
        body.state === 'LEASED' ? 'TaskCancelRequested' : 'TaskDead',
        aboutTask(text(request.task_id)),
      );
    case 'task.change':
      return [
        {
          ...seen(body.seq, 'an entry about the task'),
          matches: aboutTask(text(request.task_id)),
          // What is so already is not written again.
          mayOwn: ({ entry }) => entry.type === 'TaskChanged' && entry.due_at === body.due_at,
        },
      ];
    case 'worker.heartbeat':
      return list(body.extended).map((lease) => extension(text(lease.task_id), lease));
    case 'lease.acquire':
    case 'lease.acquire_all':
      return own('NameLeased', (fact) => {
        const granted = namesOf(fact.entry);
        const isHolder = fact.entry.holder === request.holder;
        return isHolder && namesOf(request).every((name) => granted.includes(name));
      });
    case 'lease.renew':
      return [
        {
          ...seen(body.seq, 'a renewal'),
          matches: aboutName(text(request.name)),
          // Another renewal, for longer, may have come first and be what this one was shown.
          mayOwn: ({ entry, atMs }) =>
            entry.type === 'NameRenewed' &&
            entry.expires_at === body.expires_at &&
            millis(entry.expires_at) === atMs + whole(request.ttl_ms),
        },
      ];
    case 'lease.release':
      return body.released === true ? own('NameReleased', aboutName(text(request.name))) : [];
    case 'lease.break':
      return own('NameBroken', aboutName(text(request.name)));
    case 'intent.accept':
      return body.status === 'accepted'
        ? own('IntentAccepted', ({ entry }) => entry.session_id === body.session_id)
        : [];
    case 'lease.wipe':
      return own('NamesWiped', (fact) => fact.entry.prefix === request.prefix);
    case 'object.write':
      return own('ObjectWritten', aboutName(text(request.object_id)));
    case 'object.delete':
      return own('ObjectDeleted', aboutName(text(request.object_id)));
    case 'lease.get':
      return [grantSeen(body)];
    case 'lease.list':
      return list(body.leases).map(grantSeen);
    case 'object.get':
      return [{ ...seen(body.seq, 'a write'), matches: aboutName(text(request.object_id)) }];
    case 'task.get': {
      const about = aboutTask(text(request.task_id));
      const leases = list(body.leases).map(({ lease_seq: seq }) => ({
        ...seen(seq, 'a lease'),
        matches: about,
      }));
      return [{ ...seen(body.seq, 'an entry about the task'), matches: about }, ...leases];
    }
    default:
      return [];
  }
}

function seen(seq: Json | undefined, what: string) {
  return { seq: whole(seq), what, isOwn: false };
}

function extension(task: string, lease: Readonly<Record<string, Json>>): Claim {
  return {
    ...seen(lease.seq, 'an extension'),
    matches: (fact) => touchesTask(fact, task),
    mayOwn: ({ entry }) => entry.type === 'LeaseExtended' && entry.new_expiry_timestamp === lease.expires_at,
  };
}

function grantSeen(lease: Readonly<Record<string, Json>>): Claim {
  const { name, lease_seq: seq, holder } = lease;
  return {
    ...seen(seq, `a lease on ${text(name)}`),
    matches: ({ entry }) =>
      entry.type === 'NameLeased' && entry.holder === holder && namesOf(entry).includes(text(name)),
  };
}

export interface Makers {
  /** The call that was answered with an entry. */
  readonly byFact: ReadonlyMap<Fact, Call>;
  /** The entries that a call was answered with; calls that claim one which is nowhere have null. */
  readonly byCall: ReadonlyMap<Call, readonly Fact[] | null>;
}

/**
 * Positions may be used twice, when a disk has lost the first use. The entry that a call made was seen after the call, and
 * before its answer.
 */
export function makersOf({ calls, eras, placeOf }: Reading): Makers {
  const isSeenDuring = ({ event }: Fact, { calledAt, answeredAt }: Call): boolean =>
    placeOf(event) > calledAt && (event.source === 'log' || placeOf(event) < answeredAt);
  const bySeq = new Map<number, Fact[]>();
  for (const fact of new Set(eras.flatMap(({ facts }) => facts))) {
    bySeq.set(fact.seq, [...(bySeq.get(fact.seq) ?? []), fact]);
  }
  const byFact = new Map<Fact, Call>();
  const byCall = new Map<Call, Fact[] | null>();
  for (const call of calls) {
    for (const { seq, isOwn, matches, mayOwn } of claimsOf(call)) {
      const owns = isOwn ? matches : mayOwn;
      const fact =
        owns && bySeq.get(seq)?.find((each) => owns(each) && isSeenDuring(each, call) && !byFact.has(each));
      if (fact !== undefined) {
        byFact.set(fact, call);
        byCall.set(call, [...(byCall.get(call) ?? []), fact]);
      } else if (isOwn) byCall.set(call, null);
    }
  }
  return { byFact, byCall };
}

/** A restore ends the leases on all tasks, and so touches those that had one. */
function touchesTask({ entry }: Fact, id: string): boolean {
  if (entry.type === 'TaskCreated' && entry.requeued_from === id) return true;
  return entry.task_id === id || (entry.type === 'EpochStarted' && entry.restored === true);
}

/** Whether an entry says anything about a name, its lease or its object. */
export function touchesName({ entry }: Fact, name: string): boolean {
  switch (entry.type) {
    case 'NamesWiped':
      return name.startsWith(text(entry.prefix));
    case 'EpochStarted':
      return entry.restored === true;
    case 'SessionChanged':
      if (entry.lease_seq === undefined || !/^(STOPPED|FAILED|CANCELLED)$/.test(text(entry.state)))
        return false;
      return name === `lease:tuner:${text(entry.slot)}` || /^lease:(service|vod):/.test(name);
    case 'TaskCompleted':
      return list(entry.writes).some((write) => write.object_id === name);
    default:
      return (
        entry.name === name ||
        entry.object_id === name ||
        (Array.isArray(entry.names) && entry.names.includes(name))
      );
  }
}

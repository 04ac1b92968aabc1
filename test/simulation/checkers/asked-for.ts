// Nothing happens unasked: every entry that time does not cause has an earlier call with the right to it: the token
// of the grant, the number of the lease, the guard.
import { leaseIdOfSeq } from '../../../src/core/ids.ts';
import { checker } from './checker.ts';
import { follow, GUARD, type Ownership } from './ownership.ts';
import type { Call, Fact, Reading } from './reading.ts';
import { hashOf, list, namesOf, record, text } from './reading.ts';
import { sessionCausesOf, sessionKeysOf } from './session-causes.ts';

export const askedFor = checker(
  'asked-for',
  'Behind every entry is a call with the right to it; no token acquires a name twice.',
  (reading, complain) => {
    const asked = new Asked(reading);
    for (const era of reading.eras) {
      const tokens = new UsedTokens();
      follow(era, (fact, before) => {
        const why = asked.reasonAgainst(fact, before) ?? tokens.reasonAgainst(fact);
        if (why !== null) complain(`seq ${fact.seq}: ${fact.entry.type} ${why}`, fact.event);
      });
    }
  },
);

/** A token wins a name once; of its earlier ones a name remembers sixteen at least, until it is forgotten. */
class UsedTokens {
  private readonly byName = new Map<string, string[]>();

  reasonAgainst({ entry }: Fact): string | null {
    if (entry.type === 'Forgotten') for (const name of namesOf(entry)) this.byName.delete(name);
    if (entry.type !== 'NameLeased') return null;
    const token = text(entry.token_sha256);
    let isUsed = false;
    for (const name of namesOf(entry)) {
      const used = this.byName.get(name) ?? [];
      isUsed ||= used.includes(token);
      this.byName.set(name, [token, ...used].slice(0, TOKENS_KEPT));
    }
    return isUsed ? 'was won by a token that had won it before' : null;
  }
}

const TOKENS_KEPT = 16;

/** Keys of all calls that were made; the value is the earliest. */
class Asked {
  private readonly firstAt = new Map<string, number>();
  private readonly reading: Reading;

  constructor(reading: Reading) {
    this.reading = reading;
    for (const call of reading.calls) {
      for (const key of [...keysOf(call), ...sessionKeysOf(call)]) {
        const known = this.firstAt.get(key) ?? Number.POSITIVE_INFINITY;
        this.firstAt.set(key, Math.min(known, call.calledAt));
      }
    }
  }

  reasonAgainst(fact: Fact, before: Ownership): string | null {
    const asked = sessionCausesOf(fact, before);
    const keys = asked === undefined ? causesOf(fact, before) : asked;
    if (keys === null) return null;
    const place = this.reading.placeOf(fact.event);
    const at = Math.min(...keys.map((key) => this.firstAt.get(key) ?? Number.POSITIVE_INFINITY));
    if (at === Number.POSITIVE_INFINITY) return 'was requested by no client that has the right to it';
    return at > place ? 'was asked for only later' : null;
  }
}

/** What a call could be the cause of. */
function keysOf({ call, answer }: Call): string[] {
  const { op, request } = call;
  // A grant whose caller has gone is given back by the authority itself.
  const gone = (key: string): string[] => (answer === undefined ? [`gone ${key}`] : []);
  const token = hashOf(request.token);
  switch (op) {
    case 'lease.acquire':
    case 'lease.acquire_all':
      return namesOf(request).flatMap((name) => {
        const key = `${name} ${text(request.holder)} ${request.token === undefined ? '' : token}`;
        return [`acquire ${key}`, ...gone(key)];
      });
    case 'lease.renew':
    case 'lease.release':
      return [`${op} ${text(request.name)} ${text(request.holder)} ${token}`];
    case 'lease.break':
      return [`${op} ${text(request.name)}`];
    case 'lease.wipe': {
      const guard = record(request.guard);
      return [`${op} ${text(request.prefix)} ${text(guard.holder)} ${hashOf(guard.token)}`];
    }
    case 'object.write':
    case 'object.delete':
      return [`${op} ${text(request.object_id)} ${record(request.lease).lease_seq}`];
    case 'task.bulk':
      return request.dry_run === true ? [] : [`task.bulk ${text(request.action)}`];
    case 'task.requeue':
      return [`task.requeue ${text(request.task_id)}`];
    case 'task.create':
      return [`${op} ${text(request.queue) || 'default'}`];
    case 'task.lease':
      return [`${op} ${text(request.worker_id)}`, ...gone(text(request.worker_id))];
    case 'task.extend':
    case 'task.checkpoint':
    case 'task.complete':
    case 'task.fail':
    case 'task.release':
      return [`${op} ${text(request.task_id)} ${text(request.lease_id)}`];
    case 'worker.heartbeat':
      return list(request.leases).map(
        ({ task_id: task, lease_id: lease }) => `task.extend ${text(task)} ${text(lease)}`,
      );
    case 'task.kill':
    case 'task.cancel':
    case 'task.change':
      return [`${op} ${text(request.task_id)}`];
    default:
      return [];
  }
}

/** Any of these must have been asked; null when time, a restart or the authority itself is the cause. */
function causesOf({ entry }: Fact, before: Ownership): string[] | null {
  const task = `${text(entry.task_id)} ${text(entry.lease_id)}`;
  switch (entry.type) {
    case 'NameLeased': {
      const [name = ''] = namesOf(entry);
      const holder = text(entry.holder);
      return [`acquire ${name} ${holder} ${text(entry.token_sha256)}`, `acquire ${name} ${holder} `];
    }
    case 'NameRenewed':
      return [`lease.renew ${proof(text(entry.name), before)}`];
    case 'NameReleased': {
      const name = text(entry.name);
      return [`lease.release ${proof(name, before)}`, `gone ${proof(name, before)}`];
    }
    case 'NameBroken':
      return [`lease.break ${text(entry.name)}`];
    case 'NamesWiped':
      return [`lease.wipe ${text(entry.prefix)} ${proof(GUARD, before).slice(GUARD.length + 1)}`];
    case 'ObjectWritten':
      return [`object.write ${text(entry.object_id)} ${entry.lease_seq}`];
    case 'ObjectDeleted':
      return [`object.delete ${text(entry.object_id)} ${entry.lease_seq}`];
    case 'TaskCreated':
      return entry.requeued_from === undefined
        ? [`task.create ${text(entry.queue)}`]
        : [`task.requeue ${text(entry.requeued_from)}`, 'task.bulk requeue'];
    case 'LeaseGranted':
      return [`task.lease ${text(entry.worker_id)}`];
    case 'LeaseExtended':
      return [`task.extend ${task}`];
    case 'TaskCompleted':
      return [`task.complete ${task}`];
    case 'TaskFailed':
      return [`task.fail ${task}`];
    case 'TaskReleased': {
      const lease = before.tasks.get(text(entry.task_id))?.lease;
      const worker = lease?.owner ?? '';
      const isIts = lease !== undefined && lease !== null && leaseIdOfSeq(lease.seq) === entry.lease_id;
      return [`task.release ${task}`, ...(isIts ? [`gone ${worker}`] : [])];
    }
    case 'TaskCancelled':
      return [`task.${text(entry.verb)} ${task}`];
    case 'TaskCheckpointed':
      return [`task.checkpoint ${task}`];
    case 'TaskCancelRequested':
      return [`task.cancel ${text(entry.task_id)}`, 'task.bulk cancel'];
    case 'TaskChanged':
      return [`task.change ${text(entry.task_id)}`, 'task.bulk change'];
    case 'TaskDead':
      if (entry.reason === 'CANCELLED') return [`task.cancel ${text(entry.task_id)}`, 'task.bulk cancel'];
      if (entry.reason === 'ATTEMPTS_EXHAUSTED' || entry.reason === 'PAYLOAD_DAMAGED') return null;
      return [`task.kill ${text(entry.task_id)}`, 'task.bulk kill'];
    default:
      return null;
  }
}

/** Holder and token of the live grant. */
function proof(name: string, before: Ownership): string {
  const lease = before.names.get(name)?.lease;
  return `${name} ${lease?.owner ?? '?'} ${lease?.tokenHash ?? '?'}`;
}

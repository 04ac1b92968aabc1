// At most one live holder by the authority's clock. Judged by the log alone: a grant needs a free name or a waiting task,
// whatever a holder does it does before its lease ends, and an end comes no sooner than its time and is always written.
import { seqOfLeaseId } from '../../../src/core/ids.ts';
import { checker } from './checker.ts';
import type { Lease } from './ownership.ts';
import { follow, GUARD, type Ownership } from './ownership.ts';
import type { Fact } from './reading.ts';
import { millis, namesOf, text, whole } from './reading.ts';

export const oneHolder = checker(
  'one-holder',
  "At most one live holder by the authority's clock; no holder acts after its end; no lease ends early or without an entry.",
  ({ eras }, complain) => {
    for (const era of eras) {
      follow(era, (fact, before) => {
        for (const { says, lease } of wrongs(fact, before)) {
          complain(`seq ${fact.seq}: ${says}`, lease?.grant.event, lease?.newest.event, fact.event);
        }
      });
    }
  },
);

interface Wrong {
  readonly says: string;
  readonly lease?: Lease | null | undefined;
}

function wrongs(fact: Fact, before: Ownership): Wrong[] {
  const { entry, atMs } = fact;
  switch (entry.type) {
    case 'NameLeased':
      return namesOf(entry).flatMap((name) => {
        const lease = before.names.get(name)?.lease;
        return lease === null || lease === undefined ? [] : taken(name, lease, text(entry.holder), atMs);
      });
    case 'NameRenewed': {
      const lease = before.names.get(text(entry.name))?.lease;
      return acts(lease, entry, atMs, millis(entry.expires_at));
    }
    case 'NameReleased':
    case 'NameBroken':
      return acts(before.names.get(text(entry.name))?.lease, entry, atMs);
    case 'NameExpired':
      return ends(before.names.get(text(entry.name))?.lease, entry, atMs);
    case 'NamesWiped':
      return wipes(fact, before);
    default:
      return taskWrongs(fact, before);
  }
}

function taken(name: string, lease: Lease, holder: string, atMs: number): Wrong[] {
  if (lease.expiresAtMs <= atMs) {
    return [{ says: `${name} is granted although the end of lease ${lease.seq} was never written`, lease }];
  }
  if (lease.owner === holder) return [];
  return [{ says: `${name} is granted to ${holder} while ${lease.owner} holds it as ${lease.seq}`, lease }];
}

/** What only a holder may do, or what may only be done to one. */
function acts(
  lease: Lease | null | undefined,
  entry: Fact['entry'],
  atMs: number,
  newEndMs?: number,
): Wrong[] {
  const { type } = entry;
  const seq = seqIn(entry);
  if (lease === null || lease === undefined) return [{ says: `${type} of lease ${seq}, which is over` }];
  if (lease.seq !== seq) return [{ says: `${type} of lease ${seq}, but ${lease.seq} is live`, lease }];
  if (lease.expiresAtMs <= atMs) {
    return [{ says: `${type} of lease ${seq} at ${atMs}, but it ended at ${lease.expiresAtMs}`, lease }];
  }
  if (newEndMs !== undefined && newEndMs <= lease.expiresAtMs) {
    return [
      { says: `${type} of lease ${seq} moves its end from ${lease.expiresAtMs} to ${newEndMs}`, lease },
    ];
  }
  return [];
}

function ends(lease: Lease | null | undefined, entry: Fact['entry'], atMs: number): Wrong[] {
  const seq = seqIn(entry);
  if (lease === null || lease === undefined) return [{ says: `lease ${seq} expires, but it is over` }];
  if (lease.seq !== seq) return [{ says: `lease ${seq} expires, but ${lease.seq} is live`, lease }];
  if (lease.expiresAtMs > atMs) {
    return [{ says: `lease ${seq} expires at ${atMs}, before its end at ${lease.expiresAtMs}`, lease }];
  }
  return [];
}

function wipes(fact: Fact, before: Ownership): Wrong[] {
  const { entry, atMs } = fact;
  const guard = before.names.get(GUARD)?.lease;
  const count = before.wipedBy(text(entry.prefix)).length;
  const found: Wrong[] = [];
  if (guard === null || guard === undefined) found.push({ says: 'names are wiped while the guard is free' });
  else if (guard.expiresAtMs <= atMs)
    found.push({ says: `names are wiped after the guard's end`, lease: guard });
  if (count !== entry.count)
    found.push({ says: `a wipe says that it ends ${entry.count} leases, not ${count}` });
  return found;
}

function taskWrongs(fact: Fact, before: Ownership): Wrong[] {
  const { entry, atMs } = fact;
  const task = before.tasks.get(text(entry.task_id));
  switch (entry.type) {
    case 'LeaseGranted':
      if (task === undefined)
        return [{ says: `${text(entry.task_id)} is leased, but there is no such task` }];
      if (task.state === 'WAITING') return [];
      return [{ says: `${text(entry.task_id)} is leased while it is ${task.state}`, lease: task.lease }];
    case 'LeaseExtended':
      return acts(task?.lease, entry, atMs, millis(entry.new_expiry_timestamp));
    case 'TaskCompleted':
    case 'TaskFailed':
    case 'TaskReleased':
    case 'TaskCheckpointed':
    case 'TaskCancelRequested':
      return acts(task?.lease, entry, atMs);
    case 'LeaseExpired':
      return ends(task?.lease, entry, atMs);
    default:
      return [];
  }
}

/** Named leases carry their number, those of tasks an id that is made from it. */
function seqIn(entry: Fact['entry']): number {
  return entry.lease_seq === undefined ? seqOfLeaseId(text(entry.lease_id)) : whole(entry.lease_seq);
}

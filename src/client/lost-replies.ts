/**
 * Recovers a lost reply when the retry was refused. If the refusal is due to the first attempt having succeeded, the
 * caller gets the lost answer; otherwise the refusal stands. If the authority can no longer tell which, the error says
 * so. Needed for operations whose repeat the authority does not recognise (`looks` in the definitions): a kill, break,
 * write or delete that succeeded would otherwise be reported as refused.
 */

import type { Operation, Requests } from '../operations/table.ts';
import { Json } from '../protocol/json.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Problem, Reply } from '../protocol/problem.ts';
import { historySince } from './history-since.ts';
import type { Transport } from './transport.ts';

/** Rebuilds the lost body from the effects of the first attempt; null when there are none. */
type Look<Request> = (ask: Transport['call'], request: Request, refusal: Problem) => Promise<object | null>;

export async function recoverLostReply(
  ask: Transport['call'],
  operation: Operation,
  request: object,
  refusal: Problem,
): Promise<Reply<object>> {
  const body = await (LOOKS[operation] as Look<object>)(ask, request, refusal);
  return body === null ? refusal : { ok: true, ...body };
}

const LOOKS: { readonly [Op in Operation]?: Look<Requests[Op]> } = {
  async 'task.kill'(ask, { task_id, reason }) {
    const task = await ask('task.get', { task_id });
    if (!task.ok || task.state !== 'DEAD' || task.reason !== reason) return null;
    return { task_id, state: 'DEAD', seq: task.seq };
  },

  async 'lease.break'(ask, { name, reason, lease_seq = 0 }) {
    let holder: unknown = '';
    for await (const entry of historySince(ask, name, lease_seq)) {
      if (entry.seq === lease_seq) holder = entry.holder;
      const isOurs = entry.type === 'NameBroken' && entry.lease_seq === lease_seq && entry.reason === reason;
      if (isOurs) return { name, holder, lease_seq, seq: entry.seq };
    }
    return null;
  },

  async 'object.delete'(ask, { object_id, lease, if_version = 0 }) {
    const lease_seq = lease?.lease_seq ?? 0;
    const version = if_version + 1;
    for await (const { type, seq, ...entry } of historySince(ask, object_id, lease_seq)) {
      const isOurs = type === 'ObjectDeleted' && entry.lease_seq === lease_seq && entry.version === version;
      if (isOurs) return { object_id, version, lease_seq, seq };
    }
    return null;
  },

  async 'object.write'(ask, { object_id, value, lease, if_version = 0 }, refusal) {
    const object = await ask('object.get', { object_id });
    const ours = lease?.lease_seq ?? 0;
    if (!object.ok || object.lease_seq < ours || object.version <= if_version) return null;
    const { version, lease_seq, seq } = object;
    // Versions continue after a deletion, so the first write after one may have any version.
    const isNext = version === if_version + 1;
    const written = value instanceof Json ? value.text() : JSON.stringify(value);
    if (lease_seq === ours && object.value?.text() === written && (isNext || if_version === 0)) {
      return { object_id, version, lease_seq, seq };
    }
    if (isNext) return null;
    // The object was written more than once since, so it is unknown whether the first write was this one.
    throw new LeaseholdError(refusal.code, `${refusal.detail} The write may have been carried out before.`, {
      effect: 'unknown',
      problem: refusal,
    });
  },
};

/**
 * A reply was lost, the call was sent again, and the second try was refused. Was it refused because the first one had been
 * carried out? Then the caller gets the answer that was lost. Otherwise the refusal stands; and where the authority can no
 * longer tell, the caller is told that. Needed where the authority does not recognise a repeat (`looks` in the
 * definitions): a kill, a break, a write or a delete that succeeded would be reported as refused.
 */

import type { Operation, Requests } from '../operations/table.ts';
import { Json } from '../protocol/json.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Problem, Reply } from '../protocol/problem.ts';
import { historySince } from './history-since.ts';
import type { Transport } from './transport.ts';

/** The body that was lost, from what the first try left behind; null when it left nothing. */
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
    // An object that was deleted counts on from where it was, so the first write after that may have any version.
    const isNext = version === if_version + 1;
    const written = value instanceof Json ? value.text() : JSON.stringify(value);
    if (lease_seq === ours && object.value?.text() === written && (isNext || if_version === 0)) {
      return { object_id, version, lease_seq, seq };
    }
    if (isNext) return null;
    // It has been written more than once since; whether the first write was ours cannot be determined.
    throw new LeaseholdError(refusal.code, `${refusal.detail} The write may have been carried out before.`, {
      effect: 'unknown',
      problem: refusal,
    });
  },
};

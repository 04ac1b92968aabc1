/**
 * A reply was lost, the call was sent again, and the second try was refused. Was it refused because the first
 * one had been carried out? Then the caller gets the answer that was lost; otherwise the refusal stands; and
 * where nobody can tell any more, the caller is told that.
 */

import type { Operation, Requests } from '../operations/table.ts';
import { Json } from '../protocol/json.ts';
import type { Problem, Reply } from '../protocol/problem.ts';
import { LeaseholdError } from './error.ts';
import { historySince } from './history-since.ts';
import type { Transport } from './transport.ts';

/** Looks for what the first try would have left behind. */
type Look = (ask: Transport['call'], request: never, refusal: Problem) => Promise<Reply<object>>;

const LOOKS: Partial<Record<Operation, Look>> = {
  'task.kill': lookForKill,
  'object.write': lookForWrite,
  'object.delete': lookForDelete,
  'lease.break': lookForBreak,
};

export function secondLook(
  ask: Transport['call'],
  operation: Operation,
  request: object,
  refusal: Problem,
): Promise<Reply<object>> {
  return LOOKS[operation]!(ask, request as never, refusal);
}

async function lookForKill(
  ask: Transport['call'],
  { task_id, reason }: Requests['task.kill'],
  refusal: Problem,
): Promise<Reply<object>> {
  const task = await ask('task.get', { task_id });
  if (!task.ok || task.state !== 'DEAD' || task.reason !== reason) return refusal;
  return { ok: true, task_id, state: 'DEAD', seq: task.seq };
}

async function lookForWrite(
  ask: Transport['call'],
  { object_id, value, lease, if_version: before = 0 }: Requests['object.write'],
  refusal: Problem,
): Promise<Reply<object>> {
  const object = await ask('object.get', { object_id });
  const ours = lease?.lease_seq ?? 0;
  if (!object.ok || object.lease_seq < ours || object.version <= before) return refusal;
  const { version, lease_seq, seq } = object;
  // An object that was deleted counts on from where it was, so the first write after that may have any version.
  const isNext = version === before + 1;
  const written = value instanceof Json ? value.text() : JSON.stringify(value);
  if (lease_seq === ours && object.value?.text() === written && (isNext || before === 0)) {
    return { ok: true, object_id, version, lease_seq, seq };
  }
  if (isNext) return refusal;
  // It has been written more than once since; whether the first time was ours is nowhere to be seen.
  throw new LeaseholdError(refusal.code, `${refusal.detail} The write may have been carried out before.`, {
    effect: 'unknown',
    problem: refusal,
  });
}

async function lookForDelete(
  ask: Transport['call'],
  { object_id, lease, if_version: before = 0 }: Requests['object.delete'],
  refusal: Problem,
): Promise<Reply<object>> {
  const lease_seq = lease?.lease_seq ?? 0;
  const version = before + 1;
  for await (const entry of historySince(ask, object_id, lease_seq)) {
    if (entry.type !== 'ObjectDeleted' || entry.lease_seq !== lease_seq || entry.version !== version)
      continue;
    return { ok: true, object_id, version, lease_seq, seq: entry.seq };
  }
  return refusal;
}

async function lookForBreak(
  ask: Transport['call'],
  { name, reason, lease_seq }: Requests['lease.break'],
  refusal: Problem,
): Promise<Reply<object>> {
  let holder: unknown = '';
  for await (const entry of historySince(ask, name, lease_seq ?? 0)) {
    if (entry.seq === lease_seq) holder = entry.holder;
    if (entry.type !== 'NameBroken' || entry.lease_seq !== lease_seq || entry.reason !== reason) continue;
    return { ok: true, name, holder, lease_seq, seq: entry.seq };
  }
  return refusal;
}

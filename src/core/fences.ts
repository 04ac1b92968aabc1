/**
 * The fence checks of seed 003 in the order of the contract. The first that fails is the refusal, and nothing
 * changes:
 *
 *   1 WRITE_UNFENCED  2 LEASE_OBJECT_MISMATCH  3 WRITE_STALE_FENCE  4 WRITE_UNKNOWN_FENCE
 *   5 LEASE_HOLDER_MISMATCH  6 LEASE_EXPIRED  7 VERSION_MISMATCH
 */
import type { Written } from './answers.ts';
import type { DeleteObject, PresentedLease, WriteObject } from './commands.ts';
import { append, type Decision, isRefusal, refuse } from './decision.ts';
import type { Refusal } from './refusals.ts';
import type { NameRow, Seq } from './row-types.ts';
import type { State } from './state.ts';

export interface Writable {
  readonly row: NameRow;
  readonly leaseSeq: Seq;
  /** The present version of the object; 0 before the first write. */
  readonly version: number;
}

/** Checks 1–6, which are about the lease alone. */
export function checkWrite(state: State, objectId: string, lease: PresentedLease | null): Writable | Refusal {
  const { names } = state;
  const row = names.find(objectId);
  // A forgotten or unknown name has no fence of its own: every number granted so far is stale for it.
  const fence = row === 0 ? state.lastSeq + 1 : names.leaseSeq.get(row);
  const leaseSeq = lease?.leaseSeq ?? null;
  if (lease === null || leaseSeq === null) return { refused: 'WRITE_UNFENCED', fence };
  if (lease.objectId !== null && lease.objectId !== objectId)
    return { refused: 'LEASE_OBJECT_MISMATCH', fence };
  const isLiveHere = row !== 0 && names.isLive(row) && leaseSeq === fence;
  if (!isLiveHere && names.isLeaseLive(leaseSeq)) return { refused: 'LEASE_OBJECT_MISMATCH', fence };
  if (leaseSeq < fence) return { refused: 'WRITE_STALE_FENCE', fence };
  if (leaseSeq > fence || row === 0) return { refused: 'WRITE_UNKNOWN_FENCE', fence };
  if (lease.holderId !== null && !names.heldBy(row, lease.holderId)) {
    return { refused: 'LEASE_HOLDER_MISMATCH', fence };
  }
  if (!names.isLive(row)) return { refused: 'LEASE_EXPIRED', fence };
  return { row, leaseSeq, version: names.version.get(row) };
}

export function writeObject(state: State, command: WriteObject): Decision<Written> {
  const checked = checkVersioned(state, command);
  if (isRefusal(checked)) return { entries: [], answer: checked };
  const { objectId, value } = command;
  const { leaseSeq } = checked;
  const version = checked.version + 1;
  return append(
    { type: 'ObjectWritten', objectId, leaseSeq, version, value },
    { objectId, version, leaseSeq, seq: state.lastSeq + 1 },
  );
}

export function deleteObject(state: State, command: DeleteObject): Decision<Written> {
  const checked = checkVersioned(state, command);
  if (isRefusal(checked)) return { entries: [], answer: checked };
  if (!state.names.value.has(checked.row)) return refuse('OBJECT_NOT_FOUND');
  const { objectId } = command;
  const { leaseSeq } = checked;
  const version = checked.version + 1;
  return append(
    { type: 'ObjectDeleted', objectId, leaseSeq, version },
    { objectId, version, leaseSeq, seq: state.lastSeq + 1 },
  );
}

function checkVersioned(state: State, command: WriteObject | DeleteObject): Writable | Refusal {
  const checked = checkWrite(state, command.objectId, command.lease);
  if (isRefusal(checked)) return checked;
  const version = state.names.value.has(checked.row) ? checked.version : 0;
  if (command.ifVersion !== null && command.ifVersion !== version) {
    return { refused: 'VERSION_MISMATCH', detail: `The object has version ${version}.` };
  }
  return checked;
}

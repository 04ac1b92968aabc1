/**
 * What may be sent again after a reply was lost, when nobody knows whether the call was carried out. The
 * rule for every operation: once and once again must be the same as once. A new operation needs its line.
 *
 * `safe` says when a second try does no more than the first. `fills` names the field by which the authority
 * recognises the second one; the client makes it up when the caller gives none. `looks` means that a refusal
 * of the second try may come from the first: then one looks what is there before it is believed.
 */
import type { Operation } from '../protocol/routes.ts';

export interface Retry {
  readonly safe: 'always' | 'with lease_seq' | 'with if_version';
  readonly fills?: 'task_id' | 'request_id' | 'token';
  readonly looks?: true;
}

const ALWAYS: Retry = { safe: 'always' };

export const RETRIES: Readonly<Record<Operation, Retry>> = {
  // The same id with the same payload is the same task.
  'task.create': { safe: 'always', fills: 'task_id' },
  // The same worker and request_id get the same live leases.
  'task.lease': { safe: 'always', fills: 'request_id' },
  // Never shortens.
  'task.extend': ALWAYS,
  // The verb that ended a lease, sent again, gets its first answer.
  'task.complete': ALWAYS,
  'task.fail': ALWAYS,
  'task.release': ALWAYS,
  // A task that is dead already is no proof that somebody else killed it.
  'task.kill': { safe: 'always', looks: true },
  'worker.heartbeat': ALWAYS,
  'queue.pause': ALWAYS,
  'queue.resume': ALWAYS,
  // The same holder and token are the same grant.
  'lease.acquire': { safe: 'always', fills: 'token' },
  'lease.acquire_all': { safe: 'always', fills: 'token' },
  'lease.renew': ALWAYS,
  // Harmless twice; the second answer says released: false.
  'lease.release': ALWAYS,
  // Without the number a second try could end the lease of whoever came next.
  'lease.break': { safe: 'with lease_seq', looks: true },
  // What has ended cannot end again; only the holder of the guard may ask, and it waits for the answer.
  'lease.wipe': ALWAYS,
  // Without the version a second try could undo a write that came in between.
  'object.write': { safe: 'with if_version', looks: true },
  'object.delete': { safe: 'with if_version', looks: true },
  'task.get': ALWAYS,
  'task.list': ALWAYS,
  'task.history': ALWAYS,
  'task.why': ALWAYS,
  'worker.list': ALWAYS,
  'queue.list': ALWAYS,
  'lease.get': ALWAYS,
  'lease.list': ALWAYS,
  'lease.history': ALWAYS,
  'object.get': ALWAYS,
  'receipt.list': ALWAYS,
  'status.get': ALWAYS,
};

/** Whether the call may be sent again although its first try may have been carried out. */
export function isSafeAgain(operation: Operation, request: object): boolean {
  switch (RETRIES[operation].safe) {
    case 'always':
      return true;
    case 'with lease_seq':
      return (request as { lease_seq?: number }).lease_seq !== undefined;
    case 'with if_version':
      return (request as { if_version?: number }).if_version !== undefined;
  }
}

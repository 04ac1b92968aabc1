/**
 * What may be sent again after a reply was lost, when nobody knows whether the call was carried out. The
 * rule for every operation: once and once again must be the same as once. A new operation needs its line.
 *
 * `needs` names the field without which a second try could do more than the first. `fills` names the field by
 * which the authority recognises the second one; the client makes it up when the caller gives none. `looks` means
 * that a refusal of the second try may come from the first: then one looks what is there before it is believed.
 */
import type { Operation } from '../protocol/routes.ts';

export interface Retry {
  readonly needs?: 'lease_seq' | 'if_version';
  readonly fills?: 'task_id' | 'request_id' | 'token';
  readonly looks?: true;
}

/** Those that are safe as they are, each for its own reason. Only a type, because browsers load what is said below. */
type SafeAsTheyAre =
  // Never shortens.
  | 'task.extend'
  // The verb that ended a lease, sent again, gets its first answer.
  | 'task.complete'
  | 'task.fail'
  | 'task.release'
  | 'worker.heartbeat'
  | 'queue.pause'
  | 'queue.resume'
  | 'lease.renew'
  // Harmless twice; the second answer says released: false.
  | 'lease.release'
  // What has ended cannot end again; only the holder of the guard may ask, and it waits for the answer.
  | 'lease.wipe'
  // The same intent finds the session that the first one made, while that can be shared.
  | 'intent.accept'
  | 'session.heartbeat'
  // What is ending or has ended does not end again.
  | 'session.stop'
  // Each event leads on from where it may happen, so it cannot happen twice.
  | 'session.change'
  | 'session.renew'
  // Looking changes nothing.
  | `${string}.${'get' | 'list' | 'history' | 'why'}`;

const OTHERS: Readonly<Record<Exclude<Operation, SafeAsTheyAre>, Retry>> = {
  // The same id with the same payload is the same task.
  'task.create': { fills: 'task_id' },
  // The same worker and request_id get the same live leases.
  'task.lease': { fills: 'request_id' },
  // A task that is dead already is no proof that somebody else killed it.
  'task.kill': { looks: true },
  // The same holder and token are the same grant.
  'lease.acquire': { fills: 'token' },
  'lease.acquire_all': { fills: 'token' },
  // Without the number a second try could end the lease of whoever came next.
  'lease.break': { needs: 'lease_seq', looks: true },
  // Without the version a second try could undo a write that came in between.
  'object.write': { needs: 'if_version', looks: true },
  'object.delete': { needs: 'if_version', looks: true },
  // The same token is the same start.
  'session.start': { fills: 'token' },
};

/** Undefined for those that are safe as they are. */
export const RETRIES: Readonly<Partial<Record<Operation, Retry>>> = OTHERS;

/** Whether the call may be sent again although its first try may have been carried out. */
export function isSafeAgain(operation: Operation, request: object): boolean {
  const needs = RETRIES[operation]?.needs;
  return needs === undefined || (request as Record<string, unknown>)[needs] !== undefined;
}

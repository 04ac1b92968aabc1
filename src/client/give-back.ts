/**
 * What a call was granted whose caller had gone by then is given back, so that nobody waits for a lease that
 * nobody holds. Leases of tasks are known only from the answer; a named lease is known by its token, if it was
 * made up for this very call: one that the caller chose may be in use again by now.
 */
import type { Operation } from '../operations/table.ts';
import type { PendingCall } from './pending-call.ts';
import type { WireBody } from './reply-text.ts';

type GivingBack = readonly [operation: Operation, request: object];

/** `body` is the answer that came too late; null when none came. */
export function givingBack(call: PendingCall, body: WireBody | null): GivingBack[] {
  const { operation, request, madeId, isTokenOwn } = call;
  const { holder } = request;
  switch (operation) {
    case 'task.lease':
      return ((body?.leases ?? []) as { task_id: string; lease_id: string }[]).map(
        ({ task_id, lease_id }) => ['task.release', { task_id, lease_id }],
      );
    case 'lease.acquire':
    case 'lease.acquire_all': {
      const token = isTokenOwn ? (request.token ?? madeId) : madeId;
      if (token === '') return [];
      const names = operation === 'lease.acquire' ? [request.name] : (request.names as readonly unknown[]);
      return names.map((name) => ['lease.release', { name, holder, token }]);
    }
    default:
      return [];
  }
}

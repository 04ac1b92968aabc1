/**
 * Where each operation goes: a plus for what may stand in a batch, the method, the path. It says what the table of
 * the wire (`protocol/routes.ts`) says, in a twentieth of its size, because browsers load it; a test holds the two
 * together, and a new operation needs its line.
 */
import type { Operation, Route } from '../protocol/routes.ts';

export interface Target {
  readonly method: Route['method'];
  /** Fields in braces. */
  readonly path: string;
  readonly mayJoinBatch: boolean;
}

const LINES: Readonly<Record<Operation, `${'+' | ''}${Route['method']} /${string}`>> = {
  'task.create': '+POST /v1/tasks',
  'task.lease': '+POST /v1/tasks/lease',
  'task.extend': '+POST /v1/tasks/{task_id}/extend',
  'task.complete': '+POST /v1/tasks/{task_id}/complete',
  'task.fail': '+POST /v1/tasks/{task_id}/fail',
  'task.release': '+POST /v1/tasks/{task_id}/release',
  'task.kill': 'POST /v1/tasks/{task_id}/kill',
  'task.get': 'GET /v1/tasks/{task_id}',
  'task.list': 'GET /v1/tasks',
  'task.history': 'GET /v1/tasks/{task_id}/history',
  'task.why': 'GET /v1/tasks/{task_id}/why',
  'worker.heartbeat': '+POST /v1/workers/{worker_id}/heartbeat',
  'worker.list': 'GET /v1/workers',
  'queue.list': 'GET /v1/queues',
  'queue.pause': 'POST /v1/queues/{queue}/pause',
  'queue.resume': 'POST /v1/queues/{queue}/resume',
  'lease.acquire': '+POST /v1/leases/{name}/acquire',
  'lease.acquire_all': 'POST /v1/leases/acquire',
  'lease.renew': '+POST /v1/leases/{name}/renew',
  'lease.release': '+POST /v1/leases/{name}/release',
  'lease.break': 'POST /v1/leases/{name}/break',
  'lease.wipe': 'POST /v1/leases/wipe',
  'lease.get': 'GET /v1/leases/{name}',
  'lease.list': 'GET /v1/leases',
  'lease.history': 'GET /v1/leases/{name}/history',
  'object.write': '+PUT /v1/objects/{object_id}',
  'object.get': 'GET /v1/objects/{object_id}',
  'object.delete': 'DELETE /v1/objects/{object_id}',
  'receipt.list': 'GET /v1/receipts',
  'status.get': 'GET /v1/status',
  'intent.accept': 'POST /api/v3/intents',
  'session.get': 'GET /api/v3/sessions/{session_id}',
  'session.list': 'GET /api/v3/sessions',
  'session.heartbeat': 'POST /api/v3/sessions/{session_id}/heartbeat',
  'session.stop': 'DELETE /api/v3/sessions/{session_id}',
  'session.start': 'POST /api/v3/sessions/{session_id}/start',
  'session.change': 'POST /api/v3/sessions/{session_id}/change',
  'session.renew': 'POST /api/v3/sessions/renew',
};

export const TARGETS = Object.fromEntries(
  Object.entries(LINES).map(([operation, line]) => {
    const mayJoinBatch = line.startsWith('+');
    const [method, path] = line.slice(mayJoinBatch ? 1 : 0).split(' ');
    return [operation, { method, path, mayJoinBatch }];
  }),
) as Readonly<Record<Operation, Target>>;

export const BATCH_PATH = '/v1/batch';
export const LOG_PATH = '/v1/log';

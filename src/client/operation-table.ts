// biome-ignore-all format: generated, one operation a line
/**
 * What the client knows of each operation. Generated from `src/operations` by `npm run generate`; a test compares.
 * It holds no schemas and no rules, so that a browser loads neither.
 */
import type { Retry } from '../operations/operation.ts';
import type { Operation } from '../operations/table.ts';

export interface OperationRow {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Fields in braces. */
  readonly path: string;
  readonly batch?: true;
  /** Keeps or ends ownership: on a live connection it leaves before the rest. */
  readonly urgent?: true;
  /** Its reply has values that belong to the user. */
  readonly opaque?: true;
  /** Keeps alive what is held: it travels on a connection of its own. */
  readonly renews?: true;
  /** How it is retried after a lost reply; absent where once and twice are the same. */
  readonly retry?: Exclude<Retry, 'safe'>;
}

export const OPERATION_ROWS: Readonly<Record<Operation, OperationRow>> = {
  'task.create': { method: 'POST', path: '/v1/tasks', batch: true, retry: { fills: 'task_id' } },
  'task.lease': { method: 'POST', path: '/v1/tasks/lease', opaque: true, batch: true, retry: { fills: 'request_id' } },
  'task.extend': { method: 'POST', path: '/v1/tasks/{task_id}/extend', batch: true, urgent: true },
  'task.checkpoint': { method: 'POST', path: '/v1/tasks/{task_id}/checkpoint', batch: true },
  'task.complete': { method: 'POST', path: '/v1/tasks/{task_id}/complete', batch: true, urgent: true },
  'task.fail': { method: 'POST', path: '/v1/tasks/{task_id}/fail', batch: true, urgent: true },
  'task.release': { method: 'POST', path: '/v1/tasks/{task_id}/release', batch: true, urgent: true },
  'task.cancel': { method: 'POST', path: '/v1/tasks/{task_id}/cancel', batch: true },
  'task.change': { method: 'PATCH', path: '/v1/tasks/{task_id}' },
  'task.kill': { method: 'POST', path: '/v1/tasks/{task_id}/kill', batch: true, retry: { looks: true } },
  'task.requeue': { method: 'POST', path: '/v1/tasks/{task_id}/requeue', batch: true },
  'task.bulk': { method: 'POST', path: '/v1/tasks/bulk' },
  'task.get': { method: 'GET', path: '/v1/tasks/{task_id}', opaque: true },
  'task.list': { method: 'GET', path: '/v1/tasks', opaque: true },
  'task.history': { method: 'GET', path: '/v1/tasks/{task_id}/history', opaque: true },
  'task.why': { method: 'GET', path: '/v1/tasks/{task_id}/why' },
  'worker.heartbeat': { method: 'POST', path: '/v1/workers/{worker_id}/heartbeat', batch: true, urgent: true, renews: true },
  'worker.list': { method: 'GET', path: '/v1/workers' },
  'queue.list': { method: 'GET', path: '/v1/queues' },
  'queue.limit': { method: 'PUT', path: '/v1/queues/{queue}/limits' },
  'queue.pause': { method: 'POST', path: '/v1/queues/{queue}/pause' },
  'queue.resume': { method: 'POST', path: '/v1/queues/{queue}/resume' },
  'queue.figures': { method: 'GET', path: '/v1/queues/{queue}/figures' },
  'schedule.put': { method: 'PUT', path: '/v1/schedules/{name}', opaque: true },
  'schedule.get': { method: 'GET', path: '/v1/schedules/{name}', opaque: true },
  'schedule.list': { method: 'GET', path: '/v1/schedules', opaque: true },
  'schedule.delete': { method: 'DELETE', path: '/v1/schedules/{name}' },
  'schedule.pause': { method: 'POST', path: '/v1/schedules/{name}/pause' },
  'schedule.resume': { method: 'POST', path: '/v1/schedules/{name}/resume' },
  'schedule.fire': { method: 'POST', path: '/v1/schedules/{name}/fire', retry: { fills: 'request_id' } },
  'lease.acquire': { method: 'POST', path: '/v1/leases/{name}/acquire', batch: true, retry: { fills: 'token' } },
  'lease.acquire_all': { method: 'POST', path: '/v1/leases/acquire', retry: { fills: 'token' } },
  'lease.renew': { method: 'POST', path: '/v1/leases/{name}/renew', batch: true, urgent: true, renews: true },
  'lease.release': { method: 'POST', path: '/v1/leases/{name}/release', batch: true, urgent: true },
  'lease.break': { method: 'POST', path: '/v1/leases/{name}/break', retry: { needs: 'lease_seq', looks: true } },
  'lease.wipe': { method: 'POST', path: '/v1/leases/wipe' },
  'lease.get': { method: 'GET', path: '/v1/leases/{name}', opaque: true },
  'lease.list': { method: 'GET', path: '/v1/leases', opaque: true },
  'lease.waiters': { method: 'GET', path: '/v1/leases/{name}/waiters' },
  'lease.ask': { method: 'POST', path: '/v1/leases/{name}/ask' },
  'lease.history': { method: 'GET', path: '/v1/leases/{name}/history', opaque: true },
  'object.write': { method: 'PUT', path: '/v1/objects/{object_id}', batch: true, retry: { needs: 'if_version', looks: true } },
  'object.get': { method: 'GET', path: '/v1/objects/{object_id}', opaque: true },
  'object.list': { method: 'GET', path: '/v1/objects' },
  'object.delete': { method: 'DELETE', path: '/v1/objects/{object_id}', retry: { needs: 'if_version', looks: true } },
  'receipt.list': { method: 'GET', path: '/v1/receipts' },
  'status.get': { method: 'GET', path: '/v1/status' },
  'overview.get': { method: 'GET', path: '/v1/overview' },
  'whoami.get': { method: 'GET', path: '/v1/whoami' },
  'intent.accept': { method: 'POST', path: '/api/v3/intents' },
  'session.get': { method: 'GET', path: '/api/v3/sessions/{session_id}' },
  'session.list': { method: 'GET', path: '/api/v3/sessions' },
  'session.heartbeat': { method: 'POST', path: '/api/v3/sessions/{session_id}/heartbeat', urgent: true, renews: true },
  'session.stop': { method: 'DELETE', path: '/api/v3/sessions/{session_id}', urgent: true },
  'session.start': { method: 'POST', path: '/api/v3/sessions/{session_id}/start', retry: { fills: 'token' } },
  'session.change': { method: 'POST', path: '/api/v3/sessions/{session_id}/change', urgent: true },
  'session.renew': { method: 'POST', path: '/api/v3/sessions/renew', urgent: true, renews: true },
};

export const LOG_PATH = '/v1/log';

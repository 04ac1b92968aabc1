/**
 * The wire on one page: every operation with its path, its scope, what it answers and how it can refuse.
 * Routes, `/v1/batch`, the OpenAPI text and the client are all made from this table; the schemas of requests
 * and replies stand beside it, under the same names.
 *
 * To add an operation: a line here, then follow the compiler and the tests through schemas, examples, the rule
 * in `src/embedded`, the client and `docs/http.md`; `CONTRIBUTING.md` has the list.
 */
import type { RefusalCode } from '../core/refusals.ts';

export type Scope = `${'v1' | 'v3'}:${'read' | 'write' | 'admin'}`;

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Fields of the request in braces are taken from the path, the others from the body or the query. */
  readonly path: string;
  /** `any`: every token will do, whatever its scopes. */
  readonly scope: Scope | 'any';
  /** The status of a reply that is not a problem. */
  readonly status: 200 | 201 | 202;
  /** May stand in a `/v1/batch`. */
  readonly batch?: true;
  /** What it can be refused for, besides what every operation can. */
  readonly refusals: readonly RefusalCode[];
  /** One line for the OpenAPI text. */
  readonly does: string;
}

/** In the order in which they are looked for; each leaves a receipt. */
export const WRITE_REFUSALS = [
  'WRITE_UNFENCED',
  'LEASE_OBJECT_MISMATCH',
  'WRITE_STALE_FENCE',
  'WRITE_UNKNOWN_FENCE',
  'LEASE_HOLDER_MISMATCH',
  'LEASE_EXPIRED',
] as const satisfies readonly RefusalCode[];

/** Of whatever is said about a task under a lease. */
const VERDICT_REFUSALS = [
  'TASK_NOT_FOUND',
  'LEASE_UNKNOWN',
  'LEASE_NOT_CURRENT',
  'GUARD_NOT_HELD',
] as const satisfies readonly RefusalCode[];

export const ROUTES = {
  'task.create': {
    method: 'POST',
    path: '/v1/tasks',
    scope: 'v1:write',
    status: 201,
    batch: true,
    refusals: ['TASK_ID_CONFLICT', 'FORBIDDEN', 'DISK_FULL'],
    does: 'Make a task. A known id with the same payload, or a live dedup key, gives the task that is there (200).',
  },
  'task.lease': {
    method: 'POST',
    path: '/v1/tasks/lease',
    scope: 'v1:write',
    status: 200,
    batch: true,
    refusals: ['FORBIDDEN', 'GUARD_NOT_HELD', 'DISK_FULL'],
    does: 'Lease up to max tasks, highest priority first, then first come; wait for the first if asked to.',
  },
  'task.extend': {
    method: 'POST',
    path: '/v1/tasks/{task_id}/extend',
    scope: 'v1:write',
    status: 200,
    batch: true,
    refusals: [...VERDICT_REFUSALS, 'LEASE_EXPIRED'],
    does: 'Extend the lease of a task. Never shortens, never resurrects.',
  },
  'task.complete': {
    method: 'POST',
    path: '/v1/tasks/{task_id}/complete',
    scope: 'v1:write',
    status: 200,
    batch: true,
    refusals: [...VERDICT_REFUSALS, ...WRITE_REFUSALS, 'DISK_FULL'],
    does: 'Complete a task with its result and fenced writes, all or nothing. Too late: outcome CANCELLED.',
  },
  'task.fail': {
    method: 'POST',
    path: '/v1/tasks/{task_id}/fail',
    scope: 'v1:write',
    status: 200,
    batch: true,
    refusals: VERDICT_REFUSALS,
    does: 'Say that a task failed: it waits for its backoff, or has failed for good.',
  },
  'task.release': {
    method: 'POST',
    path: '/v1/tasks/{task_id}/release',
    scope: 'v1:write',
    status: 200,
    batch: true,
    refusals: VERDICT_REFUSALS,
    does: 'Hand a task back; that is neither a failure nor an attempt.',
  },
  'task.kill': {
    method: 'POST',
    path: '/v1/tasks/{task_id}/kill',
    scope: 'v1:admin',
    status: 200,
    refusals: ['TASK_NOT_FOUND', 'TASK_TERMINAL'],
    does: 'End a task at once, as DEAD.',
  },
  'task.get': {
    method: 'GET',
    path: '/v1/tasks/{task_id}',
    scope: 'v1:read',
    status: 200,
    refusals: ['TASK_NOT_FOUND'],
    does: 'Show a task; with wait_ms, once it has ended or the wait is over.',
  },
  'task.list': {
    method: 'GET',
    path: '/v1/tasks',
    scope: 'v1:read',
    status: 200,
    refusals: [],
    does: 'List tasks, page by page.',
  },
  'task.history': {
    method: 'GET',
    path: '/v1/tasks/{task_id}/history',
    scope: 'v1:read',
    status: 200,
    refusals: ['TASK_NOT_FOUND'],
    does: 'Every entry that touched a task, as far back as the log reaches, page by page.',
  },
  'task.why': {
    method: 'GET',
    path: '/v1/tasks/{task_id}/why',
    scope: 'v1:read',
    status: 200,
    refusals: ['TASK_NOT_FOUND'],
    does: 'Why a task is not running, as a code and a sentence.',
  },
  'worker.heartbeat': {
    method: 'POST',
    path: '/v1/workers/{worker_id}/heartbeat',
    scope: 'v1:write',
    status: 200,
    batch: true,
    refusals: [],
    does: 'Extend every listed lease and say which are lost.',
  },
  'worker.list': {
    method: 'GET',
    path: '/v1/workers',
    scope: 'v1:read',
    status: 200,
    refusals: [],
    does: 'Who was heard of lately. Soft state.',
  },
  'queue.list': {
    method: 'GET',
    path: '/v1/queues',
    scope: 'v1:read',
    status: 200,
    refusals: [],
    does: 'The queues with their counts.',
  },
  'queue.pause': {
    method: 'POST',
    path: '/v1/queues/{queue}/pause',
    scope: 'v1:admin',
    status: 200,
    refusals: [],
    does: 'Stop handing out tasks of a queue.',
  },
  'queue.resume': {
    method: 'POST',
    path: '/v1/queues/{queue}/resume',
    scope: 'v1:admin',
    status: 200,
    refusals: [],
    does: 'Hand out tasks of a queue again.',
  },
  'lease.acquire': {
    method: 'POST',
    path: '/v1/leases/{name}/acquire',
    scope: 'v1:write',
    status: 200,
    batch: true,
    refusals: [
      'FORBIDDEN',
      'LEASE_NOT_FOUND',
      'LEASE_NOT_CURRENT',
      'LEASE_HELD',
      'LEASE_NOT_HELD',
      'DISK_FULL',
    ],
    does: 'Take a named lease; wait in line for it if asked to.',
  },
  'lease.acquire_all': {
    method: 'POST',
    path: '/v1/leases/acquire',
    scope: 'v1:write',
    status: 200,
    refusals: ['FORBIDDEN', 'LEASE_HELD', 'LEASE_NOT_HELD', 'DISK_FULL'],
    does: 'Take several named leases, all or none, in one entry.',
  },
  'lease.renew': {
    method: 'POST',
    path: '/v1/leases/{name}/renew',
    scope: 'v1:write',
    status: 200,
    batch: true,
    refusals: ['LEASE_EXPIRED', 'LEASE_NOT_HELD'],
    does: 'Renew a named lease. Never shortens, never resurrects.',
  },
  'lease.release': {
    method: 'POST',
    path: '/v1/leases/{name}/release',
    scope: 'v1:write',
    status: 200,
    batch: true,
    refusals: [],
    does: 'Give a named lease back; harmless twice.',
  },
  'lease.break': {
    method: 'POST',
    path: '/v1/leases/{name}/break',
    scope: 'v1:admin',
    status: 200,
    refusals: ['LEASE_NOT_FOUND', 'LEASE_NOT_CURRENT'],
    does: 'End a named lease at once, whoever holds it; only that grant when lease_seq is given.',
  },
  'lease.wipe': {
    method: 'POST',
    path: '/v1/leases/wipe',
    scope: 'v1:write',
    status: 200,
    refusals: ['GUARD_NOT_HELD'],
    does: 'End every named lease under a prefix except guards, in one entry. Only for the holder of the guard.',
  },
  'lease.get': {
    method: 'GET',
    path: '/v1/leases/{name}',
    scope: 'v1:read',
    status: 200,
    refusals: ['LEASE_NOT_FOUND'],
    does: 'Who holds a name, and for how long. Never the token.',
  },
  'lease.list': {
    method: 'GET',
    path: '/v1/leases',
    scope: 'v1:read',
    status: 200,
    refusals: [],
    does: 'List live named leases, page by page.',
  },
  'lease.history': {
    method: 'GET',
    path: '/v1/leases/{name}/history',
    scope: 'v1:read',
    status: 200,
    refusals: ['LEASE_NOT_FOUND'],
    does: 'Every entry that touched a name, as far back as the log reaches, page by page.',
  },
  'object.write': {
    method: 'PUT',
    path: '/v1/objects/{object_id}',
    scope: 'v1:write',
    status: 200,
    batch: true,
    refusals: [...WRITE_REFUSALS, 'VERSION_MISMATCH', 'DISK_FULL'],
    does: 'Write an object under its lease. The first of the fence checks that fails answers; nothing changes.',
  },
  'object.get': {
    method: 'GET',
    path: '/v1/objects/{object_id}',
    scope: 'v1:read',
    status: 200,
    refusals: ['OBJECT_NOT_FOUND'],
    does: 'Show an object.',
  },
  'object.delete': {
    method: 'DELETE',
    path: '/v1/objects/{object_id}',
    scope: 'v1:write',
    status: 200,
    refusals: [...WRITE_REFUSALS, 'VERSION_MISMATCH', 'OBJECT_NOT_FOUND'],
    does: 'Delete an object under its lease, by the same checks as a write.',
  },
  'receipt.list': {
    method: 'GET',
    path: '/v1/receipts',
    scope: 'v1:read',
    status: 200,
    refusals: [],
    does: 'Refused writes, newest first. Evidence, not truth.',
  },
  'status.get': {
    method: 'GET',
    path: '/v1/status',
    scope: 'v1:read',
    status: 200,
    refusals: [],
    does: 'Role, position, epoch, guard holder, counts and the last commit.',
  },
  'whoami.get': {
    method: 'GET',
    path: '/v1/whoami',
    scope: 'any',
    status: 200,
    refusals: [],
    does: 'The name and the scopes of the token that the request carries.',
  },
  'intent.accept': {
    method: 'POST',
    path: '/api/v3/intents',
    scope: 'v3:write',
    status: 202,
    refusals: ['LEASE_HELD', 'DISK_FULL'],
    does: 'Ask for a session. The same intent again is given the session that is there, while that can be shared.',
  },
  'session.get': {
    method: 'GET',
    path: '/api/v3/sessions/{session_id}',
    scope: 'v3:read',
    status: 200,
    refusals: ['SESSION_NOT_FOUND', 'SESSION_TERMINAL'],
    does: 'Show a session that has not ended.',
  },
  'session.list': {
    method: 'GET',
    path: '/api/v3/sessions',
    scope: 'v3:admin',
    status: 200,
    refusals: [],
    does: 'List sessions, page by page: first those that have not ended, then those that have.',
  },
  'session.heartbeat': {
    method: 'POST',
    path: '/api/v3/sessions/{session_id}/heartbeat',
    scope: 'v3:read',
    status: 200,
    refusals: ['SESSION_NOT_FOUND', 'SESSION_TERMINAL'],
    does: 'Say that somebody still watches a session. Soft state.',
  },
  'session.stop': {
    method: 'DELETE',
    path: '/api/v3/sessions/{session_id}',
    scope: 'v3:write',
    status: 202,
    refusals: ['SESSION_NOT_FOUND', 'SESSION_TERMINAL'],
    does: 'Ask for the end of a session.',
  },
  'session.start': {
    method: 'POST',
    path: '/api/v3/sessions/{session_id}/start',
    scope: 'v3:admin',
    status: 200,
    refusals: [
      'GUARD_NOT_HELD',
      'SESSION_NOT_FOUND',
      'LEASE_UNKNOWN',
      'LEASE_NOT_CURRENT',
      'LEASE_HELD',
      'LEASE_NOT_HELD',
      'LEASE_EXPIRED',
      'SESSION_STATE_CONFLICT',
      'SESSION_TERMINAL',
      'DISK_FULL',
    ],
    does: 'Take the service and the first free slot for a session, or fail it. Only for the holder of the guard.',
  },
  'session.change': {
    method: 'POST',
    path: '/api/v3/sessions/{session_id}/change',
    scope: 'v3:admin',
    status: 200,
    refusals: ['GUARD_NOT_HELD', 'SESSION_NOT_FOUND', 'SESSION_STATE_CONFLICT', 'SESSION_TERMINAL'],
    does: 'Say what has become of the pipeline of a session. Only for the holder of the guard.',
  },
  'session.renew': {
    method: 'POST',
    path: '/api/v3/sessions/renew',
    scope: 'v3:admin',
    status: 200,
    refusals: ['GUARD_NOT_HELD'],
    does: 'Renew both leases of every listed session and say which are lost. Only for the holder of the guard.',
  },
} as const satisfies Record<string, Route>;

export type Operation = keyof typeof ROUTES;

type BatchNames = { [Op in Operation]: (typeof ROUTES)[Op] extends { batch: true } ? Op : never };
export type BatchOperation = BatchNames[Operation];

/** What answers with a stream, a page or a file instead of one JSON body; served by hand, documented like the rest. */
export interface Page {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  /** Null: no token is asked for. */
  readonly scope: Scope | null;
  readonly type: string;
  readonly refusals: readonly RefusalCode[];
  readonly does: string;
}

export const PAGES = {
  batch: {
    path: '/v1/batch',
    method: 'POST',
    scope: 'v1:write',
    type: 'application/json',
    refusals: ['NOT_LEADER'],
    does: 'Several operations in one request, in order, each judged on its own.',
  },
  log: {
    path: '/v1/log',
    method: 'GET',
    scope: 'v1:read',
    type: 'application/x-ndjson',
    refusals: ['LOG_COMPACTED', 'NOT_LEADER'],
    does: 'Durable entries, one JSON object a line; with follow=1 it stays open.',
  },
  events: {
    path: '/v1/events',
    method: 'GET',
    scope: 'v1:read',
    type: 'text/event-stream',
    refusals: ['LOG_COMPACTED', 'NOT_LEADER'],
    does: 'Durable entries as server-sent events; resumes by Last-Event-ID.',
  },
  session_events: {
    path: '/api/v3/sessions/{session_id}/events',
    method: 'GET',
    scope: 'v3:read',
    type: 'text/event-stream',
    refusals: ['SESSION_NOT_FOUND', 'SESSION_TERMINAL', 'OVERLOADED', 'NOT_LEADER'],
    does: 'The life of one session as server-sent events, from its intent to its end; resumes by Last-Event-ID.',
  },
  backup: {
    path: '/v1/backup',
    method: 'GET',
    scope: 'v1:admin',
    type: 'application/x-tar',
    refusals: ['ROUTE_NOT_FOUND', 'NOT_LEADER'],
    does: 'A consistent copy of the log while it is being written, as a tar archive.',
  },
  metrics: {
    path: '/metrics',
    method: 'GET',
    scope: 'v1:read',
    type: 'text/plain',
    refusals: [],
    does: 'Prometheus metrics.',
  },
  health: {
    path: '/healthz',
    method: 'GET',
    scope: null,
    type: 'application/json',
    refusals: [],
    does: 'The process answers.',
  },
  ready: {
    path: '/readyz',
    method: 'GET',
    scope: null,
    type: 'application/json',
    refusals: ['UNAVAILABLE', 'NOT_LEADER'],
    does: 'This server may write.',
  },
  openapi: {
    path: '/openapi.json',
    method: 'GET',
    scope: null,
    type: 'application/json',
    refusals: [],
    does: 'This description.',
  },
  error: {
    path: '/errors/{code}',
    method: 'GET',
    scope: null,
    type: 'text/html',
    refusals: ['ROUTE_NOT_FOUND'],
    does: 'What an error code means and what to do about it.',
  },
  home: {
    path: '/',
    method: 'GET',
    scope: null,
    type: 'text/html',
    refusals: ['OVERLOADED'],
    does: 'A page with the state of this server and where to go next.',
  },
} as const satisfies Record<string, Page>;

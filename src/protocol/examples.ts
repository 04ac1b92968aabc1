/**
 * One example of every operation, told as one story: a mail is sent by a worker, a report is written under a lease,
 * and a session is asked for and run. `openapi.ts` shows them, and a test holds them against the schemas, so they can be copied as they are.
 */
import { ORCHESTRATOR_GUARD, SESSION_LEASES } from '../core/reserved-names.ts';
import type { Json } from './json.ts';
import type { Replies } from './replies.ts';
import type { Requests } from './requests.ts';
import type { BatchOperation, Operation } from './routes.ts';

/** A body as it reads on the wire: opaque fields are any JSON. */
type Plain<T> = T extends Json
  ? unknown
  : T extends readonly (infer Item)[]
    ? readonly Plain<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Plain<T[Key]> }
      : T;

export interface Example<Op extends Operation> {
  readonly request: Plain<Requests[Op]>;
  readonly reply: Plain<Replies[Op]>;
}

const TASK_ID = 't0000000001a';
const LEASE_ID = 'l0000000001b';
const PAYLOAD = { to: 'ada@example.org', template: 'welcome' };
const TOKEN = 'q1vR8tN2sLxY5wZ0aB3dE7fG';
const CREATED_AT = '2026-01-05T08:00:00.000Z';
const GRANTED_AT = '2026-01-05T08:00:01.250Z';
const EXPIRES_AT = '2026-01-05T08:00:31.250Z';
const EXTENDED_TO = '2026-01-05T08:00:51.500Z';
const REPORT = { name: 'nightly-report', holder: 'host-1' };
const REPORT_TIMES = {
  lease_seq: 46,
  acquired_at: '2026-01-05T08:01:00.000Z',
  expires_at: '2026-01-05T08:01:15.000Z',
  remaining_ms: 15_000,
};
/** A grant to host-1. */
const granted = (name: string) => {
  const { holder } = REPORT;
  return { name, holder, token: TOKEN, ...REPORT_TIMES, object_id: name, holder_id: holder };
};
const RETRY = { max_failures: 5, backoff_ms: 1000, max_backoff_ms: 300_000 };

const CREATED_ENTRY = {
  seq: 42,
  at: CREATED_AT,
  type: 'TaskCreated',
  task_id: TASK_ID,
  payload: PAYLOAD,
  created_at: CREATED_AT,
  queue: 'mail',
  priority: 0,
  due_at: CREATED_AT,
  retry: RETRY,
  max_attempts: 100,
};
const GRANTED_ENTRY = {
  seq: 43,
  at: GRANTED_AT,
  type: 'LeaseGranted',
  task_id: TASK_ID,
  lease_id: LEASE_ID,
  lease_seq: 43,
  worker_id: 'worker-1',
  attempt: 1,
  expiry_timestamp: EXPIRES_AT,
};
const COMPLETED_ENTRY = {
  seq: 45,
  at: '2026-01-05T08:00:22.000Z',
  type: 'TaskCompleted',
  task_id: TASK_ID,
  lease_id: LEASE_ID,
  result: { message_id: 'm-77' },
  writes: [{ object_id: 'mail-count', lease_seq: 40, version: 7, value: 121 }],
};
const LEASED_NAME_ENTRY = {
  seq: 46,
  at: REPORT_TIMES.acquired_at,
  type: 'NameLeased',
  name: REPORT.name,
  names: [REPORT.name],
  holder: REPORT.holder,
  token_sha256: '5f2b1c0e9d8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c',
  lease_seq: 46,
  acquired_at: REPORT_TIMES.acquired_at,
  expires_at: REPORT_TIMES.expires_at,
};

const EXTENDED = {
  task_id: TASK_ID,
  lease_id: LEASE_ID,
  lease_seq: 43,
  expiry_timestamp: EXTENDED_TO,
  expires_at: EXTENDED_TO,
  remaining_ms: 30_000,
  seq: 44,
};

const TASK: Plain<Replies['task.get']> = {
  task_id: TASK_ID,
  payload: PAYLOAD,
  state: 'COMPLETED',
  attempt: 1,
  current_lease_id: null,
  queue: 'mail',
  priority: 0,
  failures: 0,
  max_attempts: 100,
  retry: RETRY,
  created_at: CREATED_AT,
  due_at: CREATED_AT,
  ended_at: COMPLETED_ENTRY.at,
  result: COMPLETED_ENTRY.result,
  leases: [
    {
      lease_id: LEASE_ID,
      lease_seq: 43,
      worker_id: 'worker-1',
      expires_at: EXTENDED_TO,
      end: 'complete',
      ended_seq: 45,
    },
  ],
  seq: 45,
};

const LEASE: Plain<Replies['lease.get']> = {
  ...REPORT,
  ...REPORT_TIMES,
  remaining_ms: 9_640,
  metadata: { pid: 4711 },
  seq: 46,
};

const WRITE_LEASE = { lease_seq: 46, holder_id: REPORT.holder };

const SESSION_ID = 's0000000001n';
const SESSION_LEASE = { lease_seq: 58, slot: '0' };
const ORCHESTRATOR = { name: ORCHESTRATOR_GUARD, holder: 'orchestrator-1', token: TOKEN };
const SESSION: Plain<Replies['session.get']> = {
  session_id: SESSION_ID,
  state: 'READY',
  reason: null,
  reason_detail: null,
  type: 'live',
  serviceRef: '1:0:19:283D:3FB:1:C00000:0:0:0:',
  profileID: 'high',
  ...SESSION_LEASE,
  created_at: '2026-01-05T08:02:00.000Z',
  updated_at: '2026-01-05T08:02:01.500Z',
  last_heartbeat_at: '2026-01-05T08:02:30.000Z',
  idle_ms: 4_200,
  seq: 61,
};
const { last_heartbeat_at: _heartbeat, idle_ms: _idle, ...SETTLED } = SESSION;
const ENDED: Plain<Replies['session.get']> = {
  ...SETTLED,
  session_id: 's0000000000c',
  state: 'FAILED',
  reason: 'R_PROCESS_ENDED',
  reason_detail: 'exit code 1',
  lease_seq: 14,
  seq: 19,
};

export const EXAMPLES: { readonly [Op in Operation]: Example<Op> } = {
  'task.create': {
    request: { payload: PAYLOAD, queue: 'mail', dedup_key: 'welcome:ada' },
    reply: {
      task_id: TASK_ID,
      seq: 42,
      state: 'WAITING',
      attempt: 0,
      queue: 'mail',
      priority: 0,
      created_at: CREATED_AT,
      due_at: CREATED_AT,
    },
  },
  'task.lease': {
    request: {
      worker_id: 'worker-1',
      queues: ['mail'],
      max: 1,
      ttl_ms: 30_000,
      wait_ms: 20_000,
      request_id: 'r-1',
    },
    reply: {
      leases: [
        {
          task_id: TASK_ID,
          lease_id: LEASE_ID,
          lease_seq: 43,
          attempt: 1,
          payload: PAYLOAD,
          queue: 'mail',
          expiry_timestamp: EXPIRES_AT,
          expires_at: EXPIRES_AT,
          remaining_ms: 30_000,
        },
      ],
      seq: 43,
    },
  },
  'task.extend': {
    request: { task_id: TASK_ID, lease_id: LEASE_ID, ttl_ms: 30_000 },
    reply: EXTENDED,
  },
  'task.complete': {
    request: {
      task_id: TASK_ID,
      lease_id: LEASE_ID,
      result: COMPLETED_ENTRY.result,
      writes: [{ object_id: 'mail-count', value: 121, lease: { lease_seq: 40 } }],
    },
    reply: { outcome: 'COMMITTED', task_id: TASK_ID, state: 'COMPLETED', seq: 45 },
  },
  'task.fail': {
    request: { task_id: TASK_ID, lease_id: LEASE_ID, reason: 'The mail server did not answer.' },
    reply: {
      outcome: 'COMMITTED',
      task_id: TASK_ID,
      state: 'WAITING',
      seq: 45,
      due_at: '2026-01-05T08:00:23.000Z',
    },
  },
  'task.release': {
    request: { task_id: TASK_ID, lease_id: LEASE_ID, delay_ms: 5_000 },
    reply: {
      outcome: 'COMMITTED',
      task_id: TASK_ID,
      state: 'WAITING',
      seq: 45,
      due_at: '2026-01-05T08:00:27.000Z',
    },
  },
  'task.kill': {
    request: { task_id: TASK_ID, reason: 'It was meant for somebody else.' },
    reply: { task_id: TASK_ID, state: 'DEAD', seq: 48 },
  },
  'task.get': { request: { task_id: TASK_ID, wait_ms: 20_000 }, reply: TASK },
  'task.list': {
    request: { state: 'COMPLETED', queue: 'mail', limit: 1 },
    reply: { tasks: [TASK], next_cursor: '17' },
  },
  'task.history': {
    request: { task_id: TASK_ID },
    reply: { entries: [CREATED_ENTRY, GRANTED_ENTRY, COMPLETED_ENTRY], first_seq: 1 },
  },
  'task.why': {
    request: { task_id: TASK_ID },
    reply: { code: 'WAITING_FOR_WORKER', says: 'It is due, and waits for a worker to ask the queue mail.' },
  },
  'worker.heartbeat': {
    request: {
      worker_id: 'worker-1',
      leases: [
        { task_id: TASK_ID, lease_id: LEASE_ID },
        { task_id: 't0000000000k', lease_id: 'l0000000000m' },
      ],
      ttl_ms: 30_000,
    },
    reply: {
      extended: [EXTENDED],
      lost: [{ lease_id: 'l0000000000m', task_id: 't0000000000k', cause: 'expired' }],
      seq: 44,
    },
  },
  'worker.list': {
    request: {},
    reply: { workers: [{ worker_id: 'worker-1', last_heartbeat: GRANTED_AT, active_leases: 1 }] },
  },
  'queue.list': {
    request: {},
    reply: {
      queues: [{ queue: 'mail', paused: false, waiting: 3, leased: 1, completed: 120, failed: 0, dead: 0 }],
    },
  },
  'queue.pause': { request: { queue: 'mail' }, reply: { queue: 'mail', paused: true, seq: 49 } },
  'queue.resume': { request: { queue: 'mail' }, reply: { queue: 'mail', paused: false, seq: 50 } },
  'lease.acquire': {
    request: { ...REPORT, ttl_ms: 15_000, token: TOKEN, wait_ms: 20_000, metadata: { pid: 4711 } },
    reply: { ...granted(REPORT.name), seq: 46 },
  },
  'lease.acquire_all': {
    request: { names: ['printer', 'scanner'], holder: 'host-1', ttl_ms: 15_000, token: TOKEN },
    reply: { leases: [granted('printer'), granted('scanner')], seq: 46 },
  },
  'lease.renew': {
    request: { ...REPORT, token: TOKEN, ttl_ms: 15_000 },
    reply: { ...granted(REPORT.name), expires_at: '2026-01-05T08:01:20.000Z', seq: 51 },
  },
  'lease.release': { request: { ...REPORT, token: TOKEN }, reply: { released: true, seq: 52 } },
  'lease.break': {
    request: { name: REPORT.name, reason: 'host-1 is being replaced.', lease_seq: 46 },
    reply: { ...REPORT, lease_seq: 46, seq: 53 },
  },
  'lease.wipe': {
    request: { prefix: SESSION_LEASES, guard: ORCHESTRATOR },
    reply: { wiped: 4, seq: 54 },
  },
  'lease.get': { request: { name: REPORT.name }, reply: LEASE },
  'lease.list': { request: { prefix: 'nightly-', limit: 100 }, reply: { leases: [LEASE] } },
  'lease.history': { request: { name: REPORT.name }, reply: { entries: [LEASED_NAME_ENTRY], first_seq: 1 } },
  'object.write': {
    request: { object_id: REPORT.name, value: { pages: 12 }, lease: WRITE_LEASE, if_version: 0 },
    reply: { object_id: REPORT.name, version: 1, lease_seq: 46, seq: 47 },
  },
  'object.get': {
    request: { object_id: REPORT.name },
    reply: { object_id: REPORT.name, value: { pages: 12 }, version: 1, lease_seq: 46, seq: 47 },
  },
  'object.delete': {
    request: { object_id: REPORT.name, lease: WRITE_LEASE, if_version: 1 },
    reply: { object_id: REPORT.name, version: 2, lease_seq: 46, seq: 48 },
  },
  'receipt.list': {
    request: { object_id: REPORT.name, code: 'WRITE_STALE_FENCE', limit: 10 },
    reply: {
      receipts: [
        {
          code: 'WRITE_STALE_FENCE',
          object_id: REPORT.name,
          presented_lease_seq: 31,
          current_fence: 46,
          holder_id: 'host-0',
          at: '2026-01-05T08:01:03.500Z',
          requestId: 'f3b0c1d2',
        },
      ],
    },
  },
  'status.get': {
    request: {},
    reply: {
      role: 'leader',
      seq: 54,
      first_seq: 1,
      epoch: 3,
      last_commit: '2026-01-05T08:01:04.000Z',
      log_bytes: 9_216,
      disk_full: false,
      guard_holder: null,
      counts: {
        tasks: { WAITING: 3, LEASED: 1, COMPLETED: 120, FAILED: 0, DEAD: 0 },
        leases: 1,
        names: 2,
        waiters: 0,
        sessions: { NEW: 0, STARTING: 0, READY: 1, STOPPING: 0, STOPPED: 12, FAILED: 1, CANCELLED: 0 },
      },
    },
  },
  'whoami.get': { request: {}, reply: { name: 'billing', scopes: ['v1:write', 'v3:read'] } },
  'intent.accept': {
    request: { type: 'live', serviceRef: SESSION.serviceRef!, profileID: 'high' },
    reply: { session_id: SESSION_ID, status: 'accepted', requestId: 'f3b0c1d2-1k', seq: 55 },
  },
  'session.get': { request: { session_id: SESSION_ID }, reply: SESSION },
  'session.list': {
    request: { limit: 2 },
    reply: { sessions: [SESSION, ENDED], next_cursor: 'e19' },
  },
  'session.heartbeat': { request: { session_id: SESSION_ID }, reply: { ...SESSION, idle_ms: 0 } },
  'session.stop': {
    request: { session_id: SESSION_ID },
    reply: { ...SESSION, state: 'STOPPING', reason: 'R_CLIENT_STOP', seq: 62 },
  },
  'session.start': {
    request: {
      session_id: SESSION_ID,
      guard: ORCHESTRATOR,
      lease_id: 'l0000000001p',
      slots: ['0', '1'],
      ttl_ms: 15_000,
      token: TOKEN,
      patient: true,
    },
    reply: {
      session_id: SESSION_ID,
      state: 'STARTING',
      reason: null,
      reason_detail: null,
      ...SESSION_LEASE,
      expires_at: '2026-01-05T08:02:15.250Z',
      remaining_ms: 15_000,
      seq: 60,
    },
  },
  'session.change': {
    request: { session_id: SESSION_ID, guard: ORCHESTRATOR, event: 'process_ended', detail: 'exit code 1' },
    reply: { ...SETTLED, state: 'FAILED', reason: 'R_PROCESS_ENDED', reason_detail: 'exit code 1', seq: 63 },
  },
  'session.renew': {
    request: { guard: ORCHESTRATOR, session_ids: [SESSION_ID, ENDED.session_id], ttl_ms: 15_000 },
    reply: {
      renewed: [
        {
          session_id: SESSION_ID,
          state: 'READY',
          expires_at: '2026-01-05T08:02:20.250Z',
          remaining_ms: 15_000,
        },
      ],
      lost: [{ session_id: ENDED.session_id, state: 'FAILED', reason: 'R_PROCESS_ENDED' }],
      seq: 65,
    },
  },
};

interface BatchExample {
  readonly request: {
    readonly ops: readonly {
      [Op in BatchOperation]: { readonly op: Op } & Example<Op>['request'];
    }[BatchOperation][];
  };
  readonly reply: { readonly results: readonly { readonly status: number; readonly body: object }[] };
}

const { wait_ms: _, ...leaseWithoutWait } = EXAMPLES['task.lease'].request;

/** Completing and leasing the next travel together. */
export const BATCH_EXAMPLE: BatchExample = {
  request: {
    ops: [
      { op: 'task.complete', ...EXAMPLES['task.complete'].request },
      { op: 'task.lease', ...leaseWithoutWait },
    ],
  },
  reply: {
    results: [
      { status: 200, body: EXAMPLES['task.complete'].reply },
      { status: 200, body: EXAMPLES['task.lease'].reply },
    ],
  },
};

export const LOG_REQUEST_EXAMPLE = {
  from: 42,
  limit: 2,
  follow: 1,
  types: ['TaskCreated', 'LeaseGranted'],
} as const;

const ENTRIES = [CREATED_ENTRY, GRANTED_ENTRY];

/** What `/v1/log` sends. */
export const LOG_EXAMPLE = ENTRIES.map((entry) => `${JSON.stringify(entry)}\n`).join('');

interface EntryExample {
  readonly seq: number;
  readonly type: string;
}

const eventText = (entry: EntryExample): string =>
  `id: ${entry.seq}\nevent: ${entry.type}\ndata: ${JSON.stringify(entry)}\n\n`;

/** What `/v1/events` sends. */
export const EVENTS_EXAMPLE = ENTRIES.map(eventText).join('');

/** What the events of a session look like. */
export const SESSION_EVENTS_EXAMPLE = [
  {
    seq: 59,
    at: '2026-01-05T08:02:00.250Z',
    type: 'SessionChanged',
    session_id: SESSION_ID,
    state: 'STARTING',
    reason: null,
    reason_detail: null,
    ...SESSION_LEASE,
  },
  {
    seq: 63,
    at: '2026-01-05T08:03:10.000Z',
    type: 'SessionChanged',
    session_id: SESSION_ID,
    state: 'FAILED',
    reason: 'R_PROCESS_ENDED',
    reason_detail: 'exit code 1',
    ...SESSION_LEASE,
  },
]
  .map(eventText)
  .join('');

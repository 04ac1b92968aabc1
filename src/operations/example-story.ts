/**
 * Values shared by all examples, so that they fit together: a worker sends a mail, a report is written under a lease, and a
 * session is requested and run. OpenAPI shows the examples, and a test checks them against the schemas.
 */
import { ORCHESTRATOR_GUARD } from '../core/reserved-names.ts';

export const TASK_ID = 't0000000001a';
export const LEASE_ID = 'l0000000001b';
export const PAYLOAD = { to: 'ada@example.org', template: 'welcome' };
export const CHECKPOINT = { done: 40, total: 120 };
export const TOKEN = 'q1vR8tN2sLxY5wZ0aB3dE7fG';
export const CREATED_AT = '2026-01-05T08:00:00.000Z';
export const GRANTED_AT = '2026-01-05T08:00:01.250Z';
export const EXPIRES_AT = '2026-01-05T08:00:31.250Z';
export const EXTENDED_TO = '2026-01-05T08:00:51.500Z';
export const RETRY = { max_failures: 5, backoff_ms: 1000, max_backoff_ms: 300_000 };
export const REPORT = { name: 'nightly-report', holder: 'host-1' };
export const REPORT_TIMES = {
  lease_seq: 46,
  acquired_at: '2026-01-05T08:01:00.000Z',
  expires_at: '2026-01-05T08:01:15.000Z',
  remaining_ms: 15_000,
};
/** A grant to host-1. */
export const granted = (name: string) => {
  const { holder } = REPORT;
  return { name, holder, token: TOKEN, ...REPORT_TIMES, object_id: name, holder_id: holder };
};
export const WRITE_LEASE = { lease_seq: 46, holder_id: REPORT.holder };
export const SESSION_ID = 's0000000001n';
export const SESSION_LEASE = { lease_seq: 58, slot: '0' };
export const GUARD = { name: ORCHESTRATOR_GUARD, holder: 'orchestrator-1', token: TOKEN };

export const CREATED_ENTRY = {
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
export const GRANTED_ENTRY = {
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
export const COMPLETED_ENTRY = {
  seq: 45,
  at: '2026-01-05T08:00:22.000Z',
  type: 'TaskCompleted',
  task_id: TASK_ID,
  lease_id: LEASE_ID,
  result: { message_id: 'm-77' },
  writes: [{ object_id: 'mail-count', lease_seq: 40, version: 7, value: 121 }],
};

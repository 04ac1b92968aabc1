/** The optional fields of a task that a session or a schedule creates: all absent. */
import type { TaskCreated } from './entries.ts';

export const PLAIN_TASK = {
  dedupKey: null,
  groupKey: null,
  traceparent: null,
  tracestate: null,
  requeuedFrom: null,
  requeueReason: null,
} as const satisfies Partial<TaskCreated>;

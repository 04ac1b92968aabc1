/** What a task has that was created by a session or a schedule: nothing of what a caller may add to one. */
import type { TaskCreated } from './entries.ts';

export const PLAIN_TASK = {
  dedupKey: null,
  groupKey: null,
  traceparent: null,
  tracestate: null,
  requeuedFrom: null,
  requeueReason: null,
} as const satisfies Partial<TaskCreated>;

/** The entries of schedules, as a part of `entry-table.ts`: see there. */
import type { EntryDefinition, Field } from '../entry-table.ts';

/** When a schedule is due, and the tasks it creates. */
export const PLAN = {
  payload: {
    kind: 'opaque',
    json: 'payload',
    flag: 512,
    says: 'Null in an entry that does not change it, such as that of a pause.',
  },
  cron: { kind: 'text', json: 'cron', flag: 1, says: 'Null for a schedule that has `everyMs`.' },
  everyMs: { kind: 'number', json: 'every_ms', flag: 2 },
  anchorMs: {
    kind: 'instant',
    json: 'anchor_at',
    shown: 'entry.anchorMs !== 0',
    says: 'Due times of `everyMs` are whole intervals after this instant; 0 for a cron pattern.',
  },
  timezone: { kind: 'label', json: 'timezone' },
  queue: { kind: 'label', json: 'queue' },
  priority: { kind: 'priority', json: 'priority' },
  maxFailures: { kind: 'number', json: 'retry.max_failures' },
  backoffMs: { kind: 'number', json: 'retry.backoff_ms' },
  maxBackoffMs: { kind: 'number', json: 'retry.max_backoff_ms' },
  maxAttempts: { kind: 'number', json: 'max_attempts' },
  groupKey: { kind: 'text', json: 'key', flag: 4 },
  overlap: { kind: 'Overlap', json: 'overlap' },
  catchUp: { kind: 'CatchUp', json: 'catch_up' },
  jitterMs: { kind: 'number', json: 'jitter_ms' },
  startsAtMs: { kind: 'instant', json: 'starts_at', flag: 8 },
  endsAtMs: { kind: 'instant', json: 'ends_at', flag: 16 },
  paused: { kind: 'boolean', json: 'paused', flag: 32 },
  applied: {
    kind: 'boolean',
    json: 'applied',
    flag: 64,
    says: 'Set by a program that applied its definitions; what an operator set by hand is not.',
  },
  nextDueAtMs: {
    kind: 'instant',
    json: 'next_due_at',
    flag: 128,
    shown: 'always',
    says: 'Null while it is paused, and when no due time is left.',
  },
  nextFiresAtMs: {
    kind: 'instant',
    json: 'next_fires_at',
    flag: 256,
    shown: 'always',
    says: 'The next due time with its jitter.',
  },
} as const satisfies Record<string, Field>;

export const SCHEDULE_ENTRIES = {
  ScheduleSet: {
    says: 'A schedule from now on; unchanged fields are repeated, except for the payload.',
    fields: {
      name: { kind: 'text', json: 'schedule' },
      ...PLAN,
    },
    layouts: { 36: 'name Plan' },
  },
  ScheduleRemoved: { fields: { name: { kind: 'text', json: 'schedule' } }, layouts: { 37: 'name' } },
  ScheduleFired: {
    says: 'A due time that created its task, or was skipped. No due time of a schedule has two of these entries.',
    fields: {
      name: { kind: 'text', json: 'schedule' },
      dueAtMs: {
        kind: 'instant',
        json: 'due_at',
        flag: 1,
        shown: 'always',
        says: 'Null when it was fired by hand.',
      },
      firesAtMs: { kind: 'instant', json: 'fires_at', says: 'The due time with its jitter.' },
      task: { kind: 'text', json: 'task_id', flag: 2, shown: 'always', says: 'Null when it was skipped.' },
      skipped: { kind: 'Skip', json: 'skipped', flag: 4 },
      throughMs: {
        kind: 'instant',
        json: 'skipped_through',
        flag: 8,
        says: 'Every due time up to this one was skipped too.',
      },
      queue: { kind: 'label', json: 'queue' },
      payload: { kind: 'opaque', json: 'payload', flag: 16, says: 'The copy that belongs to the task.' },
      nextDueAtMs: { kind: 'instant', json: 'next_due_at', flag: 32, shown: 'always' },
      nextFiresAtMs: { kind: 'instant', json: 'next_fires_at', flag: 64, shown: 'always' },
      requestId: { kind: 'text', json: 'request_id', flag: 128 },
    },
    layouts: {
      38: 'flags name dueAtMs firesAtMs throughMs skipped payload nextDueAtMs nextFiresAtMs queue task requestId',
    },
  },
} as const satisfies Record<string, EntryDefinition>;

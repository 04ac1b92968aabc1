/** Entries as people read them, with the field names of the seeds. */
import { describe, expect, it } from 'vitest';
import { opaqueOf, tokenHashOf } from '../../test/support/commands.ts';
import type { Entry, EntryType } from './entries.ts';
import { entryToJson } from './entry-to-json.ts';

const rendering = {
  instant: (ms: number) => `at ${ms}`,
  open: ({ length }: { length: number }) => `${length} bytes`,
};
const json = (entry: Entry) => entryToJson(entry, 33, 1_000, rendering);
const value = opaqueOf('value');

/** The fields the contract promises, for one entry of each type. */
const PROMISED: { readonly [T in EntryType]: readonly [entry: Entry & { type: T }, fields: object] } = {
  TaskCreated: [
    {
      type: 'TaskCreated',
      task: 33,
      queue: 'q',
      priority: 1,
      dueAtMs: 1_000,
      maxFailures: 5,
      backoffMs: 1,
      maxBackoffMs: 2,
      maxAttempts: 9,
      dedupKey: 'key',
      groupKey: 'customer',
      traceparent: '00-1-2-01',
      tracestate: 'vendor=1',
      requeuedFrom: 'before',
      requeueReason: 'it is mended',
      payload: value,
    },
    {
      task_id: 't00000000011',
      payload: '5 bytes',
      created_at: 'at 1000',
      queue: 'q',
      priority: 1,
      dedup_key: 'key',
      key: 'customer',
      trace: { traceparent: '00-1-2-01', tracestate: 'vendor=1' },
      requeued_from: 'before',
      requeue_reason: 'it is mended',
    },
  ],
  LeaseGranted: [
    { type: 'LeaseGranted', task: 'task', workerId: 'w', attempt: 2, expiresAtMs: 5, requestId: null },
    {
      task_id: 'task',
      lease_id: 'l00000000011',
      worker_id: 'w',
      attempt: 2,
      expiry_timestamp: 'at 5',
      lease_seq: 33,
    },
  ],
  LeaseExtended: [
    { type: 'LeaseExtended', task: 'task', leaseSeq: 7, expiresAtMs: 5 },
    { task_id: 'task', lease_id: 'l00000000007', new_expiry_timestamp: 'at 5' },
  ],
  LeaseExpired: [
    { type: 'LeaseExpired', task: 'task', leaseSeq: 7, counted: true },
    { task_id: 'task', lease_id: 'l00000000007' },
  ],
  TaskCompleted: [
    {
      type: 'TaskCompleted',
      task: 'task',
      leaseSeq: 7,
      result: value,
      writes: [{ objectId: 'o', leaseSeq: 3, version: 1, value }],
    },
    {
      task_id: 'task',
      lease_id: 'l00000000007',
      result: '5 bytes',
      writes: [{ object_id: 'o', lease_seq: 3 }],
    },
  ],
  TaskCancelled: [
    { type: 'TaskCancelled', task: 'task', leaseSeq: 7, verb: 'complete', result: value },
    { task_id: 'task', lease_id: 'l00000000007', late_result: '5 bytes' },
  ],
  TaskFailed: [
    { type: 'TaskFailed', task: 'task', leaseSeq: 7, reason: 'r', nextState: 'WAITING', dueAtMs: 5 },
    { task_id: 'task', lease_id: 'l00000000007', reason: 'r', next_state: 'WAITING', due_at: 'at 5' },
  ],
  TaskReleased: [
    { type: 'TaskReleased', task: 'task', leaseSeq: 7, dueAtMs: 5 },
    { task_id: 'task', lease_id: 'l00000000007', due_at: 'at 5' },
  ],
  TaskDead: [
    { type: 'TaskDead', task: 'task', leaseSeq: 7, reason: 'r', detail: 'd' },
    { task_id: 'task', lease_id: 'l00000000007', reason: 'r', reason_detail: 'd' },
  ],
  TaskCancelRequested: [
    { type: 'TaskCancelRequested', task: 'task', leaseSeq: 7, reason: 'r' },
    { task_id: 'task', lease_id: 'l00000000007', reason: 'r' },
  ],
  TaskCheckpointed: [
    { type: 'TaskCheckpointed', task: 'task', leaseSeq: 7, value },
    { task_id: 'task', lease_id: 'l00000000007', value: '5 bytes' },
  ],
  TaskChanged: [
    { type: 'TaskChanged', task: 'task', queue: 'q', priority: 3, dueAtMs: 5 },
    { task_id: 'task', queue: 'q', priority: 3, due_at: 'at 5' },
  ],
  NameLeased: [
    {
      type: 'NameLeased',
      names: ['n'],
      holder: 'h',
      tokenHash: tokenHashOf('secret'),
      expiresAtMs: 5,
      metadata: value,
    },
    { name: 'n', names: ['n'], holder: 'h', lease_seq: 33, acquired_at: 'at 1000', expires_at: 'at 5' },
  ],
  NameRenewed: [
    { type: 'NameRenewed', name: 'n', leaseSeq: 7, expiresAtMs: 5 },
    { name: 'n', lease_seq: 7, expires_at: 'at 5' },
  ],
  NameReleased: [
    { type: 'NameReleased', name: 'n', leaseSeq: 7 },
    { name: 'n', lease_seq: 7 },
  ],
  NameExpired: [
    { type: 'NameExpired', name: 'n', leaseSeq: 7 },
    { name: 'n', lease_seq: 7 },
  ],
  NameBroken: [
    { type: 'NameBroken', name: 'n', leaseSeq: 7, reason: 'r' },
    { name: 'n', lease_seq: 7, reason: 'r' },
  ],
  NamesWiped: [
    { type: 'NamesWiped', prefix: 'p', count: 2 },
    { prefix: 'p', count: 2 },
  ],
  ObjectWritten: [
    { type: 'ObjectWritten', objectId: 'o', leaseSeq: 7, version: 2, value },
    { object_id: 'o', lease_seq: 7, version: 2, value: '5 bytes' },
  ],
  ObjectDeleted: [
    { type: 'ObjectDeleted', objectId: 'o', leaseSeq: 7, version: 2 },
    { object_id: 'o', lease_seq: 7, version: 2 },
  ],
  ScheduleSet: [
    {
      type: 'ScheduleSet',
      name: 'nightly',
      payload: value,
      cron: '0 3 * * *',
      everyMs: null,
      anchorMs: 0,
      timezone: 'Europe/Berlin',
      queue: 'q',
      priority: 1,
      maxFailures: 5,
      backoffMs: 1,
      maxBackoffMs: 2,
      maxAttempts: 9,
      groupKey: 'customer',
      overlap: 'skip',
      catchUp: 'all',
      jitterMs: 5,
      startsAtMs: 1,
      endsAtMs: 2,
      paused: true,
      applied: false,
      nextDueAtMs: null,
      nextFiresAtMs: null,
    },
    {
      schedule: 'nightly',
      payload: '5 bytes',
      cron: '0 3 * * *',
      timezone: 'Europe/Berlin',
      queue: 'q',
      priority: 1,
      retry: { max_failures: 5, backoff_ms: 1, max_backoff_ms: 2 },
      max_attempts: 9,
      key: 'customer',
      overlap: 'skip',
      catch_up: 'all',
      jitter_ms: 5,
      starts_at: 'at 1',
      ends_at: 'at 2',
      paused: true,
      next_due_at: null,
    },
  ],
  ScheduleRemoved: [{ type: 'ScheduleRemoved', name: 'nightly' }, { schedule: 'nightly' }],
  ScheduleFired: [
    {
      type: 'ScheduleFired',
      name: 'nightly',
      dueAtMs: 1,
      firesAtMs: 2,
      task: null,
      skipped: 'OVERLAP',
      throughMs: null,
      queue: 'q',
      payload: null,
      nextDueAtMs: 3,
      nextFiresAtMs: 4,
      requestId: null,
    },
    {
      schedule: 'nightly',
      due_at: 'at 1',
      fires_at: 'at 2',
      task_id: null,
      skipped: 'OVERLAP',
      next_due_at: 'at 3',
    },
  ],
  QueueLimited: [
    {
      type: 'QueueLimited',
      queue: 'q',
      maxLeased: 7,
      maxLeasedPerKey: null,
      rateCount: 10,
      ratePerMs: 1_000,
      ratePerKey: true,
      applied: false,
    },
    {
      queue: 'q',
      max_leased: 7,
      max_leased_per_key: null,
      rate: { count: 10, per_ms: 1_000, per_key: true },
    },
  ],
  QueuePaused: [{ type: 'QueuePaused', queue: 'q' }, { queue: 'q' }],
  QueueResumed: [{ type: 'QueueResumed', queue: 'q' }, { queue: 'q' }],
  EpochStarted: [
    { type: 'EpochStarted', epoch: 2, format: 'leasehold', version: 1, restored: true },
    { epoch: 2, format: 'leasehold', version: 1, restored: true },
  ],
  IntentAccepted: [
    {
      type: 'IntentAccepted',
      intent: { type: 'vod', target: 'recording', profileId: 'low', startMs: 1_500 },
      serviceName: 'lease:vod:recording:1',
      key: 'abc',
      payload: value,
    },
    {
      session_id: 's00000000011',
      task_id: 's00000000011',
      intent: { type: 'vod', recordingID: 'recording', profileID: 'low', start_ms: 1_500 },
      lease_name: 'lease:vod:recording:1',
      idempotency_key: 'abc',
      queue: 'system:session-starts',
      payload: '5 bytes',
    },
  ],
  SessionChanged: [
    {
      type: 'SessionChanged',
      session: 32,
      state: 'STARTING',
      reason: null,
      reasonDetail: null,
      slot: '2',
      leaseSeq: 7,
    },
    {
      session_id: 's00000000010',
      state: 'STARTING',
      reason: null,
      reason_detail: null,
      slot: '2',
      lease_seq: 7,
    },
  ],
  Forgotten: [
    { type: 'Forgotten', tasks: [33, 'task'], names: ['n'], sessions: [32] },
    { task_ids: ['t00000000011', 'task'], names: ['n'], session_ids: ['s00000000010'] },
  ],
};

describe('an entry as JSON', () => {
  for (const [type, [entry, fields]] of Object.entries(PROMISED)) {
    it(`${type} carries the field names of the contract`, () => {
      expect(json(entry)).toMatchObject({ type, ...fields });
    });
  }

  it('shows a token only as its SHA-256', () => {
    const [entry] = PROMISED.NameLeased;
    expect(json(entry).token_sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(json(entry))).not.toContain('secret');
  });

  it('leaves out what is not there', () => {
    const [failed] = PROMISED.TaskFailed;
    expect(json({ ...failed, nextState: 'FAILED', dueAtMs: 0 })).not.toHaveProperty('due_at');
    expect(json({ ...failed, nextState: 'DEAD' })).not.toHaveProperty('due_at');
    const [accepted] = PROMISED.IntentAccepted;
    expect(json({ ...accepted, serviceName: 'lease:service:recording' })).not.toHaveProperty('lease_name');
    expect(json({ ...PROMISED.TaskCompleted[0], result: null, writes: [] })).toEqual({
      type: 'TaskCompleted',
      task_id: 'task',
      lease_id: 'l00000000007',
    });
    expect(json({ ...PROMISED.TaskDead[0], leaseSeq: 0 })).not.toHaveProperty('lease_id');
    expect(json({ ...PROMISED.NameLeased[0], names: ['a', 'b'] })).not.toHaveProperty('name');
    expect(json({ ...PROMISED.SessionChanged[0], slot: null, leaseSeq: 0 })).toEqual({
      type: 'SessionChanged',
      session_id: 's00000000010',
      state: 'STARTING',
      reason: null,
      reason_detail: null,
    });
    expect(json({ type: 'Forgotten', tasks: [], names: [], sessions: [] })).toEqual({ type: 'Forgotten' });
  });

  it('calls the target of a live intent serviceRef, and shows no start for it', () => {
    const intent = { type: 'live', target: '1:0:19', profileId: 'low', startMs: 0 } as const;
    expect(json({ ...PROMISED.IntentAccepted[0], intent }).intent).toEqual({
      type: 'live',
      serviceRef: '1:0:19',
      profileID: 'low',
    });
  });
});

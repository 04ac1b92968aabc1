/**
 * What is answered, as schemas under the names of the operations. The bodies made in `src/embedded` and the
 * types of the client follow them; in process and in the client each reply also has `ok: true`, so that one
 * look tells it from a problem.
 */
import { type Static, type TObject, Type } from '@sinclair/typebox';
import type { Json } from './json.ts';
import type { Operation } from './routes.ts';

const Instant = Type.String({ format: 'date-time', description: 'ISO 8601, UTC, with milliseconds' });
const Seq = Type.Integer({ minimum: 0, description: 'a position in the log' });
const Text = Type.String();
const Whole = Type.Integer({ minimum: 0 });
const Flag = Type.Boolean();
const RemainingMs = Type.Integer({ description: 'how long it still lasts; compare this, never the instant' });
const Duplicate = Type.Optional(
  Type.Literal(true, { description: 'repeats an earlier answer; nothing was changed' }),
);
/** Any JSON, byte for byte as it came in. */
const Opaque = Type.Unsafe<Json>({ description: 'opaque JSON, byte for byte as it came in' });
/** Null when the bytes were damaged on the disk. */
const Kept = Type.Unsafe<Json | null>({
  description: 'opaque JSON, byte for byte as it came in; null when its bytes were damaged on the disk',
});
const TaskState = Type.Union(
  (['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'] as const).map((state) => Type.Literal(state)),
);
const Cursor = Type.Optional(Type.String({ description: 'ask again with it as cursor' }));

const TaskLease = Type.Object({
  task_id: Text,
  lease_id: Text,
  lease_seq: Seq,
  attempt: Whole,
  payload: Opaque,
  queue: Text,
  expiry_timestamp: Instant,
  expires_at: Instant,
  remaining_ms: RemainingMs,
});

const Extended = Type.Object({
  task_id: Text,
  lease_id: Text,
  lease_seq: Seq,
  expiry_timestamp: Instant,
  expires_at: Instant,
  remaining_ms: RemainingMs,
  seq: Seq,
});

const Verdict = Type.Object({
  outcome: Type.Union([Type.Literal('COMMITTED'), Type.Literal('CANCELLED')]),
  task_id: Text,
  state: TaskState,
  seq: Seq,
  due_at: Type.Optional(Instant),
  cause: Type.Optional(
    Type.String({ description: 'how the lease had ended, when the verdict came too late' }),
  ),
  duplicate: Duplicate,
});

const PastLease = Type.Object({
  lease_id: Text,
  lease_seq: Seq,
  worker_id: Text,
  expires_at: Instant,
  end: Text,
  ended_seq: Type.Optional(Seq),
  cancelled_seq: Type.Optional(Seq),
  late_result: Type.Optional(Kept),
});

const Task = Type.Object({
  task_id: Text,
  payload: Kept,
  state: TaskState,
  attempt: Whole,
  current_lease_id: Type.Union([Text, Type.Null()]),
  queue: Text,
  priority: Type.Integer(),
  failures: Whole,
  max_attempts: Whole,
  retry: Type.Object({ max_failures: Whole, backoff_ms: Whole, max_backoff_ms: Whole }),
  dedup_key: Type.Optional(Text),
  created_at: Instant,
  due_at: Instant,
  ended_at: Type.Optional(Instant),
  worker_id: Type.Optional(Text),
  expiry_timestamp: Type.Optional(Instant),
  expires_at: Type.Optional(Instant),
  remaining_ms: Type.Optional(RemainingMs),
  reason: Type.Optional(Text),
  result: Type.Optional(Kept),
  leases: Type.Array(PastLease),
  seq: Seq,
});

const NAMED_LEASE = {
  name: Text,
  holder: Text,
  token: Type.String({ description: 'the secret of this grant' }),
  lease_seq: Seq,
  acquired_at: Instant,
  expires_at: Instant,
  remaining_ms: RemainingMs,
  object_id: Type.String({ description: 'the name, as fenced writes call it' }),
  holder_id: Type.String({ description: 'the holder, as fenced writes call it' }),
};
const NamedLease = Type.Object(NAMED_LEASE);
const Acquired = Type.Object({ ...NAMED_LEASE, seq: Seq, duplicate: Duplicate });

const Lease = Type.Object({
  name: Text,
  holder: Text,
  lease_seq: Seq,
  acquired_at: Instant,
  expires_at: Instant,
  remaining_ms: RemainingMs,
  metadata: Type.Optional(Kept),
  seq: Seq,
});

const Written = Type.Object({ object_id: Text, version: Whole, lease_seq: Seq, seq: Seq });
const Switched = Type.Object({ queue: Text, paused: Flag, seq: Seq });

const Entry = Type.Unsafe<EntryRecord>(
  Type.Object(
    { seq: Seq, at: Instant, type: Text },
    { additionalProperties: true, description: 'one entry of the log; the other fields depend on its type' },
  ),
);
const Entries = Type.Object({
  entries: Type.Array(Entry),
  first_seq: Type.Integer({
    description: 'the oldest position that is kept: what came before it is not among the entries',
  }),
  next_cursor: Cursor,
});

const Receipt = Type.Object({
  code: Text,
  object_id: Text,
  presented_lease_seq: Type.Union([Seq, Type.Null()]),
  current_fence: Seq,
  holder_id: Type.Union([Text, Type.Null()]),
  at: Instant,
  requestId: Type.Union([Text, Type.Null()]),
});

const Queue = Type.Object({
  queue: Text,
  paused: Flag,
  waiting: Whole,
  leased: Whole,
  completed: Whole,
  failed: Whole,
  dead: Whole,
});

const Worker = Type.Object({ worker_id: Text, last_heartbeat: Instant, active_leases: Whole });

const SESSION_STATES = ['NEW', 'STARTING', 'READY', 'STOPPING', 'STOPPED', 'FAILED', 'CANCELLED'] as const;
const SessionState = Type.Union(SESSION_STATES.map((state) => Type.Literal(state)));
const SessionReason = Type.Union(
  (
    [
      'R_LEASE_BUSY',
      'R_NO_TUNER',
      'R_CLIENT_STOP',
      'R_CANCELLED',
      'R_LEASE_EXPIRED',
      'R_PIPELINE_START_FAILED',
      'R_PROCESS_ENDED',
      'R_SHUTDOWN',
      'R_IDLE_TIMEOUT',
    ] as const
  ).map((reason) => Type.Literal(reason)),
);
const REASON = {
  reason: Type.Union([SessionReason, Type.Null()], { description: 'the first reason to end that was given' }),
  reason_detail: Type.Union([Text, Type.Null()]),
};

const Session = Type.Object({
  session_id: Text,
  state: SessionState,
  ...REASON,
  type: Type.Union([Type.Literal('live'), Type.Literal('vod')]),
  serviceRef: Type.Optional(Text),
  recordingID: Type.Optional(Text),
  start_ms: Type.Optional(Whole),
  profileID: Text,
  slot: Type.Optional(Text),
  lease_seq: Type.Optional(Seq),
  created_at: Instant,
  updated_at: Instant,
  last_heartbeat_at: Type.Optional(Instant),
  idle_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        'since its last heartbeat, its creation or the start of this server; not once it has ended',
    }),
  ),
  seq: Seq,
});

export const REPLIES = {
  'task.create': Type.Object({
    task_id: Text,
    seq: Seq,
    state: TaskState,
    attempt: Whole,
    queue: Text,
    priority: Type.Integer(),
    created_at: Instant,
    due_at: Instant,
    duplicate: Duplicate,
  }),
  'task.lease': Type.Object({ leases: Type.Array(TaskLease), seq: Seq, duplicate: Duplicate }),
  'task.extend': Extended,
  'task.complete': Verdict,
  'task.fail': Verdict,
  'task.release': Verdict,
  'task.kill': Type.Object({ task_id: Text, state: Type.Literal('DEAD'), seq: Seq }),
  'task.get': Task,
  'task.list': Type.Object({ tasks: Type.Array(Task), next_cursor: Cursor }),
  'task.history': Entries,
  'task.why': Type.Object({ code: Text, says: Text }),
  'worker.heartbeat': Type.Object({
    extended: Type.Array(Extended),
    lost: Type.Array(Type.Object({ lease_id: Text, task_id: Text, cause: Text })),
    seq: Seq,
  }),
  'worker.list': Type.Object({ workers: Type.Array(Worker) }),
  'queue.list': Type.Object({ queues: Type.Array(Queue) }),
  'queue.pause': Switched,
  'queue.resume': Switched,
  'lease.acquire': Acquired,
  'lease.acquire_all': Type.Object({ leases: Type.Array(NamedLease), seq: Seq, duplicate: Duplicate }),
  'lease.renew': Acquired,
  'lease.release': Type.Object({ released: Flag, seq: Seq }),
  'lease.break': Type.Object({ name: Text, holder: Text, lease_seq: Seq, seq: Seq }),
  'lease.wipe': Type.Object({ wiped: Whole, seq: Seq }),
  'lease.get': Lease,
  'lease.list': Type.Object({ leases: Type.Array(Lease), next_cursor: Cursor }),
  'lease.history': Entries,
  'object.write': Written,
  'object.get': Type.Object({ object_id: Text, value: Kept, version: Whole, lease_seq: Seq, seq: Seq }),
  'object.delete': Written,
  'receipt.list': Type.Object({ receipts: Type.Array(Receipt) }),
  'status.get': Type.Object({
    role: Type.Union([Type.Literal('leader'), Type.Literal('standby')]),
    seq: Seq,
    first_seq: Seq,
    epoch: Whole,
    last_commit: Instant,
    log_bytes: Whole,
    disk_full: Flag,
    /** What only a standby says: where the leader is, as far as it is known. */
    leader_url: Type.Optional(Type.Union([Text, Type.Null()])),
    guard_holder: Type.Union([Text, Type.Null()]),
    counts: Type.Object({
      tasks: Type.Object({ WAITING: Whole, LEASED: Whole, COMPLETED: Whole, FAILED: Whole, DEAD: Whole }),
      leases: Whole,
      names: Whole,
      waiters: Whole,
      sessions: Type.Object({
        NEW: Whole,
        STARTING: Whole,
        READY: Whole,
        STOPPING: Whole,
        STOPPED: Whole,
        FAILED: Whole,
        CANCELLED: Whole,
      }),
    }),
  }),
  'whoami.get': Type.Object({ name: Text, scopes: Type.Array(Text) }),
  'intent.accept': Type.Object({
    session_id: Text,
    status: Type.Union([Type.Literal('accepted'), Type.Literal('idempotent_replay')]),
    requestId: Text,
    seq: Seq,
  }),
  'session.get': Session,
  'session.list': Type.Object({ sessions: Type.Array(Session), next_cursor: Cursor }),
  'session.heartbeat': Session,
  'session.stop': Session,
  'session.start': Type.Object({
    session_id: Text,
    state: SessionState,
    ...REASON,
    slot: Type.Optional(Text),
    lease_seq: Type.Optional(Seq),
    expires_at: Type.Optional(Instant),
    remaining_ms: Type.Optional(RemainingMs),
    seq: Seq,
    duplicate: Duplicate,
  }),
  'session.change': Session,
  'session.renew': Type.Object({
    renewed: Type.Array(
      Type.Object({ session_id: Text, state: SessionState, expires_at: Instant, remaining_ms: RemainingMs }),
    ),
    lost: Type.Array(
      Type.Object({
        session_id: Text,
        state: Type.Union([SessionState, Type.Null()], { description: 'null when nobody knows it' }),
        reason: REASON.reason,
      }),
    ),
    seq: Seq,
  }),
} as const satisfies Record<Operation, TObject>;

/** The bodies as they travel. */
export type Replies = { [Op in Operation]: Static<(typeof REPLIES)[Op]> };

/** A reply as the caller sees it. */
export type Body<Op extends Operation> = { readonly ok: true } & Readonly<Replies[Op]>;

export type TaskRecord = Replies['task.get'];
export type TaskLeaseRecord = Static<typeof TaskLease>;
export type NamedLeaseRecord = Static<typeof NamedLease>;
export type ExtendedRecord = Static<typeof Extended>;
export type PastLeaseRecord = Static<typeof PastLease>;
export type QueueRecord = Static<typeof Queue>;
export type WorkerRecord = Static<typeof Worker>;
export type ReceiptRecord = Static<typeof Receipt>;
export type LeaseRecord = Replies['lease.get'];
export type SessionRecord = Replies['session.get'];
export type ObjectRecord = Replies['object.get'];
/** One entry of the log; the other fields depend on its type. */
export type EntryRecord = { readonly seq: number; readonly at: string; readonly type: string } & Record<
  string,
  unknown
>;

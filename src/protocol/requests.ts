/**
 * What may be asked, as schemas: the one place where input is judged. Over the wire and in process the
 * same requests are checked by the same compiled code. Unknown fields are refused, nothing is coerced.
 */
import { FormatRegistry, type Static, type TObject, type TUnsafe, Type } from '@sinclair/typebox';
import { ENTRY_TYPES } from './entry-types.ts';
import { LIMITS } from './limits.ts';
import { type Operation, WRITE_REFUSALS } from './routes.ts';
import {
  isIdText,
  isLeaseNameText,
  isNameText,
  isProfileText,
  isReasonText,
  isSessionIdText,
  isShownText,
  isTokenText,
} from './texts.ts';

FormatRegistry.Set('name', isNameText);
FormatRegistry.Set('lease-name', isLeaseNameText);
FormatRegistry.Set('id', isIdText);
FormatRegistry.Set('reason', isReasonText);
FormatRegistry.Set('token', isTokenText);
FormatRegistry.Set('shown', isShownText);
FormatRegistry.Set('profile', isProfileText);
FormatRegistry.Set('session', isSessionIdText);

const strict = { additionalProperties: false };
const Name = Type.String({ format: 'name' });
const LeaseName = Type.String({ format: 'lease-name' });
const Id = Type.String({ format: 'id' });
const Reason = Type.String({ format: 'reason' });
const Token = Type.String({ format: 'token' });
/** A token of the past or of somebody else is no malformed request, it is just not the one. */
const ShownToken = Type.String({ format: 'shown' });
const SessionId = Type.String({ format: 'session' });
const LeaseId = Type.String({ minLength: 1, maxLength: LIMITS.nameBytes });
const TtlMs = Type.Integer({ minimum: LIMITS.ttlMinMs, maximum: LIMITS.ttlMaxMs });
const WaitMs = Type.Integer({ minimum: 0, maximum: LIMITS.waitMaxMs });
const DelayMs = Type.Integer({ minimum: 0, maximum: LIMITS.delayMaxMs });
const Count = Type.Integer({ minimum: 1, maximum: 1_000_000_000 });
const Seq = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Queue = Name;
/** Opaque: any JSON, kept byte for byte. */
const Opaque = Type.Unknown();

/** Without a lease a write is well formed and unfenced, and so it is with null in its place. */
const FenceLease = Type.Union([
  Type.Object(
    {
      lease_seq: Type.Optional(Type.Union([Seq, Type.Null()])),
      object_id: Type.Optional(Name),
      holder_id: Type.Optional(Name),
      // They belong to the record of a lease and decide nothing: only the authority's clock does.
      acquired_at: Type.Optional(Type.String()),
      expires_at: Type.Optional(Type.String()),
    },
    strict,
  ),
  Type.Null(),
]);

/** Whoever shows none, or half of one, does not hold it: that is a refusal of its own. Programs need all of it. */
const Guard = Type.Optional(
  Type.Object(
    { name: Type.Optional(Name), holder: Type.Optional(Name), token: Type.Optional(ShownToken) },
    strict,
  ),
) as unknown as TUnsafe<{ name: string; holder: string; token: string }>;

const Limit = Type.Integer({ minimum: 1, maximum: LIMITS.listMax });
const Cursor = Type.String({ pattern: '^[0-9]{1,10}$' });
/** Which part of a history; the form of its cursor is its own. */
function range(cursor: string) {
  return {
    from: Type.Optional(Seq),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(Type.String({ pattern: cursor })),
  };
}
const TaskStates = Type.Union(
  (['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'] as const).map((state) => Type.Literal(state)),
);
/** What every look at the state takes: a standby then answers from what it has read along. */
const stale = Type.Optional(Type.Literal('ok'));
const Nothing = Type.Object({ stale }, strict);
const SessionStates = Type.Union(
  (['NEW', 'STARTING', 'READY', 'STOPPING', 'STOPPED', 'FAILED', 'CANCELLED'] as const).map((state) =>
    Type.Literal(state),
  ),
);
const SessionEvents = Type.Union(
  (['ready', 'start_failed', 'process_ended', 'shutdown', 'idle', 'stopped'] as const).map((event) =>
    Type.Literal(event),
  ),
);

export const REQUESTS = {
  'task.create': Type.Object(
    {
      payload: Opaque,
      task_id: Type.Optional(Id),
      queue: Type.Optional(Queue),
      priority: Type.Optional(Type.Integer({ minimum: -128, maximum: 127 })),
      delay_ms: Type.Optional(DelayMs),
      retry: Type.Optional(
        Type.Object(
          {
            max_failures: Type.Optional(Count),
            backoff_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: LIMITS.ttlMaxMs })),
            max_backoff_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: LIMITS.ttlMaxMs })),
          },
          strict,
        ),
      ),
      max_attempts: Type.Optional(Count),
      dedup_key: Type.Optional(Name),
    },
    strict,
  ),
  'task.lease': Type.Object(
    {
      worker_id: Id,
      queues: Type.Optional(Type.Array(Queue, { minItems: 1, maxItems: 100 })),
      max: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.leasesMax })),
      ttl_ms: Type.Optional(TtlMs),
      wait_ms: Type.Optional(WaitMs),
      request_id: Type.Optional(Name),
      guard: Type.Optional(Guard),
    },
    strict,
  ),
  'task.extend': Type.Object({ task_id: Id, lease_id: LeaseId, ttl_ms: TtlMs }, strict),
  'task.complete': Type.Object(
    {
      task_id: Id,
      lease_id: LeaseId,
      result: Type.Optional(Opaque),
      writes: Type.Optional(
        Type.Array(
          Type.Object({ object_id: Name, value: Opaque, lease: Type.Optional(FenceLease) }, strict),
          {
            maxItems: LIMITS.writesMax,
          },
        ),
      ),
    },
    strict,
  ),
  'task.fail': Type.Object(
    {
      task_id: Id,
      lease_id: LeaseId,
      reason: Reason,
      retry: Type.Optional(Type.Boolean()),
      delay_ms: Type.Optional(DelayMs),
    },
    strict,
  ),
  'task.release': Type.Object({ task_id: Id, lease_id: LeaseId, delay_ms: Type.Optional(DelayMs) }, strict),
  'task.kill': Type.Object({ task_id: Id, reason: Reason }, strict),
  'worker.heartbeat': Type.Object(
    {
      worker_id: Id,
      leases: Type.Optional(
        Type.Array(Type.Object({ task_id: Id, lease_id: LeaseId }, strict), { maxItems: LIMITS.batchOps }),
      ),
      ttl_ms: Type.Optional(TtlMs),
    },
    strict,
  ),
  'lease.acquire': Type.Object(
    {
      name: LeaseName,
      holder: Name,
      ttl_ms: TtlMs,
      token: Type.Optional(Token),
      wait_ms: Type.Optional(WaitMs),
      metadata: Type.Optional(Opaque),
      supersedes: Type.Optional(Seq),
    },
    strict,
  ),
  'lease.acquire_all': Type.Object(
    {
      names: Type.Array(LeaseName, {
        minItems: 1,
        maxItems: LIMITS.namesMax,
        description: 'Each of them once.',
      }),
      holder: Name,
      ttl_ms: TtlMs,
      token: Type.Optional(Token),
      wait_ms: Type.Optional(WaitMs),
      metadata: Type.Optional(Opaque),
    },
    strict,
  ),
  'lease.renew': Type.Object({ name: LeaseName, holder: Name, token: ShownToken, ttl_ms: TtlMs }, strict),
  'lease.release': Type.Object({ name: LeaseName, holder: Name, token: ShownToken }, strict),
  'lease.break': Type.Object({ name: LeaseName, reason: Reason, lease_seq: Type.Optional(Seq) }, strict),
  'lease.wipe': Type.Object({ prefix: Type.Union([Type.Literal(''), Name]), guard: Guard }, strict),
  'object.write': Type.Object(
    {
      object_id: Name,
      value: Opaque,
      lease: Type.Optional(FenceLease),
      if_version: Type.Optional(Seq),
    },
    strict,
  ),
  'object.delete': Type.Object(
    { object_id: Name, lease: Type.Optional(FenceLease), if_version: Type.Optional(Seq) },
    strict,
  ),
  'queue.pause': Type.Object({ queue: Queue }, strict),
  'queue.resume': Type.Object({ queue: Queue }, strict),
  // Which of the fields belong together is said in `embedded/session-commands.ts`: it takes a sentence.
  'intent.accept': Type.Object(
    {
      type: Type.Union([Type.Literal('live'), Type.Literal('vod')]),
      serviceRef: Type.Optional(Name),
      recordingID: Type.Optional(Name),
      profileID: Type.String({ format: 'profile' }),
      start_ms: Type.Optional(Seq),
    },
    strict,
  ),
  'session.heartbeat': Type.Object({ session_id: SessionId }, strict),
  'session.stop': Type.Object({ session_id: SessionId }, strict),
  'session.start': Type.Object(
    {
      session_id: SessionId,
      guard: Guard,
      lease_id: LeaseId,
      slots: Type.Array(Name, { maxItems: LIMITS.slotsMax }),
      ttl_ms: TtlMs,
      token: Type.Optional(Token),
      patient: Type.Optional(Type.Boolean()),
    },
    strict,
  ),
  'session.change': Type.Object(
    { session_id: SessionId, guard: Guard, event: SessionEvents, detail: Type.Optional(Reason) },
    strict,
  ),
  'session.renew': Type.Object(
    { guard: Guard, session_ids: Type.Array(SessionId, { maxItems: LIMITS.sessionsMax }), ttl_ms: TtlMs },
    strict,
  ),

  // What may be looked at.
  'task.get': Type.Object({ task_id: Id, wait_ms: Type.Optional(WaitMs), stale }, strict),
  'task.list': Type.Object(
    {
      state: Type.Optional(TaskStates),
      queue: Type.Optional(Queue),
      limit: Type.Optional(Limit),
      cursor: Type.Optional(Cursor),
      stale,
    },
    strict,
  ),
  'task.why': Type.Object({ task_id: Id, stale }, strict),
  'task.history': Type.Object({ task_id: Id, ...range('^[0-9]{1,16}$'), stale }, strict),
  'lease.get': Type.Object({ name: LeaseName, stale }, strict),
  'lease.list': Type.Object(
    {
      prefix: Type.Optional(Type.Union([Type.Literal(''), Name])),
      limit: Type.Optional(Limit),
      cursor: Type.Optional(Cursor),
      stale,
    },
    strict,
  ),
  'lease.history': Type.Object({ name: LeaseName, ...range('^[0-9]{1,16}\\.[0-9]{1,16}$'), stale }, strict),
  'object.get': Type.Object({ object_id: Name, stale }, strict),
  'receipt.list': Type.Object(
    {
      object_id: Type.Optional(Name),
      code: Type.Optional(Type.Union(WRITE_REFUSALS.map((code) => Type.Literal(code)))),
      limit: Type.Optional(Limit),
      stale,
    },
    strict,
  ),
  'session.get': Type.Object({ session_id: SessionId, stale }, strict),
  'session.list': Type.Object(
    {
      state: Type.Optional(SessionStates),
      limit: Type.Optional(Limit),
      // Among those that have not ended, or those that have: behind which one.
      cursor: Type.Optional(Type.String({ pattern: '^[oe][0-9]{1,16}$' })),
      stale,
    },
    strict,
  ),
  'worker.list': Nothing,
  'queue.list': Nothing,
  'status.get': Nothing,
  'whoami.get': Nothing,
} as const satisfies Record<Operation, TObject>;

export type Requests = { [Op in Operation]: Static<(typeof REQUESTS)[Op]> };

/** `/v1/log`. In a query the types stand in one text, with commas. */
export const LOG_REQUEST = Type.Object(
  {
    from: Type.Optional(Seq),
    // A stream takes no memory however long it is, so it may be as long as the log.
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    follow: Type.Optional(Type.Literal(1)),
    types: Type.Optional(
      Type.Array(Type.Union(ENTRY_TYPES.map((type) => Type.Literal(type))), {
        minItems: 1,
        maxItems: ENTRY_TYPES.length,
      }),
    ),
  },
  strict,
);
export type LogRequest = Static<typeof LOG_REQUEST>;

/** `/v1/events`, with `follow` always on. */
export const EVENTS_REQUEST = Type.Omit(LOG_REQUEST, ['limit'], strict);

/** `/api/v3/sessions/{session_id}/events`, with `follow` always on. */
export const SESSION_EVENTS_REQUEST = Type.Object(
  { session_id: SessionId, from: Type.Optional(Seq), follow: Type.Optional(Type.Literal(1)) },
  strict,
);
export type SessionEventsRequest = Static<typeof SESSION_EVENTS_REQUEST>;

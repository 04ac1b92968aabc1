/**
 * The entries of the log, one definition each: fields, bytes and JSON. `npm run generate` writes from it the types
 * (`entries.ts`), the JSON (`entry-to-json.ts`), the list of opaque fields (`entry-opaques.ts`), the codec
 * (`engines/entry-encoder.ts`, `engines/entry-decoder.ts`, `engines/part-*.ts`), the list of types (`protocol/entry-types.ts`) and the table in
 * `docs/log-format.md`. The generators of the property tests read it directly. It is not read at run time.
 *
 * Fields are in the order of the type and of its JSON. On disk a record is a byte for its type number and what
 * `layouts` lists for that number, in this order (primitives: `engines/byte-writer.ts`): `flags` is a u8, a u16 or a u32,
 * depending on the highest flag of the layout, `#names` the u32 length of the list `names`, and a capitalised word a record
 * of `RECORDS` whose fields are those of the entry.
 *
 * Old logs must stay readable, so the layout of a released type number never changes, not even by a flag. A new entry takes the
 * next free number. An old entry with a new field takes a new number as well; the old layout stays, and is written while
 * the field is null or has its `without`, or as its `when` and `given` say. An older leasehold refuses a number it does
 * not know.
 */
import { PLAN, SCHEDULE_ENTRIES } from './schedules/schedule-entry-table.ts';

/** Words that are stored as their index in the list. New words are only ever appended. */
export const WORDS = {
  Verb: { what: 'verb', list: ['complete', 'fail', 'release'] },
  IntentType: { what: 'type of intent', list: ['live', 'vod'] },
  SessionState: {
    what: 'session state',
    list: ['NEW', 'STARTING', 'READY', 'STOPPING', 'STOPPED', 'FAILED', 'CANCELLED'],
  },
  SessionReason: {
    what: 'reason of a session',
    list: [
      'R_LEASE_BUSY',
      'R_NO_TUNER',
      'R_CLIENT_STOP',
      'R_CANCELLED',
      'R_LEASE_EXPIRED',
      'R_PIPELINE_START_FAILED',
      'R_PROCESS_ENDED',
      'R_SHUTDOWN',
      'R_IDLE_TIMEOUT',
    ],
  },
  Overlap: { what: 'overlap policy', list: ['skip', 'allow'] },
  CatchUp: { what: 'catch-up policy', list: ['one', 'none', 'all'] },
  Skip: {
    what: 'reason to skip a due time',
    list: ['OVERLAP', 'TASK_EXISTS', 'CATCH_UP', 'PAYLOAD_DAMAGED'],
  },
} as const;

/**
 * What a field is: how it is stored, its type, and how JSON shows it. `leaseId` and `sessionId` are positions of the log,
 * shown as ids. A `label` is a text with few distinct values; readers share one copy of each.
 */
export type Kind =
  | 'task'
  | 'leaseId'
  | 'sessionId'
  | 'number'
  | 'priority'
  | 'instant'
  | 'text'
  | 'label'
  | 'sha256'
  | 'opaque'
  | 'boolean'
  | 'FencedWrite[]'
  | 'task[]'
  | 'text[]'
  | 'sessionId[]'
  | 'Intent'
  | keyof typeof WORDS;

export interface StoredField<K extends string = Kind> {
  readonly kind: K;
  /** Its name in JSON; `retry.backoff_ms` is nested in `retry`. */
  readonly json?: string;
  readonly says?: string;
  /** The presence bit: when it is unset, the field is null or an empty list. A boolean is the bit itself. */
  readonly flag?: number;
  /** Fields with the same flag are left out, and the flag set, when all of them have their usual value. */
  readonly usual?: number;
  /** Fields with the same flag are stored, and the flag set, unless each of them has this value, an expression. */
  readonly without?: string;
  /** The words of a field that is a flag: unset, set, and then those that other layouts give. */
  readonly words?: readonly string[];
  /** When JSON shows it, if not always: a condition, or for an optional field `always`, as null. */
  readonly shown?: string;
  /** Found in older logs, skipped when read, and no longer written. */
  readonly retired?: true;
}

/** What JSON shows beside the fields, as an expression. */
export interface ShownField {
  readonly value: string;
  /** Its type as the client gives it, if not a position or a text. */
  readonly type?: string;
  readonly shown?: string;
}

export type Field = StoredField | ShownField;

export interface Layout {
  readonly bytes: string;
  /** Written when this holds; the layout without it is written otherwise. */
  readonly when?: string;
  /** The fields that this layout does not store, as expressions. */
  readonly given?: Readonly<Record<string, string>>;
  readonly note?: string;
}

export interface RecordDefinition {
  readonly says?: string;
  readonly fields: Readonly<Record<string, Field>>;
  readonly bytes: string;
}

export interface EntryDefinition {
  readonly says?: string;
  readonly fields: Readonly<Record<string, Field>>;
  readonly layouts: Readonly<Record<number, string | Layout>>;
}

const FENCED_WRITE = {
  objectId: { kind: 'text', json: 'object_id' },
  leaseSeq: { kind: 'number', json: 'lease_seq' },
  version: { kind: 'number', json: 'version' },
  value: { kind: 'opaque', json: 'value' },
} as const satisfies Record<string, Field>;

const STANDING = {
  state: { kind: 'SessionState', json: 'state' },
  reason: {
    kind: 'SessionReason',
    json: 'reason',
    flag: 1,
    shown: 'always',
    says: 'The first reason to end that was given; null before.',
  },
  reasonDetail: { kind: 'text', json: 'reason_detail', flag: 2, shown: 'always' },
  slot: { kind: 'label', json: 'slot', flag: 4, says: 'The slot it runs on; null before STARTING.' },
  leaseSeq: {
    kind: 'number',
    json: 'lease_seq',
    shown: 'entry.leaseSeq !== 0',
    says: 'The fencing number that its service and its slot share; 0 before STARTING.',
  },
} as const satisfies Record<string, Field>;

/** The task and its lease, as most entries of a task begin. */
const LEASE_OF_TASK = {
  task: { kind: 'task', json: 'task_id' },
  leaseSeq: { kind: 'leaseId', json: 'lease_id' },
} as const satisfies Record<string, Field>;

const LEASE_OF_NAME = {
  name: { kind: 'text', json: 'name' },
  leaseSeq: { kind: 'number', json: 'lease_seq' },
} as const satisfies Record<string, Field>;

/** Parts of entries that have a type of their own. */
export const RECORDS: Readonly<Record<string, RecordDefinition>> = {
  FencedWrite: { fields: FENCED_WRITE, bytes: 'leaseSeq version value objectId' },
  Intent: {
    says: 'What a client wants to run: a live service, or a recording from a given start.',
    fields: {
      type: { kind: 'IntentType' },
      target: { kind: 'text', says: 'The serviceRef of a live intent, the recordingID of a vod one.' },
      profileId: { kind: 'label' },
      startMs: { kind: 'number' },
    },
    bytes: 'type startMs target profileId',
  },
  Standing: {
    says: 'The standing of a session: fields that its entry and its record in a checkpoint share.',
    fields: STANDING,
    bytes: 'flags state leaseSeq reason reasonDetail slot',
  },
  Plan: {
    says: 'When a schedule is due, and the tasks it creates: fields that its entry and its record in a checkpoint share.',
    fields: PLAN,
    bytes:
      'flags payload everyMs anchorMs priority maxFailures backoffMs maxBackoffMs maxAttempts overlap catchUp timezone' +
      ' jitterMs startsAtMs endsAtMs nextDueAtMs nextFiresAtMs cron groupKey queue',
  },
};

export const ENTRIES = {
  TaskCreated: {
    fields: {
      task: {
        kind: 'task',
        json: 'task_id',
        says: "Ids that leasehold chooses follow from the entry's `seq`, and this is that `seq`.",
      },
      payload: { kind: 'opaque', json: 'payload' },
      created_at: { value: 'instant(atMs)' },
      queue: { kind: 'label', json: 'queue' },
      priority: { kind: 'priority', json: 'priority' },
      dueAtMs: { kind: 'instant', json: 'due_at' },
      maxFailures: { kind: 'number', json: 'retry.max_failures', flag: 8, usual: 5 },
      backoffMs: { kind: 'number', json: 'retry.backoff_ms', flag: 8, usual: 1_000 },
      maxBackoffMs: { kind: 'number', json: 'retry.max_backoff_ms', flag: 8, usual: 300_000 },
      maxAttempts: { kind: 'number', json: 'max_attempts', flag: 8, usual: 100 },
      dedupKey: { kind: 'text', json: 'dedup_key', flag: 2 },
      groupKey: { kind: 'text', json: 'key', flag: 16, says: 'For limits and turns; not unique.' },
      trace: {
        value: 'traceToJson(entry)',
        type: '{ readonly traceparent: string; readonly tracestate?: string }',
        shown: 'entry.traceparent !== null',
      },
      traceparent: { kind: 'text', flag: 32 },
      tracestate: { kind: 'text', flag: 64 },
      requeuedFrom: {
        kind: 'text',
        json: 'requeued_from',
        flag: 128,
        says: 'The id of the ended task that this one runs again. That task gets this one as its successor.',
      },
      requeueReason: { kind: 'text', json: 'requeue_reason', flag: 256 },
      digest: { kind: 'sha256', flag: 4, retired: true },
    },
    layouts: {
      1: 'flags task priority dueAtMs payload queue maxFailures backoffMs maxBackoffMs maxAttempts dedupKey digest',
      27: {
        bytes:
          'flags task priority dueAtMs payload queue maxFailures backoffMs maxBackoffMs maxAttempts dedupKey groupKey' +
          ' traceparent tracestate requeuedFrom requeueReason',
        note: 'written when it has a field that 1 does not store',
      },
    },
  },
  LeaseGranted: {
    says: 'The lease is known by the `seq` of this entry.',
    fields: {
      task: { kind: 'task', json: 'task_id' },
      lease_id: { value: 'leaseIdOfSeq(seq)' },
      lease_seq: { value: 'seq' },
      workerId: { kind: 'label', json: 'worker_id' },
      attempt: { kind: 'number', json: 'attempt' },
      expiresAtMs: { kind: 'instant', json: 'expiry_timestamp' },
      requestId: { kind: 'text', json: 'request_id', flag: 2 },
    },
    layouts: { 2: 'flags task attempt expiresAtMs workerId requestId' },
  },
  LeaseExtended: {
    fields: { ...LEASE_OF_TASK, expiresAtMs: { kind: 'instant', json: 'new_expiry_timestamp' } },
    layouts: { 3: 'flags task leaseSeq expiresAtMs' },
  },
  LeaseExpired: {
    fields: {
      ...LEASE_OF_TASK,
      counted: {
        kind: 'boolean',
        json: 'counted',
        flag: 2,
        says: 'False when it fell due while the authority was down: then it counts as no failed attempt.',
      },
    },
    layouts: { 4: 'flags task leaseSeq' },
  },
  TaskCompleted: {
    fields: {
      ...LEASE_OF_TASK,
      result: { kind: 'opaque', json: 'result', flag: 2 },
      writes: { kind: 'FencedWrite[]', json: 'writes', flag: 4, shown: 'entry.writes.length !== 0' },
    },
    layouts: { 5: 'flags task leaseSeq result #writes writes' },
  },
  TaskCancelled: {
    says: 'A verdict that came too late: nothing about the task changes, the late result is kept for inspection.',
    fields: {
      ...LEASE_OF_TASK,
      verb: { kind: 'Verb', json: 'verb' },
      result: { kind: 'opaque', json: 'late_result', flag: 2 },
    },
    layouts: { 6: 'flags task leaseSeq verb result' },
  },
  TaskFailed: {
    fields: {
      ...LEASE_OF_TASK,
      reason: { kind: 'text', json: 'reason' },
      nextState: {
        kind: 'text',
        json: 'next_state',
        flag: 2,
        words: ['WAITING', 'FAILED', 'DEAD'],
        says: 'DEAD when its attempts are used up or it is cancelled: its TaskDead is the next entry. Older logs have WAITING there.',
      },
      dueAtMs: { kind: 'instant', json: 'due_at', shown: "entry.nextState === 'WAITING'" },
    },
    layouts: {
      7: 'flags task leaseSeq dueAtMs reason',
      26: {
        bytes: 'flags task leaseSeq dueAtMs reason',
        when: "entry.nextState === 'DEAD'",
        given: { nextState: "'DEAD'" },
        note: '`TaskDead` of the same task follows. Older logs have a 7 that says WAITING there',
      },
    },
  },
  TaskReleased: {
    fields: { ...LEASE_OF_TASK, dueAtMs: { kind: 'instant', json: 'due_at' } },
    layouts: { 8: 'flags task leaseSeq dueAtMs' },
  },
  TaskDead: {
    fields: {
      task: { kind: 'task', json: 'task_id' },
      leaseSeq: {
        kind: 'leaseId',
        json: 'lease_id',
        shown: 'entry.leaseSeq !== 0',
        says: 'The lease it ended, 0 when there was none.',
      },
      reason: { kind: 'text', json: 'reason' },
      detail: {
        kind: 'text',
        json: 'reason_detail',
        flag: 2,
        says: 'The text of the caller that cancelled it; null for any other reason.',
      },
    },
    layouts: {
      9: { bytes: 'flags task leaseSeq reason', when: 'entry.detail === null', given: { detail: 'null' } },
      29: { bytes: 'flags task leaseSeq reason detail', note: 'written when there is a `detail`' },
    },
  },
  TaskCancelRequested: {
    says: 'A leased task is never leased again: when its lease ends without a completion, `TaskDead` follows at once.',
    fields: { ...LEASE_OF_TASK, reason: { kind: 'text', json: 'reason' } },
    layouts: { 30: 'flags task leaseSeq reason' },
  },
  TaskCheckpointed: {
    says: 'A checkpoint of the work on a task. Only the newest is kept.',
    fields: { ...LEASE_OF_TASK, value: { kind: 'opaque', json: 'value' } },
    layouts: { 31: 'flags task leaseSeq value' },
  },
  TaskChanged: {
    says: 'The place of a waiting task from now on; unchanged fields are repeated.',
    fields: {
      task: { kind: 'task', json: 'task_id' },
      queue: { kind: 'label', json: 'queue' },
      priority: { kind: 'priority', json: 'priority' },
      dueAtMs: { kind: 'instant', json: 'due_at' },
    },
    layouts: { 32: 'flags task priority dueAtMs queue' },
  },
  NameLeased: {
    says: "One grant over one or more names; they share this entry's `seq` as their fencing number.",
    fields: {
      name: { value: 'entry.names[0]', shown: 'entry.names.length === 1' },
      names: { kind: 'text[]', json: 'names' },
      holder: { kind: 'label', json: 'holder' },
      tokenHash: {
        kind: 'sha256',
        json: 'token_sha256',
        says: 'SHA-256 of the token, one character a byte. The token itself never enters the core or the log.',
      },
      lease_seq: { value: 'seq' },
      acquired_at: { value: 'instant(atMs)' },
      expiresAtMs: { kind: 'instant', json: 'expires_at' },
      metadata: { kind: 'opaque', json: 'metadata', flag: 1 },
    },
    layouts: { 10: 'flags expiresAtMs metadata #names names holder tokenHash' },
  },
  NameRenewed: {
    fields: { ...LEASE_OF_NAME, expiresAtMs: { kind: 'instant', json: 'expires_at' } },
    layouts: { 11: 'leaseSeq expiresAtMs name' },
  },
  NameReleased: { fields: LEASE_OF_NAME, layouts: { 12: 'leaseSeq name' } },
  NameExpired: { fields: LEASE_OF_NAME, layouts: { 13: 'leaseSeq name' } },
  NamesWiped: {
    fields: {
      prefix: { kind: 'text', json: 'prefix' },
      count: { kind: 'number', json: 'count', says: 'How many leases it ended.' },
    },
    layouts: { 15: 'count prefix' },
  },
  NameBroken: {
    fields: { ...LEASE_OF_NAME, reason: { kind: 'text', json: 'reason' } },
    layouts: { 14: 'leaseSeq name reason' },
  },
  ObjectWritten: { fields: FENCED_WRITE, layouts: { 16: 'FencedWrite' } },
  ObjectDeleted: {
    fields: {
      objectId: { kind: 'text', json: 'object_id' },
      leaseSeq: { kind: 'number', json: 'lease_seq' },
      version: { kind: 'number', json: 'version' },
    },
    layouts: { 17: 'leaseSeq version objectId' },
  },
  IntentAccepted: {
    says: 'Intent, session, idempotency key and start task in one. The session is known by the `seq` of this entry.',
    fields: {
      session_id: { value: 'sessionIdOfSeq(seq)' },
      task_id: { value: 'sessionIdOfSeq(seq)' },
      intent: { kind: 'Intent', json: 'intent' },
      serviceName: {
        kind: 'text',
        json: 'lease_name',
        shown: 'entry.serviceName !== firstServiceName(entry.intent)',
        says: 'The name that the session will hold besides its slot, decided when the intent was accepted.',
      },
      key: {
        kind: 'text',
        json: 'idempotency_key',
        says: 'The HMAC in hexadecimal; it finds the session while that is NEW, STARTING or READY.',
      },
      queue: { value: 'START_QUEUE' },
      payload: {
        kind: 'opaque',
        json: 'payload',
        says: 'The payload of the start task, whose id is that of the session.',
      },
    },
    layouts: {
      22: {
        bytes: 'payload intent key',
        when: 'entry.serviceName === firstServiceName(entry.intent)',
        given: { serviceName: 'firstServiceName(intent)' },
        note: '`serviceName` is `lease:service:` and the target',
      },
      25: {
        bytes: 'payload intent key serviceName',
        note: 'written when `serviceName` is another one than in 22',
      },
    },
  },
  SessionChanged: {
    says: 'The standing of a session from now on. The entry that makes it terminal also ends its leases.',
    fields: {
      session: { kind: 'sessionId', json: 'session_id', says: 'The `seq` of its IntentAccepted.' },
      ...STANDING,
    },
    layouts: { 23: 'session Standing' },
  },
  ...SCHEDULE_ENTRIES,
  QueuePaused: { fields: { queue: { kind: 'text', json: 'queue' } }, layouts: { 18: 'queue' } },
  QueueResumed: { fields: { queue: { kind: 'text', json: 'queue' } }, layouts: { 19: 'queue' } },
  QueueLimited: {
    says: 'The limits of a queue from now on; unchanged ones are repeated.',
    fields: {
      queue: { kind: 'text', json: 'queue' },
      maxLeased: { kind: 'number', json: 'max_leased', flag: 1, shown: 'always' },
      maxLeasedPerKey: { kind: 'number', json: 'max_leased_per_key', flag: 2, shown: 'always' },
      rate: {
        value: 'rateToJson(entry)',
        type: '{ readonly count: number; readonly perMs: number; readonly perKey: boolean } | null',
      },
      rateCount: {
        kind: 'number',
        flag: 4,
        says: 'The maximum number of grants in any interval of `ratePerMs`.',
      },
      ratePerMs: { kind: 'number', flag: 8 },
      ratePerKey: { kind: 'boolean', flag: 16, says: 'Whether the rate applies to each key separately.' },
      applied: {
        kind: 'boolean',
        json: 'applied',
        flag: 32,
        shown: 'entry.applied',
        says: 'Whether they come from the definition of a task, and not from an operator.',
      },
    },
    layouts: { 33: 'flags queue maxLeased maxLeasedPerKey rateCount ratePerMs' },
  },
  EpochStarted: {
    says: 'The first entry of every writer. After a restore from a backup its position jumps ahead, and it ends every lease.',
    fields: {
      epoch: { kind: 'number', json: 'epoch' },
      format: { kind: 'text', json: 'format' },
      version: { kind: 'number', json: 'version' },
      restored: { kind: 'boolean', json: 'restored', flag: 1 },
    },
    layouts: { 20: 'flags epoch version format' },
  },
  Forgotten: {
    says: 'Retention is an entry, so that compaction changes no answer.',
    fields: {
      tasks: { kind: 'task[]', json: 'task_ids', shown: 'entry.tasks.length !== 0' },
      names: { kind: 'text[]', json: 'names', shown: 'entry.names.length !== 0' },
      sessions: { kind: 'sessionId[]', json: 'session_ids', shown: 'entry.sessions.length !== 0' },
    },
    layouts: {
      21: {
        bytes: '#tasks #names tasks names',
        when: 'entry.sessions.length === 0',
        given: { sessions: 'NONE' },
        note: 'no sessions',
      },
      24: {
        bytes: '#tasks #names #sessions tasks names sessions',
        note: 'written only when there are sessions',
      },
    },
  },
} as const satisfies Record<string, EntryDefinition>;

/**
 * The rows of the state, one definition each: what a task, a lease on a task, a name, a session and a schedule remember. `npm run
 * generate` writes from it the columns (`row-columns.ts`: storage, first values, image, restore, relocation), the types of
 * image records (`image.ts`), their codec (`engines/image-encoder.ts`, `engines/image-decoder.ts`) and the table in
 * `docs/log-format.md`. The generators of the property tests read it directly. It is not read at run time.
 *
 * Fields and layouts are those of `entry-table.ts`, and so are the rules for a change: the layout of a released kind
 * number never changes. A new field stands in a layout with a new kind number. The old layout stays, and is written while
 * every field that it lacks is null or has its `without`: a checkpoint that does not use the field has the old bytes. `flags`
 * is a u8, a u16 or a u32, depending on the highest flag of the layout.
 */
import { ENTRIES, type Kind, type Layout, RECORDS, type StoredField } from './entry-table.ts';

/** Words that are stored as their index in the list. New words are only ever appended. */
export const ROW_WORDS = {
  TaskState: { what: 'task state', list: ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'] },
  LeaseEnd: {
    what: 'lease end',
    list: ['live', 'complete', 'fail', 'release', 'expired', 'killed', 'restored'],
    says: "How a lease on a task ended; 'live' while it has not.",
  },
  NameEnd: {
    what: 'end of a named lease',
    list: ['none', 'live', 'released', 'expired', 'broken', 'wiped', 'restored'],
    says: "How the last lease on a name ended; 'live' while it has not, 'none' when there never was one.",
  },
} as const;

/** A `seq` is a position of the log. A `count` is kept in 32 bits. A `token` is the first eight bytes of a hash. */
export type RowKind =
  | Kind
  | 'seq'
  | 'count'
  | 'number[]'
  | 'token[]'
  | 'ObjectImage'
  | 'LeaseImage[]'
  | keyof typeof ROW_WORDS;

export interface Column extends StoredField<RowKind> {
  /** Its value in a new row, as an expression over the parameters of `creation`; else zero or null. */
  readonly starts?: string;
  /** Kept by hand-written code of the table; the method that reads it. */
  readonly kept?: string;
  /** The image has this column as a part of the named field, which is `kept`. */
  readonly partOf?: string;
  /** Few rows have a value: those get a row in a side table; the others pay four bytes for all such columns together. */
  readonly sparse?: true;
  /** For a session or a schedule, whose row is an object: the field changes after creation. */
  readonly changes?: true;
}

export interface RowDefinition {
  readonly says?: string;
  /** Its `kind` in the image. A row inside another one has none. */
  readonly kind?: string;
  /** The parameters of `start`, which gives a new row its first values. Only for rows that are stored as columns. */
  readonly creation?: string;
  readonly fields: Readonly<Record<string, Column>>;
  readonly layouts: string | Readonly<Record<number, string | Layout>>;
}

const CREATED = ENTRIES.TaskCreated.fields;
const STANDING = RECORDS.Standing!.fields as Readonly<Record<string, StoredField>>;

const PLAN = Object.fromEntries(
  Object.entries(RECORDS.Plan!.fields).map(([name, field]) => [
    name,
    { ...(field as StoredField), changes: true } satisfies Column,
  ]),
);

const LAST_SEQ = { kind: 'seq', says: 'The `seq` of the newest entry that touched it.' } as const;

/** The first layout of a task; later ones add to its end. */
const TASK_LAYOUT_START =
  'flags row createdSeq createdAtMs lastSeq dueAtMs state priority payload queue task maxFailures backoffMs' +
  ' maxBackoffMs maxAttempts result endedSeq endedAtMs';
const TASK_LAYOUT_END = 'reason attempt countedAttempts failures #leases leases';

export const ROWS = {
  HeadImage: {
    says: 'First record of every image.',
    kind: 'head',
    fields: {
      lastSeq: { kind: 'seq', says: 'The log position of this image.' },
      lastAtMs: { kind: 'number' },
      epoch: { kind: 'number' },
      epochStartedAtMs: { kind: 'number' },
      taskRows: {
        kind: 'number',
        says: 'How many rows each table has ever used; rows not mentioned in the image are free.',
      },
      nameRows: { kind: 'number' },
      forgottenThroughMs: {
        kind: 'number',
        flag: 1,
        without: '0',
        says: 'The latest end of a forgotten task; 0 when none was forgotten.',
      },
    },
    layouts: {
      1: 'lastSeq lastAtMs epoch epochStartedAtMs taskRows nameRows',
      10: 'flags lastSeq lastAtMs epoch epochStartedAtMs taskRows nameRows forgottenThroughMs',
    },
  },
  QueueImage: {
    kind: 'queue',
    says: 'A queue that is paused or has limits.',
    fields: {
      queue: { kind: 'text' },
      paused: { kind: 'boolean', flag: 1 },
      maxLeased: { kind: 'number', flag: 2 },
      maxLeasedPerKey: { kind: 'number', flag: 4 },
      rateCount: { kind: 'number', flag: 8 },
      ratePerMs: { kind: 'number', flag: 16 },
      ratePerKey: { kind: 'boolean', flag: 32 },
      applied: { kind: 'boolean', flag: 64 },
    },
    layouts: {
      2: { bytes: 'flags queue', given: { ratePerKey: 'false', applied: 'false' }, note: 'no limits' },
      11: 'flags queue maxLeased maxLeasedPerKey rateCount ratePerMs',
    },
  },
  GrantsImage: {
    says: 'When grants were given that still count against the rate of their queue, oldest first; long lists come in pieces.',
    kind: 'grants',
    fields: {
      queue: { kind: 'text' },
      key: { kind: 'text', flag: 1, says: 'Null for the rate of the queue as a whole.' },
      atMs: { kind: 'number[]' },
    },
    layouts: { 14: 'flags queue key #atMs atMs' },
  },
  FreeRowsImage: {
    says: 'Free rows in the order in which they will be used again, last first; long lists come in pieces.',
    kind: 'free',
    fields: { table: { kind: 'text', words: ['tasks', 'names'] }, rows: { kind: 'number[]' } },
    layouts: {
      3: {
        bytes: '#rows rows',
        when: "free.table === 'tasks'",
        given: { table: "'tasks'" },
        note: 'of tasks',
      },
      4: { bytes: '#rows rows', given: { table: "'names'" }, note: 'of names' },
    },
  },
  LeaseImage: {
    creation: 'seq: Seq, workerId: string, requestId: string | null, expiresAtMs: number',
    fields: {
      seq: { kind: 'seq', starts: 'seq' },
      workerId: { kind: 'label', starts: 'workerId' },
      requestId: { kind: 'text', flag: 1, starts: 'requestId' },
      expiresAtMs: { kind: 'number', starts: 'expiresAtMs' },
      end: { kind: 'LeaseEnd', kept: 'endOf' },
      endedSeq: { kind: 'seq', says: 'The `seq` of the entry that ended it; 0 while live.' },
      dueAtMs: { kind: 'number', says: 'After a failure or a release: when the task was due again.' },
      cancelledSeq: {
        kind: 'seq',
        sparse: true,
        says: 'The `seq` of its TaskCancelled entry; 0 when there is none.',
      },
      lateResult: { kind: 'opaque', flag: 2, sparse: true },
    },
    layouts: 'flags end seq expiresAtMs endedSeq dueAtMs cancelledSeq lateResult workerId requestId',
  },
  TaskImage: {
    kind: 'task',
    creation: "entry: Omit<TaskCreated, 'type'>, seq: Seq, atMs: number",
    fields: {
      row: { kind: 'number', kept: 'row' },
      task: { kind: 'task', kept: 'key' },
      createdSeq: { kind: 'seq', starts: 'seq' },
      createdAtMs: { kind: 'number', starts: 'atMs' },
      queue: { kind: 'label', kept: 'queueNameOf' },
      priority: { kind: 'priority', kept: 'priorityOf' },
      state: { kind: 'TaskState', kept: 'stateOf' },
      attempt: { kind: 'count', flag: 128, without: '0' },
      countedAttempts: {
        kind: 'count',
        flag: 128,
        without: '0',
        says: 'Attempts that count against `maxAttempts`: less releases, less expiries while the authority was down.',
      },
      failures: { kind: 'count', flag: 128, without: '0' },
      maxFailures: { kind: 'count', flag: 8, usual: CREATED.maxFailures.usual, starts: 'entry.maxFailures' },
      backoffMs: { kind: 'count', flag: 8, usual: CREATED.backoffMs.usual, starts: 'entry.backoffMs' },
      maxBackoffMs: {
        kind: 'count',
        flag: 8,
        usual: CREATED.maxBackoffMs.usual,
        starts: 'entry.maxBackoffMs',
      },
      maxAttempts: { kind: 'count', flag: 8, usual: CREATED.maxAttempts.usual, starts: 'entry.maxAttempts' },
      dedupKey: { kind: 'text', flag: 2, starts: 'entry.dedupKey' },
      payload: { kind: 'opaque', starts: 'entry.payload' },
      dueAtMs: { kind: 'number', starts: 'entry.dueAtMs' },
      reason: { kind: 'text', flag: 32 },
      result: { kind: 'opaque', flag: 16 },
      endedSeq: {
        kind: 'seq',
        flag: 64,
        without: '0',
        says: 'The `seq` and time of the entry that made it terminal; 0 before.',
      },
      endedAtMs: { kind: 'number', flag: 64, without: '0' },
      lastSeq: { ...LAST_SEQ, starts: 'seq' },
      leases: {
        kind: 'LeaseImage[]',
        flag: 128,
        without: 'NONE',
        kept: 'leasesOf',
        says: 'Newest first; the first is the current one when the task is LEASED.',
      },
      groupKey: {
        kind: 'text',
        flag: 256,
        sparse: true,
        starts: 'entry.groupKey',
        says: 'The `key` of the wire.',
      },
      traceparent: { kind: 'text', flag: 512, sparse: true, starts: 'entry.traceparent' },
      tracestate: { kind: 'text', flag: 1024, sparse: true, starts: 'entry.tracestate' },
      requeuedFrom: { kind: 'text', flag: 2048, sparse: true, starts: 'entry.requeuedFrom' },
      requeuedAs: { kind: 'text', flag: 4096, sparse: true, says: 'The id of its successor.' },
      digest: { kind: 'sha256', flag: 4, retired: true },
      cancelReason: {
        kind: 'text',
        flag: 8_192,
        sparse: true,
        says: 'The reason of a cancellation that was requested while it was LEASED: it is never leased again.',
      },
      reasonDetail: {
        kind: 'text',
        flag: 16_384,
        sparse: true,
        says: 'The text of the caller that cancelled it, besides the `reason`.',
      },
      checkpoint: {
        kind: 'opaque',
        flag: 32_768,
        sparse: true,
        says: 'The newest checkpoint of its workers; dropped once it is COMPLETED.',
      },
      schedule: {
        kind: 'text',
        flag: 65_536,
        sparse: true,
        says: 'The name of the schedule that created it.',
      },
    },
    layouts: {
      5: `${TASK_LAYOUT_START} dedupKey digest ${TASK_LAYOUT_END}`,
      9:
        `${TASK_LAYOUT_START} dedupKey ${TASK_LAYOUT_END} groupKey traceparent tracestate requeuedFrom requeuedAs` +
        ' cancelReason reasonDetail checkpoint',
      12:
        `${TASK_LAYOUT_START} dedupKey ${TASK_LAYOUT_END} groupKey traceparent tracestate requeuedFrom requeuedAs` +
        ' cancelReason reasonDetail checkpoint schedule',
    },
  },
  ObjectImage: {
    fields: {
      value: { kind: 'opaque' },
      version: { kind: 'number' },
      leaseSeq: { kind: 'seq' },
      seq: { kind: 'seq' },
    },
    layouts: 'value version leaseSeq seq',
  },
  NameImage: {
    kind: 'name',
    creation: 'name: string',
    fields: {
      row: { kind: 'number', kept: 'row' },
      name: { kind: 'text', starts: 'name' },
      leaseSeq: {
        kind: 'seq',
        flag: 1,
        without: '0',
        says: 'The newest grant, which is the fence; 0 when there never was one.',
      },
      end: { kind: 'NameEnd', kept: 'endOf' },
      holder: { kind: 'label', flag: 1, without: "''" },
      tokenHash: { kind: 'sha256', flag: 1, without: "''", kept: 'tokenHashOf' },
      acquiredAtMs: { kind: 'number', flag: 1, without: '0' },
      expiresAtMs: { kind: 'number', flag: 1, without: '0' },
      metadata: { kind: 'opaque', flag: 2 },
      endedSeq: { kind: 'seq', flag: 8, without: '0' },
      endedAtMs: { kind: 'number', flag: 8, without: '0' },
      version: {
        kind: 'number',
        says: 'The newest version the object of this name ever had; stays when the object is deleted.',
      },
      object: { kind: 'ObjectImage', flag: 4, kept: 'objectOf' },
      value: { kind: 'opaque', partOf: 'object' },
      valueLeaseSeq: { kind: 'seq', partOf: 'object' },
      valueSeq: { kind: 'seq', partOf: 'object' },
      lastSeq: LAST_SEQ,
      pastTokens: {
        kind: 'token[]',
        flag: 1,
        without: 'NONE',
        kept: 'pastTokensOf',
        says: 'First eight bytes of the token hashes of earlier grants, newest first, at most 16.',
      },
    },
    layouts: {
      6:
        'flags end row version lastSeq endedSeq endedAtMs metadata object name leaseSeq acquiredAtMs expiresAtMs holder' +
        ' tokenHash #pastTokens pastTokens',
    },
  },
  SessionImage: {
    says: 'Open sessions first, in order of creation; then ended ones in the order of their end.',
    kind: 'session',
    fields: {
      seq: { kind: 'seq', says: 'The `seq` of its IntentAccepted.' },
      intent: { kind: 'Intent' },
      serviceName: { kind: 'text', says: 'The name that it holds besides its slot while it runs.' },
      key: { kind: 'text' },
      state: { kind: 'SessionState', changes: true },
      reason: { kind: 'SessionReason', flag: STANDING.reason!.flag!, changes: true },
      reasonDetail: { kind: 'text', flag: STANDING.reasonDetail!.flag!, changes: true },
      slot: { kind: 'label', flag: STANDING.slot!.flag!, changes: true },
      leaseSeq: { kind: 'seq', changes: true },
      createdAtMs: { kind: 'number' },
      updatedAtMs: { kind: 'number', changes: true },
      lastSeq: {
        kind: 'seq',
        changes: true,
        says: 'The `seq` of the newest entry that changed it; that of its end once it has ended.',
      },
    },
    layouts: {
      7: {
        bytes: 'seq createdAtMs updatedAtMs lastSeq Standing intent key',
        when: 'session.serviceName === firstServiceName(session.intent)',
        given: { serviceName: 'firstServiceName(intent)' },
        note: '`serviceName` is `lease:service:` and the target',
      },
      8: {
        bytes: 'seq createdAtMs updatedAtMs lastSeq Standing intent key serviceName',
        note: 'written when `serviceName` is another one than in 7',
      },
    },
  },
  ScheduleImage: {
    says: 'By name.',
    kind: 'schedule',
    fields: {
      name: { kind: 'text' },
      ...PLAN,
      createdSeq: { kind: 'seq', says: 'The `seq` of its first ScheduleSet.' },
      createdAtMs: { kind: 'number' },
      setSeq: { kind: 'seq', changes: true, says: 'The `seq` of its newest ScheduleSet.' },
      lastSeq: { ...LAST_SEQ, changes: true },
      lastDueAtMs: {
        kind: 'number',
        changes: true,
        says: 'The newest due time that fired or was skipped, 0 before the first: no due time up to it fires again.',
      },
      lastTaskId: { kind: 'text', changes: true, says: 'Empty before the first.' },
      requestIds: {
        kind: 'text[]',
        changes: true,
        says: 'The requests that fired it by hand, oldest first, at most 16; and the positions of their entries.',
      },
      requestSeqs: { kind: 'number[]', changes: true },
    },
    layouts: {
      13: 'name Plan createdSeq createdAtMs setSeq lastSeq lastDueAtMs lastTaskId #requestIds requestIds #requestSeqs requestSeqs',
    },
  },
} as const satisfies Record<string, RowDefinition>;

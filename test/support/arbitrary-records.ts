// Arbitraries for fast-check: every kind of entry and of image record, with the strings and numbers that break codecs.
import fc from 'fast-check';
import type {
  Entry,
  EntryType,
  FencedWrite,
  Intent,
  SessionReason,
  SessionState,
  TaskKey,
} from '../../src/core/entries.ts';
import type { ImageRecord, LeaseEnd, LeaseImage, NameEnd, ObjectImage } from '../../src/core/image.ts';
import type { Opaque } from '../../src/core/opaque.ts';
import { opaque } from '../../src/core/opaque.ts';

type ArbitraryOf<T> = { readonly [K in keyof T]-?: fc.Arbitrary<T[K]> };

/** Positions, times and counts: anything up to 2^53 - 1. */
const whole = fc.oneof(
  fc.integer({ min: 0, max: 1000 }),
  fc.maxSafeNat(),
  fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 48, Number.MAX_SAFE_INTEGER),
);

const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 40 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 300 }) },
  fc.string({ minLength: 250, maxLength: 600 }),
  fc.constantFrom(
    '',
    'a'.repeat(251),
    'a'.repeat(252),
    'é'.repeat(251),
    '\ud800',
    'x\udfff\ud83d',
    '😀',
    'ÿ',
    '\u0000',
  ),
);

/** One character a byte. */
const binary = (length: number): fc.Arbitrary<string> =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .map((bytes) => Buffer.from(bytes).toString('latin1'));

const bytes: fc.Arbitrary<Opaque> = fc.uint8Array({ maxLength: 400 }).map((content) => opaque(content));
const orNull = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary, { nil: null });
const key: fc.Arbitrary<TaskKey> = fc.oneof(whole, text);
const priority = fc.integer({ min: -128, max: 127 });

const fencedWrite: fc.Arbitrary<FencedWrite> = fc.record({
  objectId: text,
  leaseSeq: whole,
  version: whole,
  value: bytes,
});

/** The retry policy almost everybody has is stored in another way than all others. */
const policy = fc.oneof(
  fc.constant({ maxFailures: 5, backoffMs: 1_000, maxBackoffMs: 300_000, maxAttempts: 100 }),
  fc.record({ maxFailures: whole, backoffMs: whole, maxBackoffMs: whole, maxAttempts: whole }),
);

const SESSION_STATES: readonly SessionState[] = [
  'NEW',
  'STARTING',
  'READY',
  'STOPPING',
  'STOPPED',
  'FAILED',
  'CANCELLED',
];
const SESSION_REASONS: readonly SessionReason[] = [
  'R_LEASE_BUSY',
  'R_NO_TUNER',
  'R_CLIENT_STOP',
  'R_CANCELLED',
  'R_LEASE_EXPIRED',
  'R_PIPELINE_START_FAILED',
  'R_PROCESS_ENDED',
  'R_SHUTDOWN',
  'R_IDLE_TIMEOUT',
];

const intent: fc.Arbitrary<Intent> = fc.record({
  type: fc.constantFrom('live', 'vod'),
  target: fc.oneof(fc.constant('film'), text),
  profileId: text,
  startMs: whole,
});

/** Often the one that follows from the intent, which is stored in another way than all others. */
const serviceName = fc.oneof(fc.constant('lease:service:film'), text);

/** Where a session stands, in its entry and in its record of an image. */
const standing = {
  state: fc.constantFrom(...SESSION_STATES),
  reason: orNull(fc.constantFrom(...SESSION_REASONS)),
  reasonDetail: orNull(text),
  slot: orNull(text),
  leaseSeq: whole,
};

const ENTRIES: { readonly [T in EntryType]: fc.Arbitrary<Omit<Extract<Entry, { type: T }>, 'type'>> } = {
  TaskCreated: fc
    .tuple(
      fc.record({
        task: key,
        queue: text,
        priority,
        dueAtMs: whole,
        dedupKey: orNull(text),
        payload: bytes,
      }),
      policy,
    )
    .map(([created, retry]) => ({ ...created, ...retry })),
  LeaseGranted: fc.record({
    task: key,
    workerId: text,
    attempt: whole,
    expiresAtMs: whole,
    requestId: orNull(text),
  }),
  LeaseExtended: fc.record({ task: key, leaseSeq: whole, expiresAtMs: whole }),
  LeaseExpired: fc.record({ task: key, leaseSeq: whole, counted: fc.boolean() }),
  TaskCompleted: fc.record({
    task: key,
    leaseSeq: whole,
    result: orNull(bytes),
    writes: fc.array(fencedWrite, { maxLength: 5 }),
  }),
  TaskCancelled: fc.record({
    task: key,
    leaseSeq: whole,
    verb: fc.constantFrom('complete', 'fail', 'release'),
    result: orNull(bytes),
  }),
  TaskFailed: fc.record({
    task: key,
    leaseSeq: whole,
    reason: text,
    nextState: fc.constantFrom('WAITING', 'FAILED', 'DEAD'),
    dueAtMs: whole,
  }),
  TaskReleased: fc.record({ task: key, leaseSeq: whole, dueAtMs: whole }),
  TaskDead: fc.record({ task: key, leaseSeq: whole, reason: text }),
  NameLeased: fc.record({
    names: fc.array(text, { maxLength: 5 }),
    holder: text,
    tokenHash: binary(32),
    expiresAtMs: whole,
    metadata: orNull(bytes),
  }),
  NameRenewed: fc.record({ name: text, leaseSeq: whole, expiresAtMs: whole }),
  NameReleased: fc.record({ name: text, leaseSeq: whole }),
  NameExpired: fc.record({ name: text, leaseSeq: whole }),
  NameBroken: fc.record({ name: text, leaseSeq: whole, reason: text }),
  NamesWiped: fc.record({ prefix: text, count: whole }),
  ObjectWritten: fencedWrite,
  ObjectDeleted: fc.record({ objectId: text, leaseSeq: whole, version: whole }),
  IntentAccepted: fc.record({ intent, serviceName, key: text, payload: bytes }),
  SessionChanged: fc.record({ session: whole, ...standing }),
  QueuePaused: fc.record({ queue: text }),
  QueueResumed: fc.record({ queue: text }),
  EpochStarted: fc.record({
    epoch: whole,
    format: text,
    version: whole,
    restored: fc.boolean(),
  }),
  Forgotten: fc.record({
    tasks: fc.array(key, { maxLength: 40 }),
    names: fc.array(text, { maxLength: 10 }),
    sessions: fc.array(whole, { maxLength: 40 }),
  }),
};

export const ENTRY_TYPES = Object.keys(ENTRIES) as EntryType[];

export const arbitraryEntryOf = (type: EntryType): fc.Arbitrary<Entry> =>
  (ENTRIES[type] as fc.Arbitrary<object>).map((fields) => ({ type, ...fields }) as Entry);

export const arbitraryEntry: fc.Arbitrary<Entry> = fc.oneof(...ENTRY_TYPES.map(arbitraryEntryOf));

const LEASE_ENDS: readonly LeaseEnd[] = [
  'live',
  'complete',
  'fail',
  'release',
  'expired',
  'killed',
  'restored',
];
const NAME_ENDS: readonly NameEnd[] = ['none', 'live', 'released', 'expired', 'broken', 'wiped', 'restored'];

const lease: fc.Arbitrary<LeaseImage> = fc.record({
  seq: whole,
  workerId: text,
  requestId: orNull(text),
  expiresAtMs: whole,
  end: fc.constantFrom(...LEASE_ENDS),
  endedSeq: whole,
  dueAtMs: whole,
  cancelledSeq: whole,
  lateResult: orNull(bytes),
});

const object: fc.Arbitrary<ObjectImage> = fc.record({
  value: bytes,
  version: whole,
  leaseSeq: whole,
  seq: whole,
});

type ImageKind = ImageRecord['kind'];
const IMAGES: { readonly [K in ImageKind]: ArbitraryOf<Omit<Extract<ImageRecord, { kind: K }>, 'kind'>> } = {
  head: {
    lastSeq: whole,
    lastAtMs: whole,
    epoch: whole,
    epochStartedAtMs: whole,
    taskRows: whole,
    nameRows: whole,
  },
  queue: { queue: text, paused: fc.boolean() },
  free: { table: fc.constantFrom('tasks', 'names'), rows: fc.array(whole, { maxLength: 400 }) },
  task: {
    row: whole,
    task: key,
    createdSeq: whole,
    createdAtMs: whole,
    queue: text,
    priority,
    state: fc.constantFrom('WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'),
    attempt: whole,
    countedAttempts: whole,
    failures: whole,
    maxFailures: fc.oneof(fc.constant(5), whole),
    backoffMs: fc.oneof(fc.constant(1_000), whole),
    maxBackoffMs: fc.oneof(fc.constant(300_000), whole),
    maxAttempts: fc.oneof(fc.constant(100), whole),
    dedupKey: orNull(text),
    payload: bytes,
    dueAtMs: whole,
    reason: orNull(text),
    result: orNull(bytes),
    endedSeq: whole,
    endedAtMs: whole,
    lastSeq: whole,
    leases: fc.array(lease, { maxLength: 16 }),
  },
  name: {
    row: whole,
    name: text,
    leaseSeq: whole,
    end: fc.constantFrom(...NAME_ENDS),
    holder: text,
    tokenHash: fc.oneof(binary(32), fc.constant('')),
    acquiredAtMs: whole,
    expiresAtMs: whole,
    metadata: orNull(bytes),
    endedSeq: whole,
    endedAtMs: whole,
    version: whole,
    object: orNull(object),
    lastSeq: whole,
    pastTokens: fc.array(binary(8), { maxLength: 16 }),
  },
  session: {
    seq: whole,
    intent,
    serviceName,
    key: text,
    ...standing,
    createdAtMs: whole,
    updatedAtMs: whole,
    lastSeq: whole,
  },
};

export const IMAGE_KINDS = Object.keys(IMAGES) as ImageKind[];

export const arbitraryImageOf = (kind: ImageKind): fc.Arbitrary<ImageRecord> =>
  fc
    .record(IMAGES[kind] as Record<string, fc.Arbitrary<unknown>>)
    .map((fields) => ({ kind, ...fields }) as ImageRecord);

export const arbitraryImage: fc.Arbitrary<ImageRecord> = fc.oneof(...IMAGE_KINDS.map(arbitraryImageOf));

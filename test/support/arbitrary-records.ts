// Arbitraries for fast-check: every kind of entry and of image record, with the strings and numbers that break codecs.
import fc from 'fast-check';
import type { Entry, EntryType, Intent, Standing, TaskKey } from '../../src/core/entries.ts';
import {
  ENTRIES,
  type EntryDefinition,
  type Field,
  type Kind,
  RECORDS,
  WORDS,
} from '../../src/core/entry-table.ts';
import type { ImageRecord, LeaseEnd, LeaseImage, NameEnd, ObjectImage } from '../../src/core/image.ts';
import type { Opaque } from '../../src/core/opaque.ts';
import { opaqueOf } from '../../src/operations/opaque-values.ts';
import { isNullable, storedOf } from '../generated/entry-fields.ts';

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

const bytes: fc.Arbitrary<Opaque> = fc.uint8Array({ maxLength: 400 }).map((content) => opaqueOf(content));
const orNull = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(arbitrary, { nil: null });
const key: fc.Arbitrary<TaskKey> = fc.oneof(whole, text);
const priority = fc.integer({ min: -128, max: 127 });

const KINDS: { readonly [K in Kind]: () => fc.Arbitrary<unknown> } = {
  task: () => key,
  leaseId: () => whole,
  sessionId: () => whole,
  number: () => whole,
  instant: () => whole,
  priority: () => priority,
  text: () => text,
  label: () => text,
  sha256: () => binary(32),
  opaque: () => bytes,
  boolean: () => fc.boolean(),
  'task[]': () => fc.array(key, { maxLength: 40 }),
  'text[]': () => fc.array(text, { maxLength: 10 }),
  'sessionId[]': () => fc.array(whole, { maxLength: 40 }),
  'FencedWrite[]': () =>
    fc.array(fc.record(arbitraries('FencedWrite', RECORDS.FencedWrite!.fields)), { maxLength: 5 }),
  Intent: () => intent,
  Verb: () => fc.constantFrom(...WORDS.Verb.list),
  IntentType: () => fc.constantFrom(...WORDS.IntentType.list),
  SessionState: () => fc.constantFrom(...WORDS.SessionState.list),
  SessionReason: () => fc.constantFrom(...WORDS.SessionReason.list),
};

/** Often the name that follows from the intent, which is stored in another way than all others. */
const LIKELY: Readonly<Record<string, string>> = {
  'Intent.target': 'film',
  'IntentAccepted.serviceName': 'lease:service:film',
};

function arbitraries(of: string, fields: Readonly<Record<string, Field>>) {
  const rows = storedOf(fields).map(([name, field]): [string, fc.Arbitrary<unknown>] => {
    const any = field.words ? fc.constantFrom(...field.words) : KINDS[field.kind]();
    const likely = LIKELY[`${of}.${name}`];
    if (likely !== undefined) return [name, fc.oneof(fc.constant(likely), any)];
    return [name, isNullable(field) ? orNull(any) : any];
  });
  return Object.fromEntries(rows);
}

const intent = fc.record(
  arbitraries('Intent', RECORDS.Intent!.fields),
) as fc.Arbitrary<unknown> as fc.Arbitrary<Intent>;
const standing = arbitraries('Standing', RECORDS.Standing!.fields) as ArbitraryOf<Standing>;

export const ENTRY_TYPES = Object.keys(ENTRIES) as EntryType[];

/** Fields with a usual value have it all at once, or are anything: the former is stored in another way. */
export function arbitraryEntryOf(type: EntryType): fc.Arbitrary<Entry> {
  const { fields }: EntryDefinition = ENTRIES[type];
  const usual = Object.entries(fields).flatMap(([name, row]) => ('usual' in row ? [[name, row.usual]] : []));
  return fc
    .tuple(fc.record(arbitraries(type, fields)), fc.boolean())
    .map(([entry, isUsual]) => ({ type, ...entry, ...(isUsual ? Object.fromEntries(usual) : {}) }) as Entry);
}

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
    serviceName: fc.oneof(fc.constant('lease:service:film'), text),
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

// Arbitraries for fast-check: every kind of entry and of image record, with the strings and numbers that break codecs.
import fc from 'fast-check';
import type { Entry, EntryType } from '../../src/core/entries.ts';
import { ENTRIES, type EntryDefinition, RECORDS, WORDS } from '../../src/core/entry-table.ts';
import type { ImageRecord } from '../../src/core/image.ts';
import type { Opaque } from '../../src/core/opaque.ts';
import { ROW_WORDS, ROWS, type RowDefinition, type RowKind } from '../../src/core/row-table.ts';
import { opaqueOf } from '../../src/operations/opaque-values.ts';
import {
  type Field,
  IMAGE_DEFINITIONS,
  isNullable,
  type StoredField,
  storedOf,
} from '../generated/definitions.ts';

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
const key = fc.oneof(whole, text);
const priority = fc.integer({ min: -128, max: 127 });

const KINDS: { readonly [K in RowKind]: () => fc.Arbitrary<unknown> } = {
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
  Intent: () => fc.record(arbitraries('Intent', RECORDS.Intent!.fields)),
  Verb: () => fc.constantFrom(...WORDS.Verb.list),
  IntentType: () => fc.constantFrom(...WORDS.IntentType.list),
  SessionState: () => fc.constantFrom(...WORDS.SessionState.list),
  SessionReason: () => fc.constantFrom(...WORDS.SessionReason.list),
  Overlap: () => fc.constantFrom(...WORDS.Overlap.list),
  CatchUp: () => fc.constantFrom(...WORDS.CatchUp.list),
  Skip: () => fc.constantFrom(...WORDS.Skip.list),
  seq: () => whole,
  count: () => whole,
  'number[]': () => fc.array(whole, { maxLength: 400 }),
  'token[]': () => fc.array(binary(8), { maxLength: 16 }),
  ObjectImage: () => arbitraryRow('ObjectImage'),
  'LeaseImage[]': () => fc.array(arbitraryRow('LeaseImage'), { maxLength: 16 }),
  TaskState: () => fc.constantFrom(...ROW_WORDS.TaskState.list),
  LeaseEnd: () => fc.constantFrom(...ROW_WORDS.LeaseEnd.list),
  NameEnd: () => fc.constantFrom(...ROW_WORDS.NameEnd.list),
};

/** Often the name that follows from the intent, which is stored in another way than all others. */
const LIKELY: Readonly<Record<string, string>> = {
  'Intent.target': 'film',
  'IntentAccepted.serviceName': 'lease:service:film',
  'SessionImage.serviceName': 'lease:service:film',
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

/** Fields with a usual value have it all at once, or are anything: the former is stored in another way. */
function withUsual(
  of: string,
  fields: Readonly<Record<string, Field>>,
): fc.Arbitrary<Record<string, unknown>> {
  const usual = storedOf(fields).flatMap(([name, row]) =>
    row.usual === undefined ? [] : [[name, row.usual]],
  );
  return fc
    .tuple(fc.record(arbitraries(of, fields)), fc.boolean())
    .map(([record, isUsual]) => ({ ...record, ...(isUsual ? Object.fromEntries(usual) : {}) }));
}

export const ENTRY_TYPES = Object.keys(ENTRIES) as EntryType[];

export function arbitraryEntryOf(type: EntryType): fc.Arbitrary<Entry> {
  const { fields }: EntryDefinition = ENTRIES[type];
  return withUsual(type, fields).map((entry) => ({ type, ...entry }) as Entry);
}

export const arbitraryEntry: fc.Arbitrary<Entry> = fc.oneof(...ENTRY_TYPES.map(arbitraryEntryOf));

/** What fields that are left out together hold then. */
const WITHOUT: Readonly<Record<string, unknown>> = { '0': 0, "''": '', NONE: [] };

/** The fields behind one flag are often all left out. */
function arbitraryRow(name: string): fc.Arbitrary<Record<string, unknown>> {
  const { fields } = IMAGE_DEFINITIONS.find((definition) => definition.name === name)!;
  const shared = storedOf(fields).filter(([, { without }]) => without !== undefined);
  const flags = [...new Set(shared.map(([, { flag }]) => flag!))];
  return fc.tuple(withUsual(name, fields), fc.subarray(flags)).map(([record, left]) => {
    const without = shared
      .filter(([, { flag }]) => left.includes(flag!))
      .map(([field, row]: [string, StoredField]) => [field, WITHOUT[row.without!]]);
    return { ...record, ...Object.fromEntries(without) };
  });
}

type ImageKind = ImageRecord['kind'];

const IMAGES = new Map(
  (Object.entries(ROWS) as [string, RowDefinition][]).flatMap(([name, { kind }]) =>
    kind === undefined ? [] : [[kind as ImageKind, name]],
  ),
);

export const IMAGE_KINDS = [...IMAGES.keys()];

export const arbitraryImageOf = (kind: ImageKind): fc.Arbitrary<ImageRecord> =>
  arbitraryRow(IMAGES.get(kind)!).map((fields) => ({ kind, ...fields }) as ImageRecord);

export const arbitraryImage: fc.Arbitrary<ImageRecord> = fc.oneof(...IMAGE_KINDS.map(arbitraryImageOf));

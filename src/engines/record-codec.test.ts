// What goes into a frame comes out of it: every kind of entry and image record, whatever is in its fields.
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  arbitraryEntry,
  arbitraryEntryOf,
  arbitraryImage,
  arbitraryImageOf,
  ENTRY_TYPES,
  IMAGE_KINDS,
} from '../../test/support/arbitrary-records.ts';
import { Batch } from '../core/batch.ts';
import type { Entry } from '../core/entries.ts';
import type { ImageRecord, TaskImage } from '../core/image.ts';
import { NOWHERE, type Opaque } from '../core/opaque.ts';
import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import { decodeEntry } from './entry-decoder.ts';
import { encodeEntry } from './entry-encoder.ts';
import { areaOf, FILE_SPAN, FrameBuilder, isWhole, KIND_BATCH, KIND_IMAGE, readHead } from './frame.ts';
import { FrameReader } from './frame-reader.ts';
import { encodeImage } from './image-encoder.ts';
import { LogTooNewError } from './log.ts';
import { type OpaqueArea, OpaqueReader } from './record-parts.ts';

const FILE = 7;
const OFFSET = 640;

function throughFrame(entries: readonly Entry[], images: readonly ImageRecord[]) {
  const builder = new FrameBuilder();
  builder.begin(FILE, OFFSET, null);
  const batch = new Batch();
  batch.begin(areaOf(FILE, OFFSET));
  for (const entry of entries) {
    batch.add(entry, 1_000, 5_000, 0);
    builder.add(entry);
  }
  for (const image of images) builder.addImage(image, areaFor(builder));
  const kind = images.length === 0 ? KIND_BATCH : KIND_IMAGE;
  const frame = Buffer.from(builder.finish(kind, 3, 1_000, 5_000, 77));
  const head = readHead(frame, 0)!;
  expect(isWhole(frame, head)).toBe(true);
  expect(head).toMatchObject({ previous: 77, epoch: 3, firstSeq: 1_000, atMs: 5_000, file: FILE, kind });
  expect(frame.length % 8).toBe(0);
  const reader = new FrameReader();
  const found: unknown[] = [];
  if (kind === KIND_BATCH) reader.entries(frame, head, OFFSET, (entry) => found.push(entry));
  else reader.image(frame, head, OFFSET, (record) => found.push(record));
  return { frame, found };
}

/** Puts bytes that a record carries into the frame, and says in the record where they are. */
function areaFor(builder: FrameBuilder): OpaqueArea {
  return {
    take(opaque) {
      if (opaque.length === 0) {
        opaque.at = NOWHERE;
        return 0;
      }
      const offset = builder.copy(opaque.bytes!);
      opaque.at = builder.positionOf(offset);
      return offset;
    },
  };
}

/** The record as it must come back: every opaque as a reference to bytes that are where it says. */
function expected(value: unknown, frame: Buffer): unknown {
  if (Array.isArray(value)) return value.map((item) => expected(item, frame));
  if (typeof value !== 'object' || value === null) return value;
  if ('bytes' in value) {
    const { bytes, at, length, crc } = value as Opaque;
    const offset = at - FILE * FILE_SPAN - OFFSET;
    expect(frame.subarray(offset, offset + length).equals(bytes!)).toBe(true);
    expect(crc).toBe(crc32(bytes!));
    return { bytes: null, at, length, crc };
  }
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, expected(item, frame)]));
}

function decoded(record: Buffer): Entry {
  const source = new ByteReader();
  source.open(record, 0);
  return decodeEntry(source, new OpaqueReader(source));
}

/** A task with each choice of the parts that may be left out of its record. */
function eachLeftOut(task: TaskImage): TaskImage[] {
  const whole = {
    ...task,
    maxFailures: 3,
    result: task.payload,
    endedSeq: 9,
    dedupKey: 'd',
    reason: 'r',
    attempt: 1,
  };
  const left: Partial<TaskImage>[] = [
    { maxFailures: 5, backoffMs: 1_000, maxBackoffMs: 300_000, maxAttempts: 100 },
    { result: null },
    { endedSeq: 0, endedAtMs: 0 },
    { dedupKey: null },
    { reason: null },
    { attempt: 0, countedAttempts: 0, failures: 0, leases: [] },
  ];
  return Array.from({ length: 2 ** left.length }, (_, choice) =>
    Object.assign({ ...whole, task: 7 }, ...left.filter((_part, bit) => choice & (1 << bit))),
  );
}

describe('the record codec', () => {
  it.each(ENTRY_TYPES)('gives back every %s as it was', (type) => {
    fc.assert(
      fc.property(arbitraryEntryOf(type), (entry) => {
        const { frame, found } = throughFrame([entry], []);
        expect(found).toEqual([expected(entry, frame)]);
      }),
    );
  });

  it.each(IMAGE_KINDS)('gives back every %s record of an image as it was', (kind) => {
    fc.assert(
      fc.property(arbitraryImageOf(kind), (record) => {
        const { frame, found } = throughFrame([], [record]);
        expect(found).toEqual([expected(record, frame)]);
      }),
    );
  });

  it('writes an older layout only for what that layout gives back', () => {
    const limits = { maxLeased: null, maxLeasedPerKey: null, rateCount: null, ratePerMs: null };
    for (const flags of [
      { ratePerKey: true, applied: false },
      { ratePerKey: false, applied: true },
    ]) {
      const record: ImageRecord = { kind: 'queue', queue: 'mail', paused: true, ...limits, ...flags };
      expect(throughFrame([], [record]).found).toEqual([record]);
    }
  });

  it('keeps any number of records apart, in their order', () => {
    fc.assert(
      fc.property(fc.array(arbitraryEntry, { maxLength: 60 }), (entries) => {
        const { frame, found } = throughFrame(entries, []);
        expect(found).toEqual(entries.map((entry) => expected(entry, frame)));
      }),
    );
    fc.assert(
      fc.property(fc.array(arbitraryImage, { minLength: 1, maxLength: 60 }), (records) => {
        const { frame, found } = throughFrame([], records);
        expect(found).toEqual(records.map((record) => expected(record, frame)));
      }),
    );
  });

  it('finds room for lists that are longer than the memory it begins with', () => {
    const numbers = Array.from({ length: 20_000 }, (_, i) => i + 1);
    const texts = numbers.map((number) => `a text that counts up to ${number}`);
    const lists: Entry[] = [
      { type: 'Forgotten', tasks: numbers, names: [], sessions: [] },
      { type: 'Forgotten', tasks: texts, names: texts, sessions: [] },
      { type: 'Forgotten', tasks: [], names: [], sessions: numbers },
    ];
    for (const entry of lists) expect(throughFrame([entry], []).found).toEqual([entry]);
    const free: ImageRecord = { kind: 'free', table: 'names', rows: numbers };
    expect(throughFrame([], [free]).found).toEqual([free]);
  });

  it('finds room for every field, however little memory is left', () => {
    const area = { take: () => 0 };
    const written = (bytes: number, encode: (out: ByteWriter) => void) => {
      const out = new ByteWriter(bytes);
      encode(out);
      return out.buffer.subarray(0, out.length);
    };
    const entries = fc.sample(arbitraryEntry, { seed: 7, numRuns: 100 });
    // With a long id of its own, and everything behind it that may be left out.
    const [task] = fc.sample(arbitraryImageOf('task'), { seed: 7, numRuns: 1 }) as [TaskImage];
    const longest = { ...task, task: 'k'.repeat(200), maxFailures: 3, result: task.payload, endedSeq: 9 };
    const images = [
      longest,
      ...fc.sample(arbitraryImage, { seed: 7, numRuns: 100 }),
      // What is left out leaves no room for what follows it.
      ...eachLeftOut(task),
    ];
    const encodings = [
      ...entries.map((entry) => (out: ByteWriter) => encodeEntry(out, area, entry)),
      ...images.map((record) => (out: ByteWriter) => encodeImage(out, area, record)),
    ];
    for (const [index, encode] of encodings.entries()) {
      const whole = written(1024 * 1024, encode);
      for (let bytes = 1; bytes < Math.min(whole.length + 200, 1_500); bytes++) {
        const same = Buffer.compare(written(bytes, encode), whole) === 0;
        if (!same) expect.unreachable(`record ${index} with ${bytes} bytes`);
      }
    }
  });

  it('hands out one string for a worker that comes again', () => {
    const granted = (attempt: number): Entry => ({
      type: 'LeaseGranted',
      task: attempt,
      workerId: ['worker-', '1'].join(''),
      attempt,
      expiresAtMs: 1,
      requestId: null,
    });
    const { found } = throughFrame([granted(1), granted(2)], []);
    expect(found).toMatchObject([{ workerId: 'worker-1' }, { workerId: 'worker-1' }]);
  });

  it('writes Forgotten as it always did while no session is forgotten, so that older versions can read it', () => {
    const typeOf = (entry: Entry) => {
      const { frame } = throughFrame([entry], []);
      return frame[readHead(frame, 0)!.recordsAt];
    };
    const forgotten = { type: 'Forgotten', tasks: [1], names: ['n'] } as const;
    expect(typeOf({ ...forgotten, sessions: [] })).toBe(21);
    expect(typeOf({ ...forgotten, sessions: [2] })).toBe(24);
  });

  it('refuses a word it does not know, by its number', () => {
    const changed = Buffer.alloc(40);
    changed[0] = 23;
    changed[10] = 99;
    expect(() => decoded(changed)).toThrow(/session state of number 99/);
  });

  it('refuses a type it does not know, by its number', () => {
    expect(() => decoded(Buffer.from([200, 0, 0]))).toThrow(LogTooNewError);
    expect(() => decoded(Buffer.from([200, 0, 0]))).toThrow(/type 200/);
  });

  it('refuses an entry that refers to bytes it does not carry', () => {
    const builder = new FrameBuilder();
    builder.begin(1, 64, null);
    const value = { bytes: null, at: 1, length: 1, crc: 1 };
    expect(() =>
      builder.add({ type: 'ObjectWritten', objectId: 'a', leaseSeq: 1, version: 1, value }),
    ).toThrow(/does not carry/);
  });

  it('refuses an entry whose bytes are expected at another place', () => {
    const builder = new FrameBuilder();
    builder.begin(1, 64, null);
    const value = { bytes: Buffer.from('1'), at: areaOf(1, 64) + 1, length: 1, crc: crc32('1') };
    expect(() =>
      builder.add({ type: 'ObjectWritten', objectId: 'a', leaseSeq: 1, version: 1, value }),
    ).toThrow(/would be written at/);
  });
});

// Bytes by position: from memory while they are young, from disk later, always checked, and never read twice at once.
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diskError, TestDisk } from '../../test/support/test-disk.ts';
import type { Opaque } from '../core/opaque.ts';
import { LogFile } from './file/log-file.ts';
import { FILE_SPAN } from './frame.ts';
import { OpaqueStore } from './opaque-store.ts';
import { RecentBytes } from './recent-bytes.ts';

const FILE = 3;

const bytesOf = (length: number) => Buffer.from(Array.from({ length }, (_, i) => (i * 7 + (i >> 8)) % 251));

function referenceTo(content: Buffer, offset: number, length: number): Opaque {
  const crc = crc32(content.subarray(offset, offset + length));
  return { bytes: null, at: FILE * FILE_SPAN + offset, length, crc };
}

async function storeOn(content: Buffer, durable = content.length, cacheBytesMax = 1024 * 1024) {
  const disk = new TestDisk();
  const file = await disk.open('/file', { create: true });
  await file.write(content, 0);
  const logFile = new LogFile(FILE, '/file', file, durable);
  const store = new OpaqueStore({
    recentBytesMax: 0,
    cacheBytesMax,
    sourceOf: (number) => (number === FILE ? logFile : null),
  });
  const reads = () => disk.operations.filter(({ name }) => name === 'read').length;
  return { store, disk, file, logFile, reads };
}

describe('opaque bytes', () => {
  it('are found wherever they lie, across blocks and beyond what is cached', async () => {
    const content = bytesOf(700_000);
    const { store } = await storeOn(content, content.length, 128 * 1024);
    for (const [offset, length] of [
      [0, 1],
      [65_530, 20],
      [65_536, 65_536],
      [100, 200_000],
      [1_000, 600_000],
      [699_999, 1],
    ] as const) {
      const bytes = await store.read(referenceTo(content, offset, length));
      expect(Buffer.compare(bytes!, content.subarray(offset, offset + length))).toBe(0);
    }
  });

  it('come at once the second time, and each caller has a copy of its own', async () => {
    const content = bytesOf(70_000);
    const { store, reads } = await storeOn(content);
    const reference = referenceTo(content, 10, 100);
    const first = await store.read(reference);
    first!.fill(0);
    const second = store.read(reference);
    expect(second).toEqual(content.subarray(10, 110));
    expect(reads()).toBe(1);
  });

  it('share one read among all who ask at the same time', async () => {
    const content = bytesOf(200_000);
    const { store, reads } = await storeOn(content);
    const all = Array.from({ length: 50 }, (_, i) => store.read(referenceTo(content, 70_000 + i * 100, 100)));
    const found = await Promise.all(all);
    expect(found).not.toContain(null);
    expect(reads()).toBe(1);
  });

  it('are not taken from a block that was read before they were written', async () => {
    const content = bytesOf(1_000);
    const { store, file, logFile } = await storeOn(content.subarray(0, 500), 500);
    expect(await store.read(referenceTo(content, 0, 400))).not.toBe(null);
    await file.write(content.subarray(500), 500);
    logFile.durable = 1_000;
    expect(await store.read(referenceTo(content, 600, 400))).toEqual(content.subarray(600));
  });

  it('are not taken from a read that was under way before they were written', async () => {
    const content = bytesOf(1_000);
    let end = 500;
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const file = {
      async read(into: Buffer, at: number, length: number, position: number): Promise<number> {
        const count = content.copy(into, at, position, Math.min(end, position + length));
        await answered;
        return count;
      },
    };
    const source = { file, durable: end, retain() {}, async release() {} };
    const store = new OpaqueStore({ recentBytesMax: 0, cacheBytesMax: 1024 * 1024, sourceOf: () => source });
    const early = store.read(referenceTo(content, 0, 400));
    end = 1_000;
    source.durable = end;
    const late = store.read(referenceTo(content, 600, 400));
    answer();
    expect(await early).toEqual(content.subarray(0, 400));
    expect(await late).toEqual(content.subarray(600));
  });

  it('are null when they are damaged, or end before they should', async () => {
    const content = bytesOf(1_000);
    const { store } = await storeOn(content);
    expect(await store.read({ ...referenceTo(content, 0, 400), crc: 5 })).toBe(null);
    expect(await store.read({ ...referenceTo(content, 900, 100), length: 200 })).toBe(null);
  });

  it('are a fault, and not damage, when the disk cannot be read; it may be tried again', async () => {
    const content = bytesOf(1_000);
    const { store, disk } = await storeOn(content);
    disk.gate = () => {
      throw diskError('EIO');
    };
    await expect(Promise.resolve(store.read(referenceTo(content, 0, 400)))).rejects.toThrow('EIO');
    disk.gate = () => {};
    expect(await store.read(referenceTo(content, 0, 400))).toEqual(content.subarray(0, 400));
  });

  it('may be tried again also where several would have shared the read', async () => {
    const content = bytesOf(70_000);
    const { store, disk } = await storeOn(content);
    disk.gate = () => {
      throw diskError('EIO');
    };
    const asked = [0, 500].map((offset) => store.read(referenceTo(content, offset, 400)));
    for (const answer of await Promise.allSettled(asked)) expect(answer.status).toBe('rejected');
    disk.gate = () => {};
    expect(await store.read(referenceTo(content, 0, 400))).toEqual(content.subarray(0, 400));
  });

  it.each([
    ['a few', 70_000],
    ['many', 600_000],
  ])('are read to their end from a file that is dropped meanwhile, %s of them', async (_, length) => {
    const content = bytesOf(700_000);
    const { store, disk, logFile } = await storeOn(content);
    const reading = store.read(referenceTo(content, 60_000, length));
    await logFile.drop();
    expect(disk.openPaths).toEqual(['/file']);
    expect(Buffer.compare((await reading)!, content.subarray(60_000, 60_000 + length))).toBe(0);
    // The block after it may still be on its way.
    for (let i = 0; i < 50; i++) await Promise.resolve();
    expect(disk.openPaths).toEqual([]);
  });
});

describe('the newest bytes', () => {
  it.each([
    ['and all of them do', 60],
    ['but for some that are larger than all there is', 150],
  ])('are in memory as long as they fit, whatever the sizes and files, %s', (_, max) => {
    const put = fc.record({ file: fc.integer({ min: 1, max: 3 }), length: fc.integer({ min: 1, max }) });
    fc.assert(
      fc.property(fc.array(put, { maxLength: 60 }), (puts) => {
        const recent = new RecentBytes(100);
        const ends = new Map<number, number>();
        const all: { file: number; offset: number; bytes: Buffer }[] = [];
        for (const [i, { file, length }] of puts.entries()) {
          const offset = ends.get(file) ?? 0;
          const bytes = Buffer.from(Array.from({ length }, (_, at) => (i * 31 + at) % 251));
          recent.put(file, offset, bytes);
          ends.set(file, offset + length);
          all.push({ file, offset, bytes });
        }
        let newer = 0;
        for (const { file, offset, bytes } of all.reverse()) {
          newer += bytes.length;
          const found = recent.get(file, offset, bytes.length);
          if (newer <= 100) expect(found).toEqual(bytes);
          else expect(found === null || found.equals(bytes)).toBe(true);
          const last = recent.get(file, offset + bytes.length - 1, 1);
          expect(last === null || last[0] === bytes.at(-1)).toBe(true);
        }
      }),
    );
  });
});

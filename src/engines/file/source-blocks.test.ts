// What a checkpoint copies is what lies there, wherever it lies: across the edges of blocks, in any order, and to the
// end of a file.
import { describe, expect, it } from 'vitest';
import { TestDisk } from '../../../test/support/test-disk.ts';
import type { Opaque } from '../../core/opaque.ts';
import { FILE_SPAN } from '../frame.ts';
import { SourceBlocks } from './source-blocks.ts';

const BLOCK_BYTES = 256 * 1024;
const FILES = [3, 4];

const contentOf = (file: number, length: number) =>
  Buffer.from(Array.from({ length }, (_, i) => (i * 7 + file * 31 + (i >> 8)) % 251));

const referenceTo = (file: number, offset: number, length: number): Opaque => ({
  bytes: null,
  at: file * FILE_SPAN + offset,
  length,
  crc: 0,
});

describe('old bytes', () => {
  it('are found around every edge of a block, and at the end of the file', async () => {
    const size = 3 * BLOCK_BYTES + 100;
    const { sourceBlocks, contents } = await filesOf(size);
    for (const edge of [BLOCK_BYTES, 2 * BLOCK_BYTES, size - 8]) {
      for (let offset = edge - 4; offset <= edge + 4; offset++) {
        for (const length of [1, 3, 4, 5, 8].filter((each) => offset + each <= size)) {
          const found = sourceBlocks.read(referenceTo(3, offset, length));
          expect(found, `${length} at ${offset}`).toEqual(contents.get(3)!.subarray(offset, offset + length));
        }
      }
    }
    const long = sourceBlocks.read(referenceTo(3, 10, 2 * BLOCK_BYTES));
    expect(Buffer.compare(long, contents.get(3)!.subarray(10, 10 + 2 * BLOCK_BYTES))).toBe(0);
  });

  it('are those of their own file and place, when there are more blocks than are kept', async () => {
    const blocks = 12;
    const { sourceBlocks, contents } = await filesOf(blocks * BLOCK_BYTES);
    for (let round = 0; round < 2; round++) {
      for (let block = 0; block < blocks; block++) {
        for (const file of FILES) {
          const offset = block * BLOCK_BYTES + 1_000;
          const found = sourceBlocks.read(referenceTo(file, offset, 100));
          expect(found, `block ${block} of ${file}`).toEqual(
            contents.get(file)!.subarray(offset, offset + 100),
          );
        }
      }
    }
  });

  it('in a file that is not part of the log are a bug', async () => {
    const { sourceBlocks } = await filesOf(100);
    expect(() => sourceBlocks.read(referenceTo(9, 0, 10))).toThrow(/file 9/);
  });
});

async function filesOf(length: number) {
  const disk = new TestDisk();
  const files = new Map();
  const contents = new Map<number, Buffer>();
  for (const number of FILES) {
    const file = await disk.open(`/${number}`, { create: true });
    const content = contentOf(number, length);
    await file.write(content, 0);
    files.set(number, file);
    contents.set(number, content);
  }
  return { sourceBlocks: new SourceBlocks(files), contents };
}

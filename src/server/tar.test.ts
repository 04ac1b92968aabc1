// The bytes of a tar archive, as POSIX has them. That others can read it is shown with the system's own tar in test/e2e.
import { describe, expect, it } from 'vitest';
import { type TarMember, tarArchive } from './tar.ts';

const AT_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

async function bytesOf(members: readonly TarMember[]): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of tarArchive(members, AT_MS)) pieces.push(piece);
  return Buffer.concat(pieces);
}

const member = (name: string, ...pieces: string[]): TarMember => ({
  name,
  bytes: pieces.join('').length,
  content: pieces.map((piece) => Buffer.from(piece)),
});

describe('a tar archive', () => {
  it('has a header, the bytes filled up to the next 512, and two blocks of zeros', async () => {
    const bytes = await bytesOf([member('0000000000000001.seg', 'some ', 'bytes')]);
    expect(bytes.length).toBe(4 * 512);
    const text = (at: number, length: number) => bytes.toString('latin1', at, at + length);
    expect(text(0, 100)).toBe('0000000000000001.seg'.padEnd(100, '\0'));
    expect(text(100, 24)).toBe('0000600\x000000000\x000000000\0');
    expect(text(124, 12)).toBe('00000000012\0');
    expect(Number.parseInt(text(136, 11), 8)).toBe(Math.floor(AT_MS / 1000));
    expect(text(156, 1)).toBe('0');
    expect(text(257, 8)).toBe('ustar\x0000');
    const sum = bytes
      .subarray(0, 512)
      .reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
    expect(text(148, 8)).toBe(`${sum.toString(8).padStart(6, '0')}\0 `);
    expect(text(512, 512)).toBe('some bytes'.padEnd(512, '\0'));
    expect(bytes.subarray(1024).every((byte) => byte === 0)).toBe(true);
  });

  it('fills nothing up where nothing is missing', async () => {
    expect((await bytesOf([member('a', 'x'.repeat(512)), member('empty')])).length).toBe(5 * 512);
  });

  it('breaks off when a member is longer or shorter than announced', async () => {
    const liar = { ...member('a', 'one', 'two') };
    await expect(bytesOf([{ ...liar, bytes: 5 }])).rejects.toThrow('announced with 5 bytes');
    await expect(bytesOf([{ ...liar, bytes: 7 }])).rejects.toThrow('announced with 7 bytes');
    await expect(bytesOf([{ ...liar, bytes: 8 ** 11 }])).rejects.toThrow('does not fit');
    await expect(bytesOf([member('n'.repeat(101))])).rejects.toThrow('does not fit');
  });

  it('releases its members when its reader stops', async () => {
    let isReleased = false;
    async function* members(): AsyncGenerator<TarMember> {
      try {
        yield member('a', 'one');
        yield member('b', 'two');
      } finally {
        isReleased = true;
      }
    }
    for await (const _ of tarArchive(members(), AT_MS)) break;
    expect(isReleased).toBe(true);
  });
});

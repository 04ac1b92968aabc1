// Reading archives: what was packed comes out however the bytes are cut on the way, and nothing but plain files does.
import { describe, expect, it } from 'vitest';
import { type TarMember, tarArchive } from '../server/tar.ts';
import { ArchiveError, untar } from './untar.ts';

const FILES = { 'a.seg': 'x'.repeat(1_000), empty: '', 'b.ckpt': 'y'.repeat(512), 'c.json': '{"ä":1}' };

async function packed(files: Readonly<Record<string, string>> = FILES): Promise<Buffer> {
  const members = Object.entries(files).map(([name, text]): TarMember => {
    const bytes = Buffer.from(text);
    return { name, bytes: bytes.length, content: [bytes] };
  });
  const pieces: Uint8Array[] = [];
  for await (const piece of tarArchive(members, 1_700_000_000_000)) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function* inPieces(bytes: Buffer, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function unpacked(bytes: Buffer, length = 700): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { name, bytes: size, content } of untar(inPieces(bytes, length))) {
    const pieces: Uint8Array[] = [];
    for await (const piece of content) pieces.push(piece);
    found[name] = Buffer.concat(pieces).toString('utf8');
    expect(Buffer.byteLength(found[name])).toBe(size);
  }
  return found;
}

/** Changes a header and makes its checksum right again. */
function withHeader(archive: Buffer, change: (header: Buffer) => void): Buffer {
  const changed = Buffer.from(archive);
  change(changed);
  changed.fill(' ', 148, 156);
  const sum = changed.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  changed.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return changed;
}

describe('reading an archive', () => {
  it('gives every file as it was packed, however the bytes are cut on the way', async () => {
    const archive = await packed();
    for (const length of [1, 7, 511, 512, 513, 1_024, archive.length]) {
      expect(await unpacked(archive, length)).toEqual(FILES);
    }
  });

  it('accepts more zeros behind the end, as other programs write them', async () => {
    expect(await unpacked(Buffer.concat([await packed(), Buffer.alloc(8_192)]))).toEqual(FILES);
  });

  it('skips a member that was not read', async () => {
    const names: string[] = [];
    for await (const { name, content } of untar(inPieces(await packed(), 100))) {
      names.push(name);
      for await (const _ of content) break;
    }
    expect(names).toEqual(Object.keys(FILES));
  });

  it('notices wherever an archive is cut off', async () => {
    const archive = await packed();
    for (let length = 0; length < archive.length; length += 1) {
      await expect(unpacked(archive.subarray(0, length)), `${length} bytes`).rejects.toThrow(ArchiveError);
    }
  });

  it('notices any change to a header', async () => {
    const archive = await packed();
    for (let at = 0; at < 512; at++) {
      const damaged = Buffer.from(archive);
      damaged[at]! ^= 0x01;
      const outcome = await unpacked(damaged).catch((error: unknown) => error);
      // The blank behind the checksum says nothing.
      if (at >= 148 && at < 156 && !(outcome instanceof Error)) expect(outcome).toEqual(FILES);
      else expect(outcome, `byte ${at}`).toBeInstanceOf(ArchiveError);
    }
  });

  it.each(['../a', 'a/b', '/a', '..', '.', '', 'a\\b', 'a\nb'])('refuses the name %j', async (name) => {
    const archive = withHeader(await packed(), (header) => header.fill(0, 0, 100).write(name, 0));
    await expect(unpacked(archive)).rejects.toThrow('no plain file');
  });

  it('refuses a path in the prefix of the name', async () => {
    const archive = withHeader(await packed(), (header) => header.write('..', 345));
    await expect(unpacked(archive)).rejects.toThrow('no plain file');
  });

  it.each(['1', '2', '3', '4', '5', '6', 'x', 'g', 'L'])('refuses a member of type %s', async (type) => {
    const archive = withHeader(await packed(), (header) => header.write(type, 156));
    await expect(unpacked(archive)).rejects.toThrow('no plain file');
  });

  it('refuses sizes that are no numbers, other formats, and bytes behind the end', async () => {
    const archive = await packed();
    const large = withHeader(archive, (header) =>
      header.write('\x80\0\0\0\0\0\0\0\0\0\x03\xe8', 124, 'latin1'),
    );
    await expect(unpacked(large)).rejects.toThrow('not readable');
    const old = withHeader(archive, (header) => header.fill(0, 257, 265));
    await expect(unpacked(old)).rejects.toThrow('ustar');
    await expect(unpacked(Buffer.concat([archive, Buffer.from('x')]))).rejects.toThrow('after its end');
    const half = Buffer.concat([archive.subarray(0, -512), archive.subarray(0, 512)]);
    await expect(unpacked(half)).rejects.toThrow('after its end');
  });

  it('stops the bytes when the reader stops', async () => {
    let isStopped = false;
    async function* bytes(archive: Buffer): AsyncGenerator<Uint8Array> {
      try {
        yield* inPieces(archive, 100);
      } finally {
        isStopped = true;
      }
    }
    for await (const _ of untar(bytes(await packed()))) break;
    expect(isStopped).toBe(true);
  });
});

/**
 * Writes a tar archive (POSIX ustar) piece by piece: for each member a header of 512 bytes and its bytes, padded with
 * zeros to the next 512; then two blocks of zeros. Only what a backup needs: plain files with short names and known
 * sizes, readable by their owner only.
 */
const BLOCK_BYTES = 512;
const NAME_BYTES_MAX = 100;
/** The largest number of eleven octal digits. */
const MEMBER_BYTES_MAX = 8 ** 11 - 1;
const PLAIN_FILE = '0';

export interface TarMember {
  readonly name: string;
  readonly bytes: number;
  readonly content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export async function* tarArchive(
  members: AsyncIterable<TarMember> | Iterable<TarMember>,
  modifiedAtMs: number,
): AsyncGenerator<Uint8Array> {
  for await (const member of members) {
    yield headerOf(member, modifiedAtMs);
    let written = 0;
    for await (const piece of member.content) {
      written += piece.length;
      if (written > member.bytes) break;
      yield piece;
    }
    // The header has been sent already. Fail, so that an archive with a wrong size does not look whole.
    if (written !== member.bytes) {
      throw new Error(`${member.name} was announced with ${member.bytes} bytes, but has ${written}.`);
    }
    const padding = (BLOCK_BYTES - (written % BLOCK_BYTES)) % BLOCK_BYTES;
    if (padding > 0) yield Buffer.alloc(padding);
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

function headerOf({ name, bytes }: TarMember, modifiedAtMs: number): Buffer {
  if (Buffer.byteLength(name) > NAME_BYTES_MAX || bytes > MEMBER_BYTES_MAX) {
    throw new Error(`${name} with ${bytes} bytes does not fit into a tar archive.`);
  }
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0);
  header.write('0000600\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${octal(bytes)}\0`, 124);
  header.write(`${octal(Math.floor(modifiedAtMs / 1000))}\0`, 136);
  header.write(' '.repeat(8), 148);
  header.write(PLAIN_FILE, 156);
  header.write('ustar\x0000', 257);
  // The sum of all bytes, with the checksum field counted as spaces.
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

const octal = (value: number): string => value.toString(8).padStart(11, '0');

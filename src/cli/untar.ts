/**
 * Reads a tar archive (POSIX ustar) as it arrives, member by member. It accepts plain files with plain names only: no
 * directories, links, paths or extensions. An archive that is truncated, has a wrong checksum or has bytes after its
 * end is refused with an ArchiveError, so that half an archive is never taken for a whole one.
 */
const BLOCK_BYTES = 512;
const PLAIN_FILES = ['0', '\0'];

export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}

export interface ArchiveMember {
  readonly name: string;
  readonly bytes: number;
  /** Must be read before the next member is requested; the rest is skipped then. */
  readonly content: AsyncIterable<Uint8Array>;
}

export async function* untar(archive: AsyncIterable<Uint8Array>): AsyncGenerator<ArchiveMember> {
  const source = new Source(archive);
  try {
    for (;;) {
      const header = await source.block('between two files');
      if (isZero(header)) break;
      const { name, bytes } = readHeader(header);
      let left = bytes;
      const content = async function* (): AsyncGenerator<Uint8Array> {
        while (left > 0) {
          const piece = await source.some(left);
          if (piece === null) throw new ArchiveError(`The archive ends in the middle of ${name}.`);
          left -= piece.length;
          yield piece;
        }
      };
      yield { name, bytes, content: content() };
      for await (const _ of content());
      const padding = (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;
      if (padding > 0) await source.exactly(padding, `behind ${name}`);
    }
    await source.assertEnd();
  } finally {
    await source.close();
  }
}

function readHeader(header: Buffer): { readonly name: string; readonly bytes: number } {
  const sum = header.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  if (numberAt(header, 148, 8) !== sum)
    throw new ArchiveError('The archive is damaged: a header has changed.');
  if (textAt(header, 257, 6) !== 'ustar') throw new ArchiveError('The archive is not in the ustar format.');
  const name = textAt(header, 0, 100);
  const isPlain =
    PLAIN_FILES.includes(header.toString('latin1', 156, 157)) && textAt(header, 345, 155) === '';
  if (!isPlain || name === '' || name === '.' || name === '..' || /[/\\\p{Cc}]/u.test(name)) {
    throw new ArchiveError(
      `The archive holds ${JSON.stringify(name)}, which is no plain file with a plain name.`,
    );
  }
  return { name, bytes: numberAt(header, 124, 12) };
}

/** Text up to the first NUL. */
function textAt(header: Buffer, at: number, length: number): string {
  const field = header.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? length : end);
}

function numberAt(header: Buffer, at: number, length: number): number {
  const digits = textAt(header, at, length).trim();
  if (!/^[0-7]+$/.test(digits)) throw new ArchiveError('The archive is damaged: a header is not readable.');
  return Number.parseInt(digits, 8);
}

const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);

/** The bytes of the archive, in pieces of the size the reader asks for. */
class Source {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(archive: AsyncIterable<Uint8Array>) {
    this.#pieces = archive[Symbol.asyncIterator]();
  }

  /** At most `bytesMax` bytes, and at least one; null at the end. */
  async some(bytesMax: number): Promise<Buffer | null> {
    while (this.#rest.length === 0) {
      const next = await this.#pieces.next();
      if (next.done) return null;
      const { buffer, byteOffset, byteLength } = next.value;
      this.#rest = Buffer.from(buffer, byteOffset, byteLength);
    }
    const piece = this.#rest.subarray(0, bytesMax);
    this.#rest = this.#rest.subarray(piece.length);
    return piece;
  }

  async exactly(bytes: number, where: string): Promise<Buffer> {
    const found = Buffer.alloc(bytes);
    for (let at = 0; at < bytes; ) {
      const piece = await this.some(bytes - at);
      if (piece === null) throw new ArchiveError(`The archive ends ${where}.`);
      at += piece.copy(found, at);
    }
    return found;
  }

  block(where: string): Promise<Buffer> {
    return this.exactly(BLOCK_BYTES, where);
  }

  /** After the first block of zeros come a second one and only zeros. */
  async assertEnd(): Promise<void> {
    let rest: Buffer | null = await this.block('before its end');
    for (; rest !== null; rest = await this.some(BLOCK_BYTES)) {
      if (!isZero(rest)) throw new ArchiveError('The archive has bytes after its end.');
    }
  }

  async close(): Promise<void> {
    await this.#pieces.return?.();
  }
}

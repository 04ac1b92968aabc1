/**
 * Opaque bytes: payloads, results, values and metadata. The rules never look inside them. While a
 * command is being decided the bytes travel along; once the log has taken them, only the place where
 * the log can find them again is kept, so that they cost the state twenty bytes and not their length.
 */
export interface Opaque {
  /** The bytes themselves, while the command that carries them is decided and written. */
  bytes: Uint8Array | null;
  /** Where the log keeps them; meaningless until their entry is in a batch. */
  at: number;
  length: number;
  /** CRC-32 of the bytes; the log checks it at every read. */
  crc: number;
}

/** The position of an empty opaque, which lies in no file. */
export const NOWHERE = 0;

/** Bytes that are in no log yet, with their CRC-32. */
export function opaque(bytes: Uint8Array, crc: number): Opaque {
  return { bytes, at: -1, length: bytes.length, crc };
}

/**
 * Opaque bytes: payloads, results, values and metadata. The rules never look inside them. While a
 * command is being decided the bytes travel along; once the log has taken them, only the place where
 * the log can find them again is kept, so that they cost the state twenty bytes and not their length.
 */
export interface Opaque {
  /** The bytes themselves, as long as somebody on the way still needs them. */
  bytes: Uint8Array | null;
  /** Where the log keeps them; meaningless until the log has taken the entry. */
  at: number;
  length: number;
  /** CRC-32 of the bytes; the log fills it in and checks it at every read. */
  crc: number;
}

/** Bytes that no log has taken yet. */
export function opaque(bytes: Uint8Array): Opaque {
  return { bytes, at: -1, length: bytes.length, crc: 0 };
}

/**
 * Opaque bytes: payloads, results, values and metadata. The rules never look inside them. The bytes are in memory
 * while their command is decided and written; afterwards only their place in the log is kept, so that they cost
 * the state twenty bytes, whatever their length.
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

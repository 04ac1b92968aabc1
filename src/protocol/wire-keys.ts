/** The keys that come often on the wire, each with a number, so that a reader recognises them without making strings. */

/** The fields that belong to the user; they come first in the table of keys. */
const OPAQUE_KEYS = ['payload', 'result', 'value', 'metadata', 'late_result'] as const;

/** The ids of those are below it. */
export const OPAQUE_END = OPAQUE_KEYS.length;

/** Keys that come often. Any other key is read all the same, only slower; two masks of 32 bits hold what has been seen. */
export const KEYS: readonly string[] = [
  ...OPAQUE_KEYS,
  ...['op', 'ops', 'results', 'status', 'body', 'seq', 'at', 'type', 'duplicate'],
  ...['task_id', 'queue', 'priority', 'delay_ms', 'dedup_key', 'state', 'attempt', 'created_at', 'due_at'],
  ...['worker_id', 'queues', 'max', 'ttl_ms', 'wait_ms', 'request_id', 'leases', 'lease_id', 'lease_seq'],
  ...['expiry_timestamp', 'expires_at', 'remaining_ms', 'outcome', 'cause', 'reason', 'extended', 'lost'],
  ...['name', 'names', 'holder', 'token', 'acquired_at', 'released', 'prefix'],
  ...['object_id', 'lease', 'writes', 'if_version', 'version', 'holder_id'],
  ...['title', 'detail', 'instance', 'code', 'requestId'],
];
export const KEYS_MAX = 64;
export const UNKNOWN = -1;

export const SLOTS = 512;
export const KEY_CODES = KEYS.map((key) => Uint8Array.from(key, (character) => character.charCodeAt(0)));
/** As they stand in an object, behind a comma: texts that are joined in advance are cheap to join. */
export const KEY_TEXTS = new Map(KEYS.map((key) => [key, `,"${key}":`]));
export const KEY_IDS = new Map(KEYS.map((key, id) => [key, id]));
/** A hash table of the keys: 0 for nothing, otherwise the key's id + 1. */
export const slots = new Uint8Array(SLOTS);
for (const [id, codes] of KEY_CODES.entries()) {
  let slot = slotOf(codes, 0, codes.length);
  while (slots[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
  slots[slot] = id + 1;
}

export function slotOf(source: Uint8Array, from: number, length: number): number {
  const ends = source[from]! * 31 + source[from + length - 1]! * 7;
  return (length * 131 + ends + source[from + (length >> 1)]! * 3) & (SLOTS - 1);
}

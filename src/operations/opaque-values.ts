/** Opaque values of a request become part of a command: within their limits, valid JSON, in bytes that the caller cannot change. */
import { crc32 } from 'node:zlib';
import { type Opaque, opaque } from '../core/opaque.ts';
import type { Refusal } from '../core/refusals.ts';
import { Json } from '../protocol/json.ts';
import { LIMITS } from '../protocol/limits.ts';
import { DEPTH_MAX, isTooDeep } from '../protocol/read-json.ts';

/** Opaque bytes within their limit, or the refusal. */
export function wrap(field: string, value: unknown, bytesMax: number = LIMITS.opaqueBytes): Opaque | Refusal {
  let json: Json;
  try {
    json = value instanceof Json ? owned(value) : Json.of(value);
    // Bytes that are not JSON or not UTF-8 would become durable and break every list that contains them.
    if (!json.isChecked) json.parse();
  } catch {
    return { refused: 'INVALID_ARGUMENT', detail: `The ${field} has no JSON form.` };
  }
  const bytes = bytesOf(json);
  if (!json.isShallow && isTooDeep(bytes)) {
    return { refused: 'INVALID_ARGUMENT', detail: `The ${field} is nested more than ${DEPTH_MAX} deep.` };
  }
  if (bytes.length <= bytesMax) return opaqueOf(bytes);
  const detail = `The ${field} has ${bytes.length} bytes; ${bytesMax} are allowed.`;
  return { refused: 'PAYLOAD_TOO_LARGE', detail };
}

/** Bytes as the log stores them, with their checksum. */
export function opaqueOf(bytes: Uint8Array): Opaque {
  return opaque(bytes, crc32(bytes));
}

/** A caller in process may change its bytes before they are written; bytes from the wire have no other owner. */
function owned(json: Json): Json {
  return json.isChecked || json.isText ? json : new Json(Buffer.from(json.bytes));
}

/** Buffer.from allocates short texts from a pool; a TextEncoder does not. */
function bytesOf(json: Json): Uint8Array {
  return json.isText ? Buffer.from(json.text()) : json.bytes;
}

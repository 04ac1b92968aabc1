/** Opaque values in requests of a live connection: strings that hold JSON become `Json`, or the request is refused. */
import { invalid } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { Json } from '../protocol/json.ts';
import { LIMITS } from '../protocol/limits.ts';
import { isOpaqueField } from '../protocol/read-json.ts';
import type { Fields } from './request-bytes.ts';

const TOO_LARGE: Refusal = {
  refused: 'PAYLOAD_TOO_LARGE',
  detail: `The values of one operation may have at most ${LIMITS.bodyBytes} bytes together.`,
};

/** Changes the request in place: it has no other owner. Returns the refusal, or null. */
export function readOpaque(request: Fields): Refusal | null {
  const left = { length: LIMITS.bodyBytes };
  const refusal = readFields(request, '', left);
  if (refusal !== null || !Array.isArray(request.writes)) return refusal;
  for (const [index, write] of (request.writes as unknown[]).entries()) {
    if (typeof write !== 'object' || write === null) continue;
    const wrong = readFields(write as Fields, `writes.${index}.`, left);
    if (wrong !== null) return wrong;
  }
  return null;
}

function readFields(fields: Fields, within: string, left: { length: number }): Refusal | null {
  for (const field in fields) {
    if (!isOpaqueField(field)) continue;
    const text = fields[field];
    const json = typeof text === 'string' ? jsonOf(text) : null;
    if (json === null) {
      return invalid(`The field ${within}${field} must be a string that holds the text of a JSON value.`);
    }
    // Counts characters. Where bytes exceed them, the limit of each value still holds.
    left.length -= (text as string).length;
    if (left.length < 0) return TOO_LARGE;
    fields[field] = json;
  }
  return null;
}

/** Null if it is not JSON, or has a lone surrogate, which has no UTF-8. */
function jsonOf(text: string): Json | null {
  try {
    return (text as string & { isWellFormed(): boolean }).isWellFormed() ? Json.text(text) : null;
  } catch {
    return null;
  }
}

/** Converts bodies that pass between the thread of the time machine and the server. */
import { Json } from '../protocol/json.ts';

/** A `Json` cannot be sent to another thread, but its bytes can. No body contains any other bytes. */
export function withBytes(value: unknown): unknown {
  return mapped(value, (item) => (item instanceof Json ? item.bytes : item));
}

export function withJson(value: unknown): unknown {
  return mapped(value, (item) => (item instanceof Uint8Array ? new Json(item) : item));
}

function mapped(value: unknown, change: (item: object) => object): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const changed = change(value);
  if (changed !== value) return changed;
  if (Array.isArray(value)) return value.map((item) => mapped(item, change));
  return Object.fromEntries(Object.entries(value).map(([field, item]) => [field, mapped(item, change)]));
}

/** Writes bodies as JSON. Opaque values are copied byte for byte. `ok` is for callers in process and is not sent. */
import { Json, jsonText, wireText } from '../protocol/json.ts';

/** Removes `ok` from the body in place: the body is written once, and no caller in process has it by then. */
export function bodyText(body: object): string {
  return wireText(withoutOk(body));
}

/** JSON.stringify leaves out undefined fields. */
export function withoutOk(body: object): object {
  (body as { ok: boolean | undefined }).ok = undefined;
  return body;
}

/** A copy without opaque values, for callers that may not see them. */
export function withoutOpaques<T>(value: T): T;
export function withoutOpaques(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutOpaques(item));
  if (typeof value !== 'object' || value === null) return value;
  const shown: Record<string, unknown> = {};
  for (const [field, item] of Object.entries(value))
    if (!(item instanceof Json)) shown[field] = withoutOpaques(item);
  return shown;
}

/** The opaque fields of entries. */
const OPAQUE_FIELDS = ['payload', 'result', 'late_result', 'value', 'metadata'];

/** The text of an entry without its opaque values. */
export function entryTextWithoutOpaques(text: string): string {
  const entry = JSON.parse(text) as Record<string, unknown> & { writes?: Record<string, unknown>[] };
  for (const holder of [entry, ...(entry.writes ?? [])])
    for (const field of OPAQUE_FIELDS) delete holder[field];
  return jsonText(entry);
}

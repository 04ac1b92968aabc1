/** Bodies as JSON. Opaque values stand in them as they came in. `ok` is for callers in process and does not travel. */
import { Json, jsonText, wireText } from '../protocol/json.ts';

/** The body loses its `ok`: it is written once, and by then no caller in process has it. */
export function bodyText(body: object): string {
  return wireText(withoutOk(body));
}

/** The built-in printer leaves out what is undefined. */
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

/** The fields of entries that are opaque. */
const OPAQUE_FIELDS = ['payload', 'result', 'late_result', 'value', 'metadata'];

/** The same for the text of an entry. */
export function entryTextWithoutOpaques(text: string): string {
  const entry = JSON.parse(text) as Record<string, unknown> & { writes?: Record<string, unknown>[] };
  for (const holder of [entry, ...(entry.writes ?? [])])
    for (const field of OPAQUE_FIELDS) delete holder[field];
  return jsonText(entry);
}

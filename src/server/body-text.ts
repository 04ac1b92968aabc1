/** Bodies as JSON. Opaque values stand in them as they came in. `ok` is for callers in process and does not travel. */
import { wireText } from '../protocol/json.ts';

/** The body loses its `ok`: it is written once, and by then no caller in process has it. */
export function bodyText(body: object): string {
  return wireText(withoutOk(body));
}

/** The built-in printer leaves out what is undefined. */
export function withoutOk(body: object): object {
  (body as { ok: boolean | undefined }).ok = undefined;
  return body;
}

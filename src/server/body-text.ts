/** Bodies as JSON. Opaque values stand in them as they came in. `ok` is for callers in process and does not travel. */
import { OPAQUE } from '../operations/fields.ts';
import { type Operation, operationOf } from '../operations/table.ts';
import { jsonText } from '../protocol/json.ts';

const OK = '{"ok":true,';

export type BodyText = (body: object) => string;

/** Looked up once for a route, and not with every reply. Without opaque values the built-in way is faster. */
export function bodyText(operation: Operation): BodyText {
  const text = holdsOpaque(operationOf(operation).reply) ? jsonText : JSON.stringify;
  return (body) => withoutOk(text(body));
}

/** Whether a reply can hold values that belong to the user. */
function holdsOpaque(schema: object): boolean {
  if (OPAQUE in schema) return true;
  return Object.values(schema).some((part) => typeof part === 'object' && part !== null && holdsOpaque(part));
}

function withoutOk(text: string): string {
  return text.startsWith(OK) ? `{${text.slice(OK.length)}` : text;
}

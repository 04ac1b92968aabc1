/** An entry as one line of JSON. Opaque values keep their own text, so that no number is rounded. */
import { Json } from '../../browser.ts';

export function jsonOf(value: unknown): string {
  if (value instanceof Json) return value.text();
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${jsonOf(field)}`).join(',')}}`;
}

/** From method and path to the operation of the table and the fields in its path, as the server's router does it. */
import { OPERATIONS, type Operation } from '../../../src/operations/table.ts';

interface Pattern {
  readonly operation: Operation;
  readonly parts: readonly string[];
  readonly literals: number;
}

export interface Routed {
  readonly operation: Operation;
  readonly params: Record<string, string>;
  readonly query: Record<string, string>;
}

const PATTERNS = new Map<string, Pattern[]>();
for (const operation of Object.keys(OPERATIONS) as Operation[]) {
  const { method, path } = OPERATIONS[operation];
  const parts = path.split('/');
  const key = `${method} ${parts.length}`;
  const literals = parts.filter((part) => !part.startsWith('{')).length;
  PATTERNS.set(key, [...(PATTERNS.get(key) ?? []), { operation, parts, literals }]);
}
for (const patterns of PATTERNS.values()) patterns.sort((a, b) => b.literals - a.literals);

export function routeOf(method: string, url: string): Routed | null {
  const [path = '', search = ''] = url.split('?', 2);
  const given = path.split('/');
  for (const { operation, parts } of PATTERNS.get(`${method} ${given.length}`) ?? []) {
    if (!parts.every((part, index) => part.startsWith('{') || part === given[index])) continue;
    const params: Record<string, string> = {};
    for (const [index, part] of parts.entries()) {
      if (part.startsWith('{')) params[part.slice(1, -1)] = decodeURIComponent(given[index]!);
    }
    return { operation, params, query: Object.fromEntries(new URLSearchParams(search)) };
  }
  return null;
}

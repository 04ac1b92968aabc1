/** What commands print: one JSON value a line, or text and tables. */
import { jsonText, onOneLine } from '../protocol/json.ts';
import { type Paint, paintFor, tableLines } from './format.ts';
import type { Shell } from './shell.ts';

export function print(value: unknown): void {
  process.stdout.write(`${onOneLine(jsonText(value))}\n`);
}

export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  for (const line of tableLines([head, ...rows])) console.log(line);
}

/** A reply as on the wire: `ok` only tells it from a problem inside the program. */
export function sayJson({ out }: Shell, value: object): void {
  const { ok: _ok, ...body } = value as { readonly ok?: true };
  out.write(`${jsonText(body)}\n`);
}

/** One object of a list, as one line. */
export function sayJsonLine({ out }: Shell, item: object): void {
  out.write(`${onOneLine(jsonText(item))}\n`);
}

export function sayLines({ out }: Shell, lines: readonly string[]): void {
  if (lines.length > 0) out.write(`${lines.join('\n')}\n`);
}

export function paintOf({ out, env }: Shell): Paint {
  return paintFor(out.isTerminal, env);
}

/** A reply as one JSON object, or as lines of text. */
export function show(
  shell: Shell,
  { json }: { readonly json?: boolean },
  reply: object,
  lines: (paint: Paint) => readonly string[],
): void {
  if (json) sayJson(shell, reply);
  else sayLines(shell, lines(paintOf(shell)));
}

/** The layout of a list: its head, and the cells of each item. */
export interface Columns<T> {
  readonly head: readonly string[];
  readonly cells: (item: T, paint: Paint) => readonly string[];
  /** Printed instead of an empty table. */
  readonly none: string;
}

/** Items as NDJSON or as a table, page by page as they arrive. */
export async function showList<T extends object>(
  shell: Shell,
  { json }: { readonly json?: boolean },
  pages: Iterable<readonly T[]> | AsyncIterable<readonly T[]>,
  columns: Columns<T>,
): Promise<void> {
  const paint = paintOf(shell);
  let isEmpty = true;
  for await (const items of pages) {
    if (items.length === 0) continue;
    if (json) for (const item of items) sayJsonLine(shell, item);
    else {
      const rows = items.map((item) => columns.cells(item, paint));
      const head = columns.head.map(paint.dim);
      sayLines(shell, tableLines(isEmpty ? [head, ...rows] : rows));
    }
    isEmpty = false;
  }
  if (isEmpty && !json) sayLines(shell, [columns.none]);
}

/** The pages of a list, following its cursor until `limit` items have arrived. */
export async function* pagesOf<T>(
  limit: number,
  ask: (request: { limit: number; cursor?: string }) => Promise<{
    readonly items: readonly T[];
    readonly next: string | undefined;
  }>,
): AsyncGenerator<readonly T[]> {
  let cursor: string | undefined;
  for (let left = limit; left > 0; ) {
    const page = await ask({
      limit: Math.min(left, PAGE_ITEMS),
      ...(cursor === undefined ? {} : { cursor }),
    });
    yield page.items;
    left -= page.items.length;
    if (page.next === undefined) return;
    cursor = page.next;
  }
}

/** Records carry their payloads, so a page of a thousand could be large. */
const PAGE_ITEMS = 200;

/** What commands print: one JSON value a line, or a table that lines up. */
import { jsonText } from '../embedded/json.ts';

export function print(value: unknown): void {
  process.stdout.write(`${jsonText(value)}\n`);
}

export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  for (const row of all) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}

/** Log entries as text: position, time, type, and the rest as `field=value`. */

import type { EntryRecord } from '../operations/records.ts';
import { Json } from '../protocol/json.ts';
import { type Paint, shortened, visible } from './format.ts';
import type { Columns } from './output.ts';

/** Payloads may be large and are cut; `--json` prints them whole. */
const VALUE_COLUMNS = 60;

export const ENTRY_COLUMNS: Columns<EntryRecord> = {
  head: ['SEQ', 'AT', 'TYPE', 'WHAT'],
  cells: ({ seq, at, type, ...rest }, paint) => [
    String(seq),
    paint.dim(at),
    paint.bold(visible(type)),
    fields(rest, paint),
  ],
  none: 'The log has no such entries.',
};

function fields(rest: Readonly<Record<string, unknown>>, paint: Paint): string {
  return Object.entries(rest)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${paint.dim(`${name}=`)}${shortened(visible(textOf(value)), VALUE_COLUMNS)}`)
    .join(' ');
}

function textOf(value: unknown): string {
  if (value instanceof Json) return value.text();
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** One entry as one line. Entries that arrive one by one have no aligned columns. */
export function entryLine(entry: EntryRecord, paint: Paint): string {
  return ENTRY_COLUMNS.cells(entry, paint).join('  ');
}

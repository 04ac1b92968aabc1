/** Log entries as bodies: `{seq, at, type, …}` with their opaque bytes read. */

import { opaquesOf } from '../core/entry-opaques.ts';
import { entryToJson } from '../core/entry-to-json.ts';
import type { Log, LoggedEntry } from '../engines/log.ts';
import { instant } from '../protocol/instant.ts';
import type { EntryRecord } from './histories.ts';
import { openAll } from './opening.ts';

export function entryBodies(log: Pick<Log, 'read'>, entries: readonly LoggedEntry[]): Promise<EntryRecord[]> {
  return Promise.all(entries.map((logged) => entryBody(log, logged)));
}

export async function entryBody(
  log: Pick<Log, 'read'>,
  { seq, atMs, entry }: LoggedEntry,
): Promise<EntryRecord> {
  const open = await openAll(log, opaquesOf(entry));
  return { seq, at: instant(atMs), ...entryToJson(entry, seq, atMs, { instant, open }) };
}

/** Reads the bytes of several references at once and returns a look-up for them. */
import type { Room } from '../authority/request.ts';
import type { Opaque } from '../core/opaque.ts';
import type { Log } from '../engines/log.ts';
import { Json } from '../protocol/json.ts';

/** Opaque bytes that have been read already; null when they were damaged. */
export type OpenedBytes = (reference: Opaque) => Json | null;

export async function openAll(
  log: Pick<Log, 'read'>,
  references: readonly (Opaque | null)[],
  room?: Room,
): Promise<OpenedBytes> {
  const turn = room?.for(references.reduce((sum, reference) => sum + (reference?.length ?? 0), 0)) ?? null;
  if (turn !== null) await turn;
  const opened = new Map<number, Json | null>();
  for (const reference of references) {
    if (reference === null) continue;
    const bytes = reference.bytes ?? (await log.read(reference));
    opened.set(reference.at, bytes === null ? null : new Json(bytes));
  }
  return (reference) => opened.get(reference.at) ?? null;
}

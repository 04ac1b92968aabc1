// For tests of logs: entries, a listener that remembers what was replayed, and batches.

import { Batch } from '../../src/core/batch.ts';
import type { Entry } from '../../src/core/entries.ts';
import type { ImageRecord } from '../../src/core/image.ts';
import type { Opaque } from '../../src/core/opaque.ts';
import type { Engine, Log, LoggedEntry, Replay } from '../../src/engines/log.ts';
import { opaqueOf } from '../../src/operations/opaque-values.ts';
import { taskCreatedEntry } from './task-created.ts';

export const payloadText = (seed: number, length = 24): string =>
  JSON.stringify(`${seed}:`.padEnd(Math.max(0, length - 2), 'x'));

/** A task with a unique payload. */
export function taskCreated(seq: number, length?: number): Entry {
  return taskCreatedEntry({
    task: seq,
    dueAtMs: 1_000,
    payload: opaqueOf(Buffer.from(payloadText(seq, length))),
  });
}

export const queuePaused = (seq: number): Entry => ({ type: 'QueuePaused', queue: `queue-${seq}` });

/** What a log replayed while it was opened. */
export class Heard implements Replay {
  readonly images: ImageRecord[] = [];
  readonly logged: LoggedEntry[] = [];

  image(record: ImageRecord): void {
    this.images.push(record);
  }

  entry(entry: Entry, seq: number, atMs: number): void {
    this.logged.push({ seq, atMs, entry });
  }

  get seqs(): number[] {
    return this.logged.map(({ seq }) => seq);
  }
}

export async function openHeard(engine: Engine): Promise<{ log: Log; heard: Heard }> {
  const heard = new Heard();
  const log = await engine.open(heard);
  return { log, heard };
}

/** Appends a batch of entries made from their own `seq`. */
export async function appendBatch(
  log: Log,
  count: number,
  make: (seq: number) => Entry = taskCreated,
): Promise<Entry[]> {
  const firstSeq = log.position.lastSeq + 1;
  const batch = new Batch();
  batch.begin(log.areaAt);
  log.begin(firstSeq, atMsOf(firstSeq));
  const entries: Entry[] = [];
  for (let seq = firstSeq; seq < firstSeq + count; seq++) {
    const entry = make(seq);
    batch.add(entry, seq, atMsOf(firstSeq), 0);
    log.add(entry);
    entries.push(entry);
  }
  await log.append();
  return entries;
}

export const atMsOf = (seq: number): number => 1_700_000_000_000 + seq;

export async function collect(entries: AsyncIterable<LoggedEntry>): Promise<LoggedEntry[]> {
  const found: LoggedEntry[] = [];
  for await (const logged of entries) found.push(logged);
  return found;
}

export function payloadOf(entry: Entry): Opaque {
  if (entry.type !== 'TaskCreated') throw new Error(`${entry.type} has no payload.`);
  return entry.payload;
}

/** The text behind a reference; null when it is damaged. */
export async function readText(log: Log, reference: Opaque): Promise<string | null> {
  const bytes = await log.read({ ...reference, bytes: null });
  return bytes === null ? null : Buffer.from(bytes).toString('utf8');
}

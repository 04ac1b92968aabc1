/**
 * The schedules by name, and which of them fires first. There are thousands at most, so plain objects in a map will do;
 * the first one is searched again only after a change. Their payloads are kept in memory, because a firing copies its
 * payload into the log without waiting; `PAYLOADS_BYTES_MAX` bounds them. After a replay they are read from the log.
 */
import type { ScheduleSet } from '../entries.ts';
import type { Opaque } from '../opaque.ts';
import { type Schedule, scheduleOf } from '../row-objects.ts';
import type { Seq } from '../row-types.ts';

export type { Schedule };

/** The maximum size of the payloads of all schedules together. */
export const PAYLOADS_BYTES_MAX = 64 * 1024 * 1024;

export class ScheduleTable {
  private readonly byName = new Map<string, Schedule>();
  /** When the first of them fires; null when it must be computed again. */
  private firstMs: number | null = Number.POSITIVE_INFINITY;
  payloadBytes = 0;

  get size(): number {
    return this.byName.size;
  }

  find(name: string): Schedule | undefined {
    return this.byName.get(name);
  }

  all(): IterableIterator<Schedule> {
    return this.byName.values();
  }

  /** By name, because the order of creation is not part of the state. */
  sorted(): Schedule[] {
    return [...this.byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  put(schedule: Schedule): void {
    this.remove(schedule.name);
    this.byName.set(schedule.name, schedule);
    this.payloadBytes += schedule.payload?.length ?? 0;
    this.changed();
  }

  remove(name: string): void {
    this.payloadBytes -= this.byName.get(name)?.payload?.length ?? 0;
    this.byName.delete(name);
    this.changed();
  }

  /** The time at which one of them fires has changed. */
  changed(): void {
    this.firstMs = null;
  }

  /** When the first of them fires; Infinity when none does. */
  nextFiresAtMs(): number {
    if (this.firstMs === null) {
      this.firstMs = Number.POSITIVE_INFINITY;
      for (const { nextFiresAtMs } of this.byName.values()) {
        if (nextFiresAtMs !== null && nextFiresAtMs < this.firstMs) this.firstMs = nextFiresAtMs;
      }
    }
    return this.firstMs;
  }

  /** Those that fire by `nowMs`, earliest first. */
  due(nowMs: number): Schedule[] {
    if (this.nextFiresAtMs() > nowMs) return [];
    return [...this.byName.values()]
      .filter(({ nextFiresAtMs }) => nextFiresAtMs !== null && nextFiresAtMs <= nowMs)
      .sort((a, b) => a.nextFiresAtMs! - b.nextFiresAtMs! || (a.name < b.name ? -1 : 1));
  }
}

/** A schedule after the entry that sets it, new or not. */
export function scheduleAfter(
  before: Schedule | undefined,
  entry: ScheduleSet,
  seq: Seq,
  atMs: number,
): Schedule {
  return scheduleOf({
    kind: 'schedule',
    ...entry,
    payload: entry.payload === null ? before!.payload : copyOf(entry.payload),
    createdSeq: before?.createdSeq ?? seq,
    createdAtMs: before?.createdAtMs ?? atMs,
    setSeq: seq,
    lastSeq: seq,
    lastDueAtMs: before?.lastDueAtMs ?? 0,
    lastTaskId: before?.lastTaskId ?? '',
    requestIds: before?.requestIds ?? [],
    requestSeqs: before?.requestSeqs ?? [],
  });
}

/** Copies the bytes, because those of a request are part of a larger buffer. */
function copyOf({ bytes, at, length, crc }: Opaque): Opaque {
  return { bytes: bytes === null ? null : bytes.slice(), at, length, crc };
}

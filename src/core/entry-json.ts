/**
 * Entries as people read them: the seeds' field names, instants as ISO 8601, ids as on the wire. Opaque
 * bytes are shown by their length, unless `open` gives their text.
 */
import type { Entry, Intent, QueueLimited, TaskCreated, TaskKey } from './entries.ts';
import { taskIdOfSeq } from './ids.ts';
import type { Opaque } from './opaque.ts';

export type EntryJson = Record<string, unknown> & { type: Entry['type'] };

export interface Rendering {
  /** Milliseconds to ISO 8601. */
  readonly instant: (ms: number) => string;
  /** The value that represents opaque bytes in the output. */
  readonly open: (reference: Opaque) => unknown;
}

export function taskIdOfKey(task: TaskKey): string {
  return typeof task === 'number' ? taskIdOfSeq(task) : task;
}

/** The target has the same field name as in the request. */
export function intentToJson({ type, target, profileId, startMs }: Intent) {
  return type === 'live'
    ? { type, serviceRef: target, profileID: profileId }
    : { type, recordingID: target, profileID: profileId, start_ms: startMs };
}

/** The trace context of a task as its creator gave it. */
export function traceToJson({ traceparent, tracestate }: Pick<TaskCreated, 'traceparent' | 'tracestate'>) {
  return { traceparent: traceparent!, ...(tracestate === null ? {} : { tracestate }) };
}

/** The rate of a queue as it was set; null when it has none. */
export function rateToJson({
  rateCount,
  ratePerMs,
  ratePerKey,
}: Pick<QueueLimited, 'rateCount' | 'ratePerMs' | 'ratePerKey'>) {
  return rateCount === null ? null : { count: rateCount, per_ms: ratePerMs!, per_key: ratePerKey };
}

export function hex(latin1: string): string {
  let text = '';
  for (let index = 0; index < latin1.length; index++) {
    text += latin1.charCodeAt(index).toString(16).padStart(2, '0');
  }
  return text;
}

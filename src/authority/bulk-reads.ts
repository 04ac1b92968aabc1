/**
 * Finds the tasks of a bulk call: no more than fit into one operation of the log, within a bounded number of rows. The
 * command decides about them later, when their payloads have been read.
 */
import { isMeant } from '../core/bulk-tasks.ts';
import type { BulkAction, BulkPosition } from '../core/commands.ts';
import { type TaskFilter, walkTasks } from '../core/list-tasks.ts';
import type { Opaque } from '../core/opaque.ts';
import type { Seq, TaskRow } from '../core/row-types.ts';
import type { State } from '../core/state.ts';
import { page, type ReadView } from './reads.ts';

/**
 * A call ends once its entries have this size. Together with the last task, and with leases for workers that wait for the
 * tasks, they stay below what one operation may write (1.5 MiB).
 */
const BYTES_A_CALL = 512 * 1024;
/** Numeric fields of an entry. */
const NUMBERS_BYTES = 64;
/** UTF-8 bytes per character of a string, at most. */
const CHARACTER_BYTES = 3;

export interface BulkSearch {
  readonly action: BulkAction;
  readonly filter: TaskFilter;
  readonly max: number;
  /** The texts of the request that each entry repeats. */
  readonly text: string;
}

export interface BulkCandidate {
  readonly taskId: string;
  readonly createdSeq: Seq;
  readonly payload: Opaque;
}

export interface BulkCandidates {
  readonly tasks: readonly BulkCandidate[];
  readonly from: BulkPosition;
  readonly next: BulkPosition | null;
}

/** `from`: null for the first call, which fixes the position up to which tasks are searched. */
export function bulkCandidates(
  machine: ReadView,
  { action, filter, max, text }: BulkSearch,
  from: BulkPosition | null,
): BulkCandidates {
  const { state } = machine;
  const { tasks } = state;
  const { afterSeq, untilSeq } = from ?? { afterSeq: 0, untilSeq: state.lastSeq };
  const { items, next } = page({
    after: afterSeq === 0 ? null : afterSeq,
    limit: max,
    bytesMax: BYTES_A_CALL,
    walk: (position) => until(state, walkTasks(state, filter, 'oldest', position), untilSeq),
    positionOf: (row) => tasks.createdSeq.get(row),
    matches(row) {
      machine.expireTaskRow(row);
      return isMeant(state, row, action, filter);
    },
    show: (row) => row,
    bytesOf: (row) => entryBytes(state, row, action, text),
  });
  return {
    tasks: items.map((row) => ({
      taskId: tasks.idOf(row),
      createdSeq: tasks.createdSeq.get(row),
      payload: tasks.payload.get(row)!,
    })),
    from: { afterSeq, untilSeq },
    next: next === null ? null : { afterSeq: next, untilSeq },
  };
}

function* until({ tasks }: State, rows: Generator<TaskRow>, untilSeq: Seq): Generator<TaskRow> {
  for (const row of rows) {
    if (tasks.createdSeq.get(row) > untilSeq) return;
    yield row;
  }
}

/** An upper bound for the entry about a task. */
function entryBytes({ tasks }: State, row: TaskRow, action: BulkAction, text: string): number {
  const key = tasks.groupKey.get(row) ?? '';
  // A new task has its own id and that of the old one.
  const characters = text.length + 2 * tasks.idOf(row).length + tasks.queueNameOf(row).length + key.length;
  const payloadBytes = action === 'requeue' ? tasks.payload.get(row)!.length : 0;
  return NUMBERS_BYTES + CHARACTER_BYTES * characters + payloadBytes;
}

/**
 * A queue: which task is next. Higher priority first, then order of creation: a task that is released or
 * retried keeps its place. Each priority is a lane: new tasks at the end of a list, returned tasks in a heap
 * beside it, because they belong before the end of the list. All of it is derived from the tasks.
 */
import type { Seq, TaskRow } from './row-types.ts';
import { StateLists } from './state-lists.ts';
import type { Float64Column, Int32Column } from './tables/columns.ts';
import { RowHeap } from './tables/row-heap.ts';
import { RowList } from './tables/row-list.ts';

interface Lane {
  readonly priority: number;
  readonly list: RowList<TaskRow>;
  returned: RowHeap<TaskRow> | null;
}

/** The columns of the task table that lanes share. */
export interface LaneColumns {
  readonly before: Int32Column<TaskRow, TaskRow>;
  readonly after: Int32Column<TaskRow, TaskRow>;
  readonly heapPosition: Int32Column<TaskRow>;
  readonly createdSeq: Float64Column<TaskRow, Seq>;
}

export class Queue {
  readonly name: string;
  readonly index: number;
  paused = false;
  /** How many WAITING tasks are not due yet: after a failure, and for any other reason. */
  backingOff = 0;
  delayed = 0;
  /** All tasks of the queue, by state. */
  readonly lists: StateLists;
  /** Highest priority first. */
  private readonly lanes: Lane[] = [];
  private readonly columns: LaneColumns;

  constructor(name: string, index: number, columns: LaneColumns) {
    this.name = name;
    this.index = index;
    this.columns = columns;
    this.lists = new StateLists(columns.createdSeq);
  }

  /** Whether it has neither tasks nor a pause, and can be dropped. */
  get idle(): boolean {
    return !this.paused && this.lists.isEmpty;
  }

  /** The task to lease next, 0 when there is none. */
  next(): TaskRow | 0 {
    const lane = this.lanes[0];
    if (lane === undefined) return 0;
    const first = lane.list.first;
    const returned = lane.returned;
    if (returned === null || returned.size === 0) return first;
    if (first === 0 || returned.topKey() < this.columns.createdSeq.get(first)) return returned.topRow();
    return first;
  }

  /** How many tasks could be leased now. */
  get ready(): number {
    return this.lists.count('WAITING') - this.delayed - this.backingOff;
  }

  /** The first task of each lane, and the first of its returned tasks. */
  *heads(): Generator<TaskRow> {
    for (const { list, returned } of this.lanes) {
      if (list.first !== 0) yield list.first;
      if (returned !== null && returned.size > 0) yield returned.topRow();
    }
  }

  add(row: TaskRow, priority: number): void {
    const lane = this.lane(priority);
    const createdSeq = this.columns.createdSeq.get(row);
    const last = lane.list.last;
    if (last === 0 || this.columns.createdSeq.get(last) < createdSeq) {
      lane.list.append(row);
      return;
    }
    lane.returned ??= new RowHeap<TaskRow>(this.columns.heapPosition);
    lane.returned.add(row, createdSeq);
  }

  remove(row: TaskRow, priority: number): void {
    const lane = this.lane(priority);
    if (this.columns.heapPosition.get(row) === 0) lane.list.remove(row);
    else lane.returned!.remove(row);
    // The only lane stays even when it is empty, because a lightly loaded queue holds one task at a time.
    if (this.lanes.length > 1 && isEmpty(lane)) this.lanes.splice(this.lanes.indexOf(lane), 1);
  }

  /** How many tasks come before this one, which stands in a lane; counts no further than `max`. */
  countAhead(row: TaskRow, priority: number, max: number): number {
    const createdSeq = this.columns.createdSeq.get(row);
    let ahead = 0;
    for (const lane of this.lanes) {
      if (lane.priority < priority) break;
      if (lane.priority > priority) {
        ahead += lane.list.size + (lane.returned?.size ?? 0);
        continue;
      }
      ahead += lane.returned?.countBelow(createdSeq, max) ?? 0;
      let other: TaskRow | 0 = lane.list.first;
      for (; other !== 0 && ahead < max; other = lane.list.next(other)) {
        if (this.columns.createdSeq.get(other) >= createdSeq) break;
        ahead += 1;
      }
    }
    return Math.min(ahead, max);
  }

  /** All tasks in lanes, in no particular order. */
  *all(): Generator<TaskRow> {
    for (const { list, returned } of this.lanes) {
      for (let row: TaskRow | 0 = list.first; row !== 0; row = list.next(row)) yield row;
      if (returned !== null) yield* returned.all();
    }
  }

  private lane(priority: number): Lane {
    let at = 0;
    for (; at < this.lanes.length; at++) {
      const lane = this.lanes[at]!;
      if (lane.priority === priority) return lane;
      if (lane.priority < priority) break;
    }
    if (this.lanes.length === 1 && isEmpty(this.lanes[0]!)) {
      this.lanes.pop();
      at = 0;
    }
    const lane: Lane = {
      priority,
      list: new RowList<TaskRow>(this.columns.before, this.columns.after),
      returned: null,
    };
    this.lanes.splice(at, 0, lane);
    return lane;
  }
}

function isEmpty(lane: Lane): boolean {
  return lane.list.first === 0 && (lane.returned === null || lane.returned.size === 0);
}

/**
 * Lines: the tasks that wait under one key and priority, in order of creation. A line exists while it has tasks. Lines that
 * may be served stand in the ring of their lane and take turns there; those of a key that is at its limit stand in none.
 * Derived from the tasks, and safe to lose: after a restart the turns begin anywhere.
 */
import type { KeyRow, LineRow, Seq, TaskRow } from './row-types.ts';
import { type Float64Column, Int32Column, Uint8Column } from './tables/columns.ts';
import { RowList } from './tables/row-list.ts';
import { RowTree } from './tables/row-tree.ts';
import { Rows } from './tables/rows.ts';
import type { SideRows } from './tables/side-rows.ts';

/** The columns of the task table that lines need. */
export interface LineColumns {
  readonly sparse: SideRows<TaskRow>;
  readonly createdSeq: Float64Column<TaskRow, Seq>;
  /** The task of a side row. */
  readonly taskOfSide: Int32Column<number, TaskRow>;
}

export class KeyLines {
  /** 0 for the tasks without key of a lane, which the lane itself keeps. */
  readonly key = new Int32Column<LineRow, KeyRow>();
  readonly size = new Int32Column<LineRow>();
  /** The next line of the same key. */
  readonly sibling = new Int32Column<LineRow, LineRow>();
  readonly rows: Rows<LineRow>;
  private readonly priorities = new Uint8Column<LineRow>();
  private readonly roots = new Int32Column<LineRow>();
  private readonly ringed = new Uint8Column<LineRow>();
  private readonly before = new Int32Column<LineRow, LineRow>();
  private readonly after = new Int32Column<LineRow, LineRow>();
  private readonly tree: RowTree;
  private readonly columns: LineColumns;

  constructor(columns: LineColumns) {
    this.columns = columns;
    const { createdSeq, taskOfSide } = columns;
    this.tree = new RowTree((side) => createdSeq.get(taskOfSide.get(side)));
    columns.sparse.addStorage(this.tree);
    const { key, size, sibling, priorities, roots, ringed, before, after } = this;
    this.rows = new Rows<LineRow>([key, size, sibling, priorities, roots, ringed, before, after]);
  }

  ring(): RowList<LineRow> {
    return new RowList<LineRow>(this.before, this.after);
  }

  open(key: KeyRow | 0, priority: number, sibling: LineRow | 0): LineRow {
    const line = this.rows.take();
    this.key.set(line, key);
    this.priorities.set(line, priority + 128);
    this.sibling.set(line, sibling);
    this.roots.set(line, 0);
    this.size.set(line, 0);
    this.ringed.set(line, 0);
    return line;
  }

  priorityOf(line: LineRow): number {
    return this.priorities.get(line) - 128;
  }

  isInRing(line: LineRow): boolean {
    return this.ringed.get(line) !== 0;
  }

  enterRing(ring: RowList<LineRow>, line: LineRow): void {
    this.ringed.set(line, 1);
    ring.append(line);
  }

  leaveRing(ring: RowList<LineRow>, line: LineRow): void {
    this.ringed.set(line, 0);
    ring.remove(line);
  }

  add(line: LineRow, row: TaskRow): void {
    this.roots.set(line, this.tree.add(this.roots.get(line), this.columns.sparse.of(row)));
    this.size.set(line, this.size.get(line) + 1);
  }

  remove(line: LineRow, row: TaskRow): void {
    this.roots.set(line, this.tree.remove(this.roots.get(line), this.columns.sparse.of(row)));
    this.size.set(line, this.size.get(line) - 1);
  }

  /** Only for the line of a key. */
  first(line: LineRow): TaskRow {
    return this.columns.taskOfSide.get(this.tree.above(this.roots.get(line), 0));
  }

  *tasks(line: LineRow): Generator<TaskRow> {
    const { createdSeq, taskOfSide } = this.columns;
    for (let side = this.tree.above(this.roots.get(line), 0); side !== 0; ) {
      const row = taskOfSide.get(side);
      yield row;
      side = this.tree.above(this.roots.get(line), createdSeq.get(row));
    }
  }

  /** How many tasks of a line were created before this one; counts no further than `max`. */
  countBefore(line: LineRow, createdSeq: Seq, max: number): number {
    let count = 0;
    for (const row of this.tasks(line)) {
      if (count >= max || this.columns.createdSeq.get(row) >= createdSeq) break;
      count += 1;
    }
    return count;
  }
}

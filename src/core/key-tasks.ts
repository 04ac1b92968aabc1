/**
 * The tasks of each key, in the order in which they were created. There can be as many keys as tasks, so a key is not an
 * object: its tasks are a tree, whose root is found by the hash of the key. All of it is kept by side row, so that only
 * tasks with sparse values pay for it.
 */
import type { Seq, TaskRow } from './row-types.ts';
import { type Float64Column, Int32Column } from './tables/columns.ts';
import { HashIndex, hashOfString } from './tables/hash-index.ts';
import type { SortedRows } from './tables/ordered-rows.ts';
import { RowTree } from './tables/row-tree.ts';
import type { SideRows } from './tables/side-rows.ts';
import type { TextColumn } from './tables/text-column.ts';

export class KeyTasks {
  /** One task of every key: the root of the tree of its tasks. */
  readonly roots = new HashIndex<number>();
  /** The task of a side row. */
  readonly rows = new Int32Column<number, TaskRow>();
  /** How many tasks a key has; kept at its root. */
  private readonly sizes = new Int32Column();
  private readonly tree: RowTree;
  private readonly sides: SideRows<TaskRow>;
  private readonly keys: TextColumn<number>;
  private readonly createdSeq: Float64Column<TaskRow, Seq>;
  private readonly seed: number;

  constructor(
    sides: SideRows<TaskRow>,
    keys: TextColumn<number>,
    createdSeq: Float64Column<TaskRow, Seq>,
    seed: number,
  ) {
    this.sides = sides;
    this.keys = keys;
    this.createdSeq = createdSeq;
    this.seed = seed;
    this.tree = new RowTree((side) => createdSeq.get(this.rows.get(side)));
    sides.addStorage(this);
  }

  reserve(side: number): void {
    this.rows.reserve(side);
    this.sizes.reserve(side);
    this.tree.reserve(side);
  }

  /** The task has its key already. */
  add(row: TaskRow, key: string): void {
    const side = this.sides.of(row);
    this.rows.set(side, row);
    const hash = hashOfString(key, this.seed);
    const root = this.rootOf(key, hash);
    this.moveRoot(hash, root, this.tree.add(root, side), this.sizes.get(root) + 1);
  }

  /** The task still has its key. */
  remove(row: TaskRow, key: string): void {
    const hash = hashOfString(key, this.seed);
    const root = this.rootOf(key, hash);
    this.moveRoot(hash, root, this.tree.remove(root, this.sides.of(row)), this.sizes.get(root) - 1);
  }

  /** Null when no task has the key. */
  of(key: string): SortedRows<TaskRow> | null {
    const root = this.rootOf(key, hashOfString(key, this.seed));
    if (root === 0) return null;
    const { tree, rows, createdSeq } = this;
    const orderBy = (column: Float64Column<TaskRow>) => (side: number) => column.get(rows.get(side));
    return {
      size: this.sizes.get(root),
      *ascending(above, column = createdSeq) {
        for (let side = tree.above(root, above, orderBy(column)); side !== 0; ) {
          const row = rows.get(side);
          yield row;
          side = tree.above(root, createdSeq.get(row));
        }
      },
      *descending(below, column = createdSeq) {
        for (let side = tree.below(root, below, orderBy(column)); side !== 0; ) {
          const row = rows.get(side);
          yield row;
          side = tree.below(root, createdSeq.get(row));
        }
      },
    };
  }

  private rootOf(key: string, hash: number): number {
    for (let node = this.roots.first(hash); node !== 0; node = this.roots.after(node)) {
      const side = this.roots.row(node);
      if (this.keys.equals(side, key)) return side;
    }
    return 0;
  }

  private moveRoot(hash: number, from: number, to: number, size: number): void {
    if (to !== 0) this.sizes.set(to, size);
    if (from === to) return;
    if (from !== 0) this.roots.remove(hash, from);
    if (to !== 0) this.roots.add(hash, to);
  }
}

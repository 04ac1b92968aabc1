/** The names that each holder holds, in the order of their rows. Derived from the live leases on names. */
import type { NameRow } from './row-types.ts';
import { Int32Column } from './tables/columns.ts';
import { HashIndex } from './tables/hash-index.ts';
import { RowTree } from './tables/row-tree.ts';

interface Names {
  holderOf(row: NameRow): string;
  heldBy(row: NameRow, holder: string): boolean;
}

export class HolderNames {
  /** One name of every holder: the root of the tree of its names. */
  readonly roots = new HashIndex<NameRow>();
  private readonly tree = new RowTree<NameRow>();
  private readonly hashes = new Int32Column<NameRow>();
  private readonly names: Names;

  constructor(names: Names) {
    this.names = names;
  }

  reserve(row: number): void {
    this.tree.reserve(row);
    this.hashes.reserve(row);
  }

  /** The first name of a holder after a row; 0 when there is none. */
  after(holder: string, hash: number, row: number): NameRow | 0 {
    return this.tree.above(this.rootOf(holder, hash), row);
  }

  add(row: NameRow, holder: string, hash: number): void {
    this.hashes.set(row, hash);
    const root = this.rootOf(holder, hash);
    this.moveRoot(hash, root, this.tree.add(root, row));
  }

  remove(row: NameRow): void {
    const hash = this.hashes.get(row);
    // Most holders have one name, which needs no lookup of the holder.
    const root = this.isRoot(row, hash) ? row : (this.rootOf(this.names.holderOf(row), hash) as NameRow);
    this.moveRoot(hash, root, this.tree.remove(root, row));
  }

  private rootOf(holder: string, hash: number): NameRow | 0 {
    for (let node = this.roots.first(hash); node !== 0; node = this.roots.after(node)) {
      const row = this.roots.row(node);
      if (this.names.heldBy(row, holder)) return row;
    }
    return 0;
  }

  private isRoot(row: NameRow, hash: number): boolean {
    for (let node = this.roots.first(hash); node !== 0; node = this.roots.after(node))
      if (this.roots.row(node) === row) return true;
    return false;
  }

  private moveRoot(hash: number, from: NameRow | 0, to: NameRow | 0): void {
    if (from === to) return;
    if (from !== 0) this.roots.remove(hash, from);
    if (to !== 0) this.roots.add(hash, to);
  }
}

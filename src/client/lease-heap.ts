/**
 * A binary heap of things that fall due, the earliest on top. Each knows its own place, so that moving or removing
 * one among a hundred thousand costs a handful of steps and never a search.
 */
export interface Due {
  dueMs: number;
  /** Where it stands; -1 while it is in no heap. Written only here. */
  place: number;
}

export class LeaseHeap<T extends Due> {
  private readonly items: T[] = [];

  get size(): number {
    return this.items.length;
  }

  get top(): T | undefined {
    return this.items[0];
  }

  /** Puts it in, or to its new place when `dueMs` has changed. */
  put(item: T): void {
    if (item.place < 0) {
      item.place = this.items.length;
      this.items.push(item);
    }
    if (!this.rise(item)) this.sink(item);
  }

  remove(item: T): void {
    if (item.place < 0) return;
    const last = this.items.pop()!;
    const { place } = item;
    item.place = -1;
    if (last === item) return;
    this.items[place] = last;
    last.place = place;
    if (!this.rise(last)) this.sink(last);
  }

  /** All of them, in no order; a copy, so that the heap may be changed meanwhile. */
  all(): T[] {
    return [...this.items];
  }

  private rise(item: T): boolean {
    let moved = false;
    while (item.place > 0) {
      const parent = this.items[(item.place - 1) >> 1]!;
      if (parent.dueMs <= item.dueMs) break;
      this.swap(item, parent);
      moved = true;
    }
    return moved;
  }

  private sink(item: T): void {
    for (;;) {
      const left = this.items[2 * item.place + 1];
      if (left === undefined) return;
      const right = this.items[2 * item.place + 2];
      const child = right !== undefined && right.dueMs < left.dueMs ? right : left;
      if (item.dueMs <= child.dueMs) return;
      this.swap(item, child);
    }
  }

  private swap(a: T, b: T): void {
    const { place } = a;
    a.place = b.place;
    b.place = place;
    this.items[a.place] = a;
    this.items[b.place] = b;
  }
}

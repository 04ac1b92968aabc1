/**
 * A binary heap of due items, the earliest on top. Each item stores its own position, so that moving or removing one
 * takes O(log n) steps without a search.
 */
export interface Due {
  dueMs: number;
  /** The position in the heap; -1 while it is in none. Written only by `LeaseHeap`. */
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

  /** Inserts the item, or moves it after its `dueMs` has changed. */
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

  /** A copy of all items, unordered, so that the heap can change during iteration. */
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

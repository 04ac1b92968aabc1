/** What will happen, by the time at which it will; of what happens at the same time, what was arranged first. A heap. */
export interface Happening {
  readonly atMs: number;
  readonly order: number;
}

export class EventQueue<T extends Happening> {
  readonly #heap: T[] = [];

  get size(): number {
    return this.#heap.length;
  }

  put(item: T): void {
    const heap = this.#heap;
    let place = heap.length;
    heap.push(item);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!isBefore(item, heap[parent]!)) break;
      heap[place] = heap[parent]!;
      place = parent;
    }
    heap[place] = item;
  }

  take(): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      let child = place * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, last)) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = last;
    return first;
  }
}

function isBefore(a: Happening, b: Happening): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/**
 * Waiting lines, first come, first served. Soft state: a waiter lives as long as its connection, and no waiter
 * survives a restart. A caller that waits for several names or queues stands in all their lines.
 */
import type { AcquireNames, LeaseTasks } from './commands.ts';
import { Int32Column } from './tables/columns.ts';
import { RowHeap } from './tables/row-heap.ts';

/** A call that may have to wait for its answer. */
export interface Ticket {
  /** False once its connection is closed: nothing may be granted to it then. */
  readonly open: boolean;
  /** Called when it joins a line. The owner of the ticket leaves the line with this waiter. */
  waits(waiter: Waiter<AcquireNames> | Waiter<LeaseTasks>): void;
}

export interface Waiter<C extends AcquireNames | LeaseTasks> {
  readonly command: C;
  readonly ticket: Ticket;
  /** When it joined, and its number among all that ever joined. */
  readonly sinceMs: number;
  readonly arrival: number;
  /** Nothing is granted to it from this time on. */
  readonly deadlineMs: number;
  readonly slot: number;
  readonly places: readonly Place<C>[];
}

interface Place<C extends AcquireNames | LeaseTasks> {
  readonly key: string;
  waiter: Waiter<C> | null;
  before: Place<C> | null;
  after: Place<C> | null;
}

interface Line<C extends AcquireNames | LeaseTasks> {
  first: Place<C> | null;
  last: Place<C> | null;
  length: number;
}

export class Lines<C extends AcquireNames | LeaseTasks> {
  private readonly lines = new Map<string, Line<C>>();
  private readonly waiters: (Waiter<C> | null)[] = [null];
  private readonly freeSlots: number[] = [];
  private readonly positions = new Int32Column();
  private readonly deadlines = new RowHeap(this.positions);
  private arrivals = 0;

  get size(): number {
    return this.deadlines.size;
  }

  has(key: string): boolean {
    return this.lines.has(key);
  }

  keys(): IterableIterator<string> {
    return this.lines.keys();
  }

  first(key: string): Waiter<C> | null {
    return this.lines.get(key)?.first?.waiter ?? null;
  }

  headsEveryLine(waiter: Waiter<C>): boolean {
    return waiter.places.every((place) => place.before === null);
  }

  /** The lines in which it is first. */
  linesHeaded(waiter: Waiter<C>): string[] {
    return waiter.places.filter((place) => place.before === null).map((place) => place.key);
  }

  join(command: C, ticket: Ticket, keys: readonly string[], sinceMs: number): Waiter<C> {
    const slot = this.freeSlots.pop() ?? this.waiters.length;
    const places = keys.map((key): Place<C> => ({ key, waiter: null, before: null, after: null }));
    const deadlineMs = sinceMs + command.waitMs;
    this.arrivals += 1;
    const waiter: Waiter<C> = { command, ticket, sinceMs, arrival: this.arrivals, deadlineMs, slot, places };
    this.waiters[slot] = waiter;
    for (const place of places) {
      place.waiter = waiter;
      this.append(place);
    }
    this.positions.reserve(slot);
    this.deadlines.add(slot, deadlineMs);
    ticket.waits(waiter as Waiter<AcquireNames> | Waiter<LeaseTasks>);
    return waiter;
  }

  leave(waiter: Waiter<C>): void {
    for (const place of waiter.places) this.remove(place);
    this.deadlines.remove(waiter.slot);
    this.waiters[waiter.slot] = null;
    this.freeSlots.push(waiter.slot);
  }

  isWaiting(waiter: Waiter<C>): boolean {
    return this.waiters[waiter.slot] === waiter;
  }

  /** The waiters of one line, in order. */
  *inLine(key: string): Generator<Waiter<C>> {
    for (let place = this.lines.get(key)?.first ?? null; place !== null; place = place.after)
      yield place.waiter!;
  }

  /** How many wait in each line. */
  *lengths(): Generator<readonly [key: string, length: number]> {
    for (const [key, { length }] of this.lines) yield [key, length];
  }

  *all(): Generator<Waiter<C>> {
    for (const waiter of this.waiters) if (waiter !== null && waiter !== undefined) yield waiter;
  }

  nextDeadlineMs(): number {
    return this.deadlines.topKey();
  }

  /** A waiter whose deadline has passed by `nowMs`, or null. */
  nextOverdue(nowMs: number): Waiter<C> | null {
    return this.deadlines.topKey() <= nowMs ? (this.waiters[this.deadlines.topRow()] ?? null) : null;
  }

  private append(place: Place<C>): void {
    let line = this.lines.get(place.key);
    if (line === undefined) {
      line = { first: null, last: null, length: 0 };
      this.lines.set(place.key, line);
    }
    place.before = line.last;
    if (line.last === null) line.first = place;
    else line.last.after = place;
    line.last = place;
    line.length += 1;
  }

  private remove(place: Place<C>): void {
    const line = this.lines.get(place.key)!;
    if (place.before === null) line.first = place.after;
    else place.before.after = place.after;
    if (place.after === null) line.last = place.before;
    else place.after.before = place.before;
    line.length -= 1;
    if (line.first === null) this.lines.delete(place.key);
  }
}

/**
 * The instants of grants, for the rates of queues, by window, oldest first. A window belongs to a key,
 * or to a queue as a whole. A grant at `t` counts until `t + perMs`. Instants are state: images contain them, and only the
 * time of entries drops them, so that a replay keeps the same ones.
 *
 * A window with `count` grants or more is closed until enough of them have aged. `closed` orders these windows by the time
 * at which they open. It is derived: a window opens by time alone, without an entry.
 */
import type { Rate } from './limits.ts';
import type { KeyRow } from './row-types.ts';
import { Float64Column, Int32Column } from './tables/columns.ts';
import { RowHeap } from './tables/row-heap.ts';
import { RowList } from './tables/row-list.ts';
import { Rows } from './tables/rows.ts';

/** The maximum number of instants in all windows. A key that needs one more waits. */
const INSTANTS_MAX = 4_000_000;

export class GrantWindows {
  readonly closed: RowHeap<KeyRow>;
  readonly size = new Int32Column<KeyRow>();
  /** The maximum number of instants; tests lower it. */
  max = INSTANTS_MAX;
  private readonly positions = new Int32Column<KeyRow>();
  private readonly oldest = new Int32Column<KeyRow>();
  private readonly newest = new Int32Column<KeyRow>();
  private readonly before = new Int32Column<KeyRow, KeyRow>();
  private readonly after = new Int32Column<KeyRow, KeyRow>();
  private readonly atMs = new Float64Column();
  private readonly next = new Int32Column();
  private readonly instants = new Rows([this.atMs, this.next]);

  constructor() {
    this.closed = new RowHeap<KeyRow>(this.positions);
  }

  reserve(key: number): void {
    for (const column of [this.size, this.positions, this.oldest, this.newest, this.before, this.after])
      column.reserve(key);
  }

  /** The windows of one queue, in the order of their newest grants. */
  list(): RowList<KeyRow> {
    return new RowList<KeyRow>(this.before, this.after);
  }

  get kept(): number {
    return this.instants.live;
  }

  isClosed(key: KeyRow): boolean {
    return this.positions.get(key) !== 0;
  }

  newestMs(key: KeyRow): number {
    return this.atMs.get(this.newest.get(key));
  }

  add(windows: RowList<KeyRow>, key: KeyRow, atMs: number): void {
    const instant = this.instants.take();
    this.atMs.set(instant, atMs);
    this.next.set(instant, 0);
    const size = this.size.get(key);
    if (size === 0) this.oldest.set(key, instant);
    else {
      this.next.set(this.newest.get(key), instant);
      windows.remove(key);
    }
    windows.append(key);
    this.newest.set(key, instant);
    this.size.set(key, size + 1);
  }

  /** Drops the instants that have aged; true when none is left. */
  prune(windows: RowList<KeyRow>, key: KeyRow, agedMs: number): boolean {
    let size = this.size.get(key);
    if (size === 0) return false;
    let instant = this.oldest.get(key);
    for (; size > 0 && this.atMs.get(instant) <= agedMs; size--) {
      const next = this.next.get(instant);
      this.instants.free(instant);
      instant = next;
    }
    this.oldest.set(key, instant);
    this.size.set(key, size);
    if (size > 0) return false;
    windows.remove(key);
    this.open(key);
    return true;
  }

  /** Closes a window that has no room for another grant at `nowMs`, and opens any other. */
  judge(key: KeyRow, rate: Rate, nowMs: number): void {
    this.open(key);
    const opensAtMs = this.opensAtMs(key, rate);
    if (opensAtMs > nowMs) this.closed.add(key, opensAtMs);
  }

  open(key: KeyRow): void {
    if (this.isClosed(key)) this.closed.remove(key);
  }

  /** When there is room for another grant: from then on fewer than `count` are younger than `perMs`. */
  opensAtMs(key: KeyRow, { count, perMs }: Rate): number {
    let surplus = this.size.get(key) - count;
    if (surplus < 0) return 0;
    let instant = this.oldest.get(key);
    for (; surplus > 0; surplus--) instant = this.next.get(instant);
    return this.atMs.get(instant) + perMs;
  }

  /** Those that are younger than `agedMs`, oldest first. */
  instantsOf(key: KeyRow, agedMs: number): number[] {
    const found: number[] = [];
    let instant = this.oldest.get(key);
    for (let left = this.size.get(key); left > 0; left--) {
      const atMs = this.atMs.get(instant);
      if (atMs > agedMs) found.push(atMs);
      instant = this.next.get(instant);
    }
    return found;
  }
}

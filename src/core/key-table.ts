/**
 * The keys of each queue: how many of its tasks are leased, and when they were granted. A key is known while one of its
 * tasks has not ended, or while one of its grants still counts against a rate. A queue whose rate holds for it as a whole
 * has one more row, without a text. See decision 0086.
 */
import { GrantWindows } from './grant-windows.ts';
import { KeyLines, type LineColumns } from './key-lines.ts';
import type { Limits } from './limits.ts';
import type { Queue } from './queue.ts';
import type { Counted, KeyRow, LineRow, TaskRow } from './row-types.ts';
import { Int32Column, Uint8Column, Uint32Column } from './tables/columns.ts';
import { HashIndex, hashOfString } from './tables/hash-index.ts';
import { Rows } from './tables/rows.ts';
import { type StringSlab, TextColumn } from './tables/text-column.ts';

/** How many aged windows a grant clears away. It adds at most one, so aged windows do not accumulate. */
const CLEARED_A_GRANT = 2;

export class KeyTable {
  /** Null for a queue as a whole. */
  readonly text: TextColumn<KeyRow>;
  readonly leased = new Int32Column<KeyRow>();
  /** Its lines, one for each priority that has tasks, linked by `sibling`. */
  readonly firstLine = new Int32Column<KeyRow, LineRow>();
  readonly lines: KeyLines;
  readonly windows = new GrantWindows();
  readonly rows: Rows<KeyRow>;
  /** The queues with a rate. */
  readonly rated = new Set<Queue>();
  private readonly members = new Int32Column<KeyRow>();
  private readonly queueIndex = new Uint32Column<KeyRow>();
  private readonly heldBack = new Uint8Column<KeyRow>();
  private readonly index = new HashIndex<KeyRow>();
  private readonly queueAt: readonly (Queue | undefined)[];
  private readonly seed: number;
  private nowMs = 0;
  /** A task was not leased because the instant of its grant could not be kept. */
  private isShortOfRoom = false;

  constructor(
    strings: StringSlab,
    seed: number,
    queueAt: readonly (Queue | undefined)[],
    columns: LineColumns,
  ) {
    this.seed = seed;
    this.queueAt = queueAt;
    this.text = new TextColumn(strings);
    this.lines = new KeyLines(columns);
    const { text, leased, firstLine, windows, members, queueIndex, heldBack } = this;
    this.rows = new Rows<KeyRow>([text, leased, firstLine, windows, members, queueIndex, heldBack]);
  }

  // --- finding -----------------------------------------------------------------------------------

  inUse(key: Counted<KeyRow>): key is KeyRow {
    return this.members.get(key as KeyRow) > 0 || this.windows.size.get(key as KeyRow) > 0;
  }

  find(queue: Queue, text: string): KeyRow | 0 {
    const { index } = this;
    for (let node = index.first(this.hashOf(queue, text)); node !== 0; node = index.after(node)) {
      const key = index.row(node);
      if (this.queueIndex.get(key) === queue.index && this.text.equals(key, text)) return key;
    }
    return 0;
  }

  queueOf(key: KeyRow): Queue {
    return this.queueAt[this.queueIndex.get(key)]!;
  }

  membersOf(key: KeyRow): number {
    return this.members.get(key);
  }

  /** Whether a limit of its own keeps its tasks from being leased. */
  isHeldBack(key: KeyRow): boolean {
    return this.heldBack.get(key) !== 0;
  }

  *of(queue: Queue): Generator<KeyRow> {
    for (let key = 1; key <= this.rows.used; key++)
      if (this.inUse(key) && this.queueIndex.get(key) === queue.index) yield key;
  }

  /** Every task that stands in the line of a key. */
  *waiting(): Generator<[TaskRow, LineRow, Queue]> {
    for (let key = 1; key <= this.rows.used; key++) {
      if (!this.inUse(key)) continue;
      for (let line = this.firstLine.get(key); line !== 0; line = this.lines.sibling.get(line))
        for (const row of this.lines.tasks(line)) yield [row, line, this.queueOf(key)];
    }
  }

  // --- tasks come and go ---------------------------------------------------------------------------

  /** The row of a key, for one more task that has not ended. */
  take(queue: Queue, text: string): KeyRow {
    const key = this.find(queue, text) || this.create(queue, text);
    this.members.set(key, this.members.get(key) + 1);
    return key;
  }

  /** The task has ended, or has moved to another queue. */
  release(key: KeyRow): void {
    this.members.set(key, this.members.get(key) - 1);
    this.dropIfUnused(key);
  }

  countLeased(key: KeyRow, by: 1 | -1): void {
    this.leased.set(key, this.leased.get(key) + by);
    this.judge(this.queueOf(key), key);
  }

  // --- limits --------------------------------------------------------------------------------------

  /** Which limit forbids a grant at `atMs`, computed without the derived flags; null when none does. */
  forbids(queue: Queue, key: KeyRow | 0, atMs: number): string | null {
    const { limits } = queue;
    if (limits === null) return null;
    const { maxLeased, maxLeasedPerKey, rate } = limits;
    if (maxLeased !== null && queue.lists.count('LEASED') >= maxLeased) return 'the queue is at its limit';
    if (key !== 0 && maxLeasedPerKey !== null && this.leased.get(key) >= maxLeasedPerKey)
      return 'the key is at its limit';
    const window = queue.windowOf(key);
    if (rate === null || window === 0) return null;
    return this.windows.opensAtMs(window, rate) > atMs ? 'the rate is used up' : null;
  }

  /** A task of the queue was leased. */
  countGrant(queue: Queue, key: KeyRow | 0, atMs: number): void {
    const rate = queue.limits?.rate ?? null;
    const window = queue.windowOf(key);
    if (rate === null || window === 0) return;
    const { windows } = this;
    this.clearAged(queue, atMs, CLEARED_A_GRANT);
    for (const other of this.rated) {
      if (windows.kept < windows.max) break;
      this.clearAged(other, atMs, Number.POSITIVE_INFINITY);
    }
    windows.prune(queue.windows, window, atMs - rate.perMs);
    windows.add(queue.windows, window, atMs);
    windows.judge(window, rate, atMs);
    this.judge(queue, window);
  }

  setLimits(queue: Queue, limits: Limits | null, atMs: number): void {
    const before = queue.limits?.rate ?? null;
    const rate = limits?.rate ?? null;
    const isSameScope = before !== null && rate !== null && before.perKey === rate.perKey;
    // By the old rate, and at the time of the entry: a replay from an image must keep the same grants.
    if (before !== null) this.pruneAll(queue, isSameScope ? atMs - before.perMs : atMs);
    queue.limits = limits;
    if (rate === null) this.rated.delete(queue);
    else this.rated.add(queue);
    const hasWindow = rate !== null && !rate.perKey;
    if (hasWindow && queue.window === 0) {
      queue.window = this.create(queue, null);
      this.members.set(queue.window, 1);
    } else if (!hasWindow && queue.window !== 0) {
      const { window } = queue;
      queue.window = 0;
      this.release(window);
    }
    for (const key of this.of(queue)) {
      if (rate !== null) this.windows.judge(key, rate, atMs);
      this.judge(queue, key);
    }
  }

  /** Restores the instants of an image. */
  restoreGrants(queue: Queue, text: string | null, instants: readonly number[], nowMs: number): void {
    const key = text === null ? queue.window : this.find(queue, text) || this.create(queue, text);
    const rate = queue.limits?.rate ?? null;
    if (key === 0 || rate === null) throw new Error(`INV-IMAGE: ${queue.name} has grants and no rate.`);
    for (const atMs of instants) this.windows.add(queue.windows, key, atMs);
    this.windows.judge(key, rate, nowMs);
    this.judge(queue, key);
  }

  /** When time opens a window; Infinity when none is closed. */
  nextOpeningMs(): number {
    return Math.min(this.windows.closed.topKey(), this.isShortOfRoom ? this.nextRoomMs() : Infinity);
  }

  /** Opens up to `max` windows that are due, and adds to `queues` those that may have tasks to lease now. */
  open(nowMs: number, max: number, queues: Set<string>): void {
    const { closed } = this.windows;
    this.nowMs = nowMs;
    for (let opened = 0; opened < max && closed.topKey() <= nowMs; opened++) {
      const key = closed.topRow();
      const queue = this.queueOf(key);
      this.windows.open(key);
      this.judge(queue, key);
      queues.add(queue.name);
    }
    if (!this.isShortOfRoom || !this.hasRoom()) return;
    this.isShortOfRoom = false;
    for (const { name } of this.rated) queues.add(name);
  }

  /** Whether the instant of one more grant can be kept. */
  hasRoom(): boolean {
    if (this.windows.kept < this.windows.max || this.nextRoomMs() <= this.nowMs) return true;
    this.isShortOfRoom = true;
    return false;
  }

  // --- inside ------------------------------------------------------------------------------------

  /** When the next window has aged completely, so that a grant clears it away. */
  private nextRoomMs(): number {
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const { windows, limits } of this.rated) {
      if (windows.first !== 0)
        soonestMs = Math.min(soonestMs, this.windows.newestMs(windows.first) + limits!.rate!.perMs);
    }
    return soonestMs;
  }

  private clearAged(queue: Queue, atMs: number, max: number): void {
    const agedMs = atMs - queue.limits!.rate!.perMs;
    for (let cleared = 0; cleared < max; cleared++) {
      const key = queue.windows.first;
      if (key === 0 || this.windows.newestMs(key) > agedMs) return;
      this.clear(queue, key, agedMs);
    }
  }

  private pruneAll(queue: Queue, agedMs: number): void {
    let next = queue.windows.first;
    for (let key = next; key !== 0; key = next) {
      next = queue.windows.next(key);
      this.clear(queue, key, agedMs);
    }
  }

  private clear(queue: Queue, key: KeyRow, agedMs: number): void {
    if (!this.windows.prune(queue.windows, key, agedMs)) return;
    this.judge(queue, key);
    this.dropIfUnused(key);
  }

  /** Derives whether a key may be granted another lease; its lines join or leave the turns accordingly. */
  private judge(queue: Queue, key: KeyRow): void {
    if (key === queue.window) return;
    const max = queue.limits?.maxLeasedPerKey ?? null;
    const isHeldBack = (max !== null && this.leased.get(key) >= max) || this.windows.isClosed(key);
    if (isHeldBack === this.isHeldBack(key)) return;
    this.heldBack.set(key, isHeldBack ? 1 : 0);
    queue.holdBack(key, isHeldBack);
  }

  private create(queue: Queue, text: string | null): KeyRow {
    const key = this.rows.take();
    this.queueIndex.set(key, queue.index);
    this.text.set(key, text);
    if (text !== null) this.index.add(this.hashOf(queue, text), key);
    return key;
  }

  private dropIfUnused(key: KeyRow): void {
    if (this.inUse(key)) return;
    const text = this.text.get(key);
    if (text !== null) this.index.remove(this.hashOf(this.queueOf(key), text), key);
    this.text.set(key, null);
    this.rows.free(key);
  }

  private hashOf(queue: Queue, text: string): number {
    return hashOfString(text, hashOfString(queue.name, this.seed));
  }
}

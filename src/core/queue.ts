/**
 * A queue: which task is next. Higher priority first; among equal priority keys take turns, and all tasks without key
 * are one key; within a key the order of creation: a task that is released or retried keeps its place.
 *
 * Each priority is a lane. Tasks without key stand in a list, returned ones in a heap beside it, because they belong
 * before the end of the list. Tasks with a key stand in the line of their key, and the ring of the lane holds the lines
 * that may be served, in the order of their turns. A lane in which no task has a key has no ring. A key at its limit has
 * no line in a ring, so it delays no other key; a queue at its limit has no next task. All of it is derived.
 */
import type { KeyTable } from './key-table.ts';
import type { Limits } from './limits.ts';
import type { KeyRow, LineRow, Seq, TaskRow } from './row-types.ts';
import { StateLists } from './state-lists.ts';
import type { Float64Column, Int32Column } from './tables/columns.ts';
import { RowHeap } from './tables/row-heap.ts';
import { RowList } from './tables/row-list.ts';

interface Lane {
  readonly priority: number;
  readonly list: RowList<TaskRow>;
  returned: RowHeap<TaskRow> | null;
  /** Lines that may be served, in the order of their turns; null while there is no line of a key. */
  ring: RowList<LineRow> | null;
  /** Stands for the tasks without key in the ring; 0 while there is no ring. */
  keyless: LineRow | 0;
  /** How many lines of keys there are, and how many tasks stand in those that are in the ring. */
  lines: number;
  keyed: number;
}

/** What queues share: columns of the task table, and the keys. */
export interface QueueTables {
  readonly before: Int32Column<TaskRow, TaskRow>;
  readonly after: Int32Column<TaskRow, TaskRow>;
  readonly heapPosition: Int32Column<TaskRow>;
  readonly createdSeq: Float64Column<TaskRow, Seq>;
  readonly keys: KeyTable;
}

export class Queue {
  readonly name: string;
  readonly index: number;
  paused = false;
  /** Set by `KeyTable.setLimits`. Null when there is none. */
  limits: Limits | null = null;
  /** The row of the queue as a whole, if its rate is for all keys together. */
  window: KeyRow | 0 = 0;
  /** Windows with grants, in the order of the newest one. */
  readonly windows: RowList<KeyRow>;
  /** How many WAITING tasks are not due yet: after a failure, and for any other reason. */
  backingOff = 0;
  delayed = 0;
  /** How many lanes have a ring. */
  rings = 0;
  /** How many due tasks have a key that is at its limit. */
  heldBack = 0;
  /** All tasks of the queue, by state. */
  readonly lists: StateLists;
  /** Highest priority first. */
  private readonly lanes: Lane[] = [];
  private readonly tables: QueueTables;

  constructor(name: string, index: number, tables: QueueTables) {
    this.name = name;
    this.index = index;
    this.tables = tables;
    this.windows = tables.keys.windows.list();
    this.lists = new StateLists(tables.createdSeq);
  }

  /** Whether it has neither tasks nor a pause nor limits, and can be dropped. */
  get idle(): boolean {
    return !this.paused && this.limits === null && this.lists.isEmpty;
  }

  /** The task to lease next, 0 when there is none. */
  next(): TaskRow | 0 {
    if (this.limits !== null && this.isAtLimit) return 0;
    const lane = this.lanes[0];
    if (lane === undefined) return 0;
    return lane.ring === null ? this.firstWithoutKey(lane) : this.nextInTurn();
  }

  /** Whether a limit of the queue as a whole is reached. */
  get isAtLimit(): boolean {
    if (this.limits === null) return false;
    const { maxLeased } = this.limits;
    if (maxLeased !== null && this.lists.count('LEASED') >= maxLeased) return true;
    const { keys } = this.tables;
    return this.window !== 0 && (keys.windows.isClosed(this.window) || !keys.hasRoom());
  }

  /** Where a grant to this key is counted; 0 when it is not. */
  windowOf(key: KeyRow | 0): KeyRow | 0 {
    return this.limits?.rate?.perKey ? key : this.window;
  }

  /** Whether keys wait because the instant of another grant could not be kept. */
  get isShortOfRoom(): boolean {
    return this.limits?.rate?.perKey === true && !this.tables.keys.hasRoom();
  }

  private nextInTurn(): TaskRow | 0 {
    const { keys } = this.tables;
    const isKeylessOnly = this.isShortOfRoom;
    for (const lane of this.lanes) {
      if (lane.ring === null) return this.firstWithoutKey(lane);
      const line = isKeylessOnly && this.firstWithoutKey(lane) !== 0 ? lane.keyless : lane.ring.first;
      if (line === 0) continue;
      if (line === lane.keyless) return this.firstWithoutKey(lane);
      if (!isKeylessOnly) return keys.lines.first(line);
    }
    return 0;
  }

  private firstWithoutKey({ list, returned }: Lane): TaskRow | 0 {
    const { first } = list;
    if (returned === null || returned.size === 0) return first;
    if (first === 0 || returned.topKey() < this.tables.createdSeq.get(first)) return returned.topRow();
    return first;
  }

  /** How many tasks could be leased now. */
  get ready(): number {
    return this.due - this.limited;
  }

  /** How many due tasks a limit keeps from being leased. */
  get limited(): number {
    if (this.limits === null) return 0;
    if (this.isAtLimit) return this.due;
    return this.heldBack + (this.isShortOfRoom ? this.keyed : 0);
  }

  private get due(): number {
    return this.lists.count('WAITING') - this.delayed - this.backingOff;
  }

  /** Whether a due task has a key. */
  get hasKeys(): boolean {
    return this.rings > 0;
  }

  /** Of the tasks without key, the first of each lane, and the first of its returned tasks. */
  *heads(): Generator<TaskRow> {
    for (const { list, returned } of this.lanes) {
      if (list.first !== 0) yield list.first;
      if (returned !== null && returned.size > 0) yield returned.topRow();
    }
  }

  /** `key` is 0 for a task without one. */
  add(row: TaskRow, priority: number, key: KeyRow | 0): void {
    const lane = this.lane(priority);
    if (key !== 0) {
      this.addToLine(lane, key, row);
      return;
    }
    const createdSeq = this.tables.createdSeq.get(row);
    const last = lane.list.last;
    if (last === 0 || this.tables.createdSeq.get(last) < createdSeq) lane.list.append(row);
    else {
      lane.returned ??= new RowHeap<TaskRow>(this.tables.heapPosition);
      lane.returned.add(row, createdSeq);
    }
    if (lane.ring !== null) this.placeKeyless(lane);
  }

  remove(row: TaskRow, priority: number, key: KeyRow | 0): void {
    const lane = this.lane(priority);
    if (key !== 0) this.removeFromLine(lane, key, row);
    else {
      if (this.tables.heapPosition.get(row) === 0) lane.list.remove(row);
      else lane.returned!.remove(row);
      if (lane.ring !== null) this.placeKeyless(lane);
    }
    // The only lane stays even when it is empty, because a lightly loaded queue holds one task at a time.
    if (this.lanes.length > 1 && isEmpty(lane)) this.lanes.splice(this.lanes.indexOf(lane), 1);
  }

  // --- turns -----------------------------------------------------------------------------------------

  /** A task of this key and priority was leased: now it is the turn of the others. */
  endTurn(priority: number, key: KeyRow | 0): void {
    for (const lane of this.lanes) {
      if (lane.priority !== priority || lane.ring === null) continue;
      const { lines } = this.tables.keys;
      const line = key === 0 ? lane.keyless : this.lineOf(key, priority);
      if (line === 0 || !lines.isInRing(line)) return;
      lines.leaveRing(lane.ring, line);
      lines.enterRing(lane.ring, line);
    }
  }

  /** The lines of a key that has reached its limit leave the turns; those of one that has room again join them. */
  holdBack(key: KeyRow, isHeldBack: boolean): void {
    const { firstLine, lines } = this.tables.keys;
    for (let line = firstLine.get(key); line !== 0; line = lines.sibling.get(line)) {
      const lane = this.lane(lines.priorityOf(line));
      const size = lines.size.get(line);
      if (isHeldBack) lines.leaveRing(lane.ring!, line);
      else lines.enterRing(lane.ring!, line);
      lane.keyed += isHeldBack ? -size : size;
      this.heldBack += isHeldBack ? size : -size;
    }
  }

  private addToLine(lane: Lane, key: KeyRow, row: TaskRow): void {
    const { firstLine, lines } = this.tables.keys;
    let line = this.lineOf(key, lane.priority);
    if (line === 0) {
      line = lines.open(key, lane.priority, firstLine.get(key));
      firstLine.set(key, line);
      if (lane.ring === null) this.openRing(lane);
      lane.lines += 1;
      if (!this.tables.keys.isHeldBack(key)) lines.enterRing(lane.ring!, line);
    }
    lines.add(line, row);
    if (lines.isInRing(line)) lane.keyed += 1;
    else this.heldBack += 1;
  }

  private removeFromLine(lane: Lane, key: KeyRow, row: TaskRow): void {
    const { lines } = this.tables.keys;
    const line = this.lineOf(key, lane.priority) as LineRow;
    lines.remove(line, row);
    if (lines.isInRing(line)) lane.keyed -= 1;
    else this.heldBack -= 1;
    if (lines.size.get(line) > 0) return;
    if (lines.isInRing(line)) lines.leaveRing(lane.ring!, line);
    this.unlink(key, line);
    lane.lines -= 1;
    if (lane.lines === 0) this.closeRing(lane);
  }

  private unlink(key: KeyRow, line: LineRow): void {
    const { firstLine, lines } = this.tables.keys;
    const next = lines.sibling.get(line);
    let before = firstLine.get(key);
    if (before === line) firstLine.set(key, next);
    else {
      while (lines.sibling.get(before) !== line) before = lines.sibling.get(before);
      lines.sibling.set(before, next);
    }
    lines.rows.free(line);
  }

  private openRing(lane: Lane): void {
    const { lines } = this.tables.keys;
    this.rings += 1;
    lane.ring = lines.ring();
    lane.keyless = lines.open(0 as KeyRow, lane.priority, 0);
    this.placeKeyless(lane);
  }

  private closeRing(lane: Lane): void {
    this.tables.keys.lines.rows.free(lane.keyless as LineRow);
    this.rings -= 1;
    lane.ring = null;
    lane.keyless = 0;
  }

  /** The tasks without key have a place in the ring while there are some. */
  private placeKeyless(lane: Lane): void {
    const { lines } = this.tables.keys;
    const line = lane.keyless as LineRow;
    const isSeated = lines.isInRing(line);
    if (isSeated === withoutKey(lane) > 0) return;
    if (isSeated) lines.leaveRing(lane.ring!, line);
    else lines.enterRing(lane.ring!, line);
  }

  private lineOf(key: KeyRow, priority: number): LineRow | 0 {
    const { firstLine, lines } = this.tables.keys;
    let line: LineRow | 0 = firstLine.get(key);
    while (line !== 0 && lines.priorityOf(line) !== priority) line = lines.sibling.get(line);
    return line;
  }

  // --- looking ---------------------------------------------------------------------------------------

  /** How many tasks come before this one, which stands in a lane, if all keys keep taking turns; counts no further than `max`. */
  countAhead(row: TaskRow, priority: number, key: KeyRow | 0, max: number): number {
    let ahead = 0;
    for (const lane of this.lanes) {
      if (lane.priority < priority) break;
      if (lane.priority > priority) ahead += withoutKey(lane) + lane.keyed;
      else ahead += this.countAheadInLane(lane, row, key, max);
    }
    return Math.min(ahead, max);
  }

  private countAheadInLane(lane: Lane, row: TaskRow, key: KeyRow | 0, max: number): number {
    const { lines } = this.tables.keys;
    const createdSeq = this.tables.createdSeq.get(row);
    const own = key === 0 ? lane.keyless : this.lineOf(key, lane.priority);
    const before =
      key === 0
        ? this.countBefore(lane, createdSeq, max)
        : lines.countBefore(own as LineRow, createdSeq, max);
    let ahead = before;
    // A line ahead of this task's line in the ring is served once more than the lines behind it, until this task is.
    let turns = before + 1;
    for (let line = lane.ring?.first ?? 0; line !== 0 && ahead < max && turns > 0; ) {
      if (line === own) turns = before;
      else ahead += Math.min(turns, line === lane.keyless ? withoutKey(lane) : lines.size.get(line));
      line = lane.ring!.next(line);
    }
    return ahead;
  }

  private countBefore({ list, returned }: Lane, createdSeq: Seq, max: number): number {
    let before = returned?.countBelow(createdSeq, max) ?? 0;
    for (let other: TaskRow | 0 = list.first; other !== 0 && before < max; other = list.next(other)) {
      if (this.tables.createdSeq.get(other) >= createdSeq) break;
      before += 1;
    }
    return before;
  }

  /** The tasks without key that stand in a lane, in no particular order. Those with one are in `KeyTable.waiting`. */
  *allWithoutKey(): Generator<TaskRow> {
    for (const { list, returned } of this.lanes) {
      for (let row: TaskRow | 0 = list.first; row !== 0; row = list.next(row)) yield row;
      if (returned !== null) yield* returned.all();
    }
  }

  /** Whose turn is next, by priority; 0 for tasks without key. Only where some task has a key. */
  *turns(): Generator<[priority: number, key: KeyRow | 0]> {
    const { lines } = this.tables.keys;
    for (const { priority, ring } of this.lanes)
      for (let line = ring?.first ?? 0; line !== 0; line = ring!.next(line))
        yield [priority, lines.key.get(line)];
  }

  /** How many tasks the lanes count in lines that take turns. */
  get keyed(): number {
    return this.lanes.reduce((sum, { keyed }) => sum + keyed, 0);
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
      list: new RowList<TaskRow>(this.tables.before, this.tables.after),
      returned: null,
      ring: null,
      keyless: 0,
      lines: 0,
      keyed: 0,
    };
    this.lanes.splice(at, 0, lane);
    return lane;
  }
}

function withoutKey({ list, returned }: Lane): number {
  return list.size + (returned === null ? 0 : returned.size);
}

function isEmpty(lane: Lane): boolean {
  return lane.lines === 0 && withoutKey(lane) === 0;
}

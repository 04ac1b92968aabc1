/**
 * The tasks, as columns of numbers and the derived structures that find them: by id, by dedup key, by key, by
 * queue and place in line, by the moment something falls due. `apply` is the only writer; the rules
 * read through it. `TaskImage` describes the columns.
 *
 * Every task is in exactly one place, which follows from its state:
 *   WAITING, due        its queue's lane            LEASED                `expiring`, by lease end
 *   WAITING, not due    `delayed`, by due time      FAILED, DEAD          `failed`, in order of their end
 *                                                   any other end         `completed`, in order of their end
 */
import type { TaskChanged, TaskCreated, TaskKey } from './entries.ts';
import { seqOfTaskId, taskIdOfSeq } from './ids.ts';
import type { LeaseImage, TaskImage, TaskState } from './image.ts';
import { KeyTable } from './key-table.ts';
import { KeyTasks } from './key-tasks.ts';
import { LeaseTable } from './lease-table.ts';
import { Queue } from './queue.ts';
import { START_QUEUE } from './reserved-names.ts';
import { TaskColumns } from './row-columns.ts';
import type { Counted, KeyRow, LeaseRow, Seq, TaskRow } from './row-types.ts';
import { StateLists } from './state-lists.ts';
import { Int32Column, Uint8Column, Uint32Column } from './tables/columns.ts';
import { DueRows } from './tables/due-rows.ts';
import { HashIndex, hashOfSeq, hashOfString } from './tables/hash-index.ts';
import { RowHeap } from './tables/row-heap.ts';
import { RowList } from './tables/row-list.ts';
import { Rows } from './tables/rows.ts';
import { type StringSlab, TextColumn } from './tables/text-column.ts';

/** 0 is a free row. */
const STATES: readonly (TaskState | 'FREE')[] = ['FREE', 'WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'];

/** Compared one by one: on the hot path a record lookup by a varying name is megamorphic and several times slower. */
function codeOf(state: TaskState): number {
  if (state === 'WAITING') return 1;
  if (state === 'LEASED') return 2;
  if (state === 'COMPLETED') return 3;
  return state === 'FAILED' ? 4 : 5;
}

/** The `reason` of a cancelled task; the caller's text is its `reasonDetail`. */
export const CANCELLED = 'CANCELLED';

export function isTerminal(state: TaskState): boolean {
  return state === 'COMPLETED' || state === 'FAILED' || state === 'DEAD';
}

export class TaskTable extends TaskColumns {
  /** The newest lease, the current one when LEASED; a row of `leases`. */
  readonly lease = new Int32Column<TaskRow, LeaseRow>();
  private readonly states = new Uint8Column<TaskRow>();
  private readonly priorities = new Uint8Column<TaskRow>();
  private readonly queueIndex = new Uint32Column<TaskRow>();
  /** The id that its creator chose. A task without one is known by `createdSeq`. */
  private readonly id: TextColumn<TaskRow>;
  /** 1 while the task stands in `delayed`. */
  private readonly asleep = new Uint8Column<TaskRow>();
  readonly before = new Int32Column<TaskRow, TaskRow>();
  readonly after = new Int32Column<TaskRow, TaskRow>();
  readonly heapPosition = new Int32Column<TaskRow>();

  readonly leases: LeaseTable;
  /** Leases that end at the same time expire in the order of their grants. */
  readonly expiring = new DueRows<TaskRow>(this.before, this.after, this.heapPosition, (row) =>
    this.leases.seq.get(this.lease.get(row)),
  );
  readonly delayed = new RowHeap<TaskRow>(this.heapPosition);
  /** COMPLETED tasks, tasks DEAD by `CANCELLED`, and start tasks, whatever their end. */
  readonly completed = new RowList<TaskRow>(this.before, this.after);
  /** All other ended tasks: dead letters, which are kept longer. */
  readonly failed = new RowList<TaskRow>(this.before, this.after);
  /** All tasks, by state. */
  readonly lists = new StateLists(this.createdSeq);
  readonly rows: Rows<TaskRow>;
  readonly queues = new Map<string, Queue>();
  private readonly queueAt: (Queue | undefined)[] = [];
  private readonly freeQueues: number[] = [];
  readonly byId = new HashIndex<TaskRow>();
  readonly byDedup = new HashIndex<TaskRow>();
  readonly byKey: KeyTasks;
  /** How many tasks of a schedule have not ended; a schedule without any has no entry. */
  private readonly unfinished = new Map<string, number>();
  readonly keys: KeyTable;
  /** The key of a task that has not ended, by side row; 0 for any other. */
  private readonly keyRows = new Int32Column<number, KeyRow>();
  // A rule and its entry look up the same task one after the other, so the last result of each kind is cached.
  private found: TaskRow | 0 = 0;
  private foundChosen: TaskRow | 0 = 0;
  private chosenId = '';
  private hashedId = '';
  private hash: number;
  readonly strings: StringSlab;
  private readonly seed: number;

  constructor(strings: StringSlab, seed: number) {
    super(strings);
    this.strings = strings;
    this.seed = seed;
    this.hash = hashOfString(this.hashedId, seed);
    this.id = new TextColumn(strings);
    this.byKey = new KeyTasks(this.sparse, this.groupKey.inner, this.createdSeq, seed);
    this.sparse.addStorage(this.keyRows);
    this.keys = new KeyTable(strings, seed, this.queueAt, {
      sparse: this.sparse,
      createdSeq: this.createdSeq,
      taskOfSide: this.byKey.rows,
    });
    this.leases = new LeaseTable(strings, seed, this.createdSeq);
    this.rows = new Rows<TaskRow>([
      ...this.columns,
      this.lease,
      this.states,
      this.priorities,
      this.queueIndex,
      this.id,
      this.asleep,
      this.before,
      this.after,
      this.heapPosition,
      this.expiring,
    ]);
  }

  // --- finding -----------------------------------------------------------------------------------

  /** The row of a task by its id on the wire; 0 when there is none. */
  find(taskId: string): TaskRow | 0 {
    const seq = seqOfTaskId(taskId);
    return (seq === 0 ? 0 : this.findBySeq(seq)) || this.findByChosenId(taskId);
  }

  /** The row of a task by its key in entries. */
  at(key: TaskKey): TaskRow | 0 {
    return typeof key === 'number' ? this.findBySeq(key) : this.findByChosenId(key);
  }

  key(row: TaskRow): TaskKey {
    return this.id.has(row) ? this.chosenIdOf(row) : this.createdSeq.get(row);
  }

  idOf(row: TaskRow): string {
    return this.id.has(row) ? this.chosenIdOf(row) : taskIdOfSeq(this.createdSeq.get(row));
  }

  /** The task that has this dedup key; a terminal task has none. */
  findByDedup(queue: string, dedupKey: string): TaskRow | 0 {
    const index = this.byDedup;
    for (let node = index.first(this.dedupHash(queue, dedupKey)); node !== 0; node = index.after(node)) {
      const row = index.row(node);
      if (this.dedupKey.equals(row, dedupKey) && this.queueOf(row).name === queue) return row;
    }
    return 0;
  }

  stateOf(row: TaskRow): TaskState {
    return STATES[this.states.get(row)] as TaskState;
  }

  /** Narrows a number between 1 and `rows.used` to a row. */
  inUse(row: Counted<TaskRow>): row is TaskRow {
    return this.states.get(row as TaskRow) !== 0;
  }

  priorityOf(row: TaskRow): number {
    return this.priorities.get(row) - 128;
  }

  queueOf(row: TaskRow): Queue {
    return this.queueAt[this.queueIndex.get(row)]!;
  }

  /** The row of its key in its queue; 0 when it has none, or has ended. */
  keyOf(row: TaskRow): KeyRow | 0 {
    const side = this.sparse.of(row);
    return side === 0 ? 0 : this.keyRows.get(side);
  }

  queueNameOf(row: TaskRow): string {
    return this.queueOf(row).name;
  }

  isDelayed(row: TaskRow): boolean {
    return this.asleep.get(row) !== 0;
  }

  /** The time from which a task in a lane can be leased. */
  readyAtMs(row: TaskRow): number {
    return Math.max(this.createdAtMs.get(row), this.dueAtMs.get(row));
  }

  /** Why a delayed task waits: its newest attempt failed, or else its creation or a release set a delay. */
  isBackingOff(row: TaskRow): boolean {
    const lease = this.lease.get(row);
    return lease !== 0 && this.leases.endOf(lease) === 'fail';
  }

  /** How many tasks of a schedule have not ended. */
  unfinishedOf(schedule: string): number {
    return this.unfinished.get(schedule) ?? 0;
  }

  /** How many schedules have such tasks. */
  get schedulesRunning(): number {
    return this.unfinished.size;
  }

  /** Newest first. */
  leasesOf(row: TaskRow): LeaseImage[] {
    const leases: LeaseImage[] = [];
    for (let lease = this.lease.get(row); lease !== 0; lease = this.leases.older.get(lease)) {
      leases.push(this.leases.image(lease));
    }
    return leases;
  }

  // --- changing ----------------------------------------------------------------------------------

  /** A new task, WAITING. */
  create(entry: Omit<TaskCreated, 'type'>, seq: Seq, atMs: number, schedule: string | null = null): void {
    const row = this.rows.take();
    this.start(row, entry, seq, atMs);
    if (schedule !== null) this.schedule.set(row, schedule);
    this.lease.set(row, 0);
    this.identify(row, entry.task);
    this.place(row, entry.queue, entry.priority, entry.dedupKey);
    this.enter(row, 'WAITING', atMs);
  }

  /** A waiting task, in another queue or place in line, or due at another time. */
  change(row: TaskRow, { queue, priority, dueAtMs }: Omit<TaskChanged, 'type'>, atMs: number): void {
    const before = this.queueOf(row);
    const dedupKey = this.dedupKey.get(row);
    this.leave(row);
    this.leaveKey(row);
    if (dedupKey !== null) this.byDedup.remove(this.dedupHash(before.name, dedupKey), row);
    this.place(row, queue, priority, dedupKey);
    this.dueAtMs.set(row, dueAtMs);
    this.enter(row, 'WAITING', atMs);
    this.dropIfIdle(before);
  }

  restore(image: TaskImage, nowMs: number): void {
    const row = image.row as TaskRow;
    this.rows.restoreLive();
    this.restoreColumns(row, image);
    let lease: LeaseRow | 0 = 0;
    for (let index = image.leases.length - 1; index >= 0; index--) {
      lease = this.leases.restore(row, image.leases[index]!, lease);
    }
    this.lease.set(row, lease);
    this.identify(row, image.task);
    this.place(row, image.queue, image.priority, image.dedupKey);
    this.enter(row, image.state, nowMs);
  }

  /** The id, the key and the schedule of a task, which never change. */
  private identify(row: TaskRow, key: TaskKey): void {
    this.byId.add(this.keyHash(key), row);
    if (typeof key === 'string') {
      this.id.set(row, key);
      this.keep(key, row);
    }
    const groupKey = this.groupKey.get(row);
    if (groupKey !== null) this.byKey.add(row, groupKey);
    const schedule = this.schedule.get(row);
    if (schedule !== null) this.unfinished.set(schedule, this.unfinishedOf(schedule) + 1);
  }

  private place(row: TaskRow, queue: string, priority: number, dedupKey: string | null): void {
    this.priorities.set(row, priority + 128);
    const opened = this.openQueue(queue);
    this.queueIndex.set(row, opened.index);
    const side = this.sparse.of(row);
    const groupKey = side === 0 ? null : this.groupKey.get(row);
    if (groupKey !== null) this.keyRows.set(side, this.keys.take(opened, groupKey));
    if (dedupKey !== null) this.byDedup.add(this.dedupHash(queue, dedupKey), row);
  }

  private leaveKey(row: TaskRow): void {
    const key = this.keyOf(row);
    if (key === 0) return;
    this.keyRows.set(this.sparse.of(row), 0);
    this.keys.release(key);
  }

  /** Puts a task that is in no place into the place of `state`; its times must be set before. */
  enter(row: TaskRow, state: TaskState, nowMs: number): void {
    const queue = this.queueOf(row);
    this.states.set(row, codeOf(state));
    queue.lists.add(row, state);
    this.lists.add(row, state);
    if (state === 'WAITING') {
      const dueAtMs = this.dueAtMs.get(row);
      if (dueAtMs > nowMs) {
        this.sleep(row, queue, dueAtMs);
      } else {
        queue.add(row, this.priorityOf(row), this.keyOf(row));
      }
    } else if (state === 'LEASED') {
      const key = this.keyOf(row);
      if (key !== 0) this.keys.countLeased(key, 1);
      this.expiring.add(row, this.leases.expiresAtMs.get(this.lease.get(row)));
    } else {
      this.endedList(row, state).append(row);
      this.leaveKey(row);
      const dedupKey = this.dedupKey.get(row);
      if (dedupKey !== null) this.byDedup.remove(this.dedupHash(queue.name, dedupKey), row);
      const schedule = this.schedule.get(row);
      if (schedule !== null) this.finish(schedule);
    }
  }

  private finish(schedule: string): void {
    const count = this.unfinishedOf(schedule) - 1;
    if (count === 0) this.unfinished.delete(schedule);
    else this.unfinished.set(schedule, count);
  }

  /** Takes a task out of the place of its state. */
  leave(row: TaskRow): void {
    const state = this.stateOf(row);
    const queue = this.queueOf(row);
    queue.lists.remove(row, state);
    this.lists.remove(row, state);
    if (state === 'WAITING') {
      if (this.asleep.get(row) === 0) queue.remove(row, this.priorityOf(row), this.keyOf(row));
      else this.wake(row, queue);
    } else if (state === 'LEASED') {
      const key = this.keyOf(row);
      if (key !== 0) this.keys.countLeased(key, -1);
      this.expiring.remove(row);
    } else {
      this.endedList(row, state).remove(row);
    }
  }

  /** Where an ended task is kept until it is forgotten. */
  private endedList(row: TaskRow, state: TaskState): RowList<TaskRow> {
    if (state === 'COMPLETED' || this.queueOf(row).name === START_QUEUE) return this.completed;
    return state === 'DEAD' && this.reason.equals(row, CANCELLED) ? this.completed : this.failed;
  }

  /** All ended tasks in the order of their end. */
  *inOrderOfEnd(): Generator<TaskRow> {
    let completed = this.completed.first;
    let failed = this.failed.first;
    while (completed !== 0 || failed !== 0) {
      const isCompleted =
        failed === 0 || (completed !== 0 && this.endedSeq.get(completed) <= this.endedSeq.get(failed));
      const row = (isCompleted ? completed : failed) as TaskRow;
      // The lists share their links.
      const next = this.after.get(row);
      if (isCompleted) completed = next;
      else failed = next;
      yield row;
    }
  }

  /** The successor of a task that was requeued, unless it was forgotten; its id may belong to another task by now. */
  successorOf(row: TaskRow): TaskRow | 0 {
    const id = this.requeuedAs.get(row);
    const successor = id === null ? 0 : this.find(id);
    return successor !== 0 && this.originOf(successor) === row ? successor : 0;
  }

  /** The task that this one runs again, unless it was forgotten; its id may belong to another task by now. */
  originOf(row: TaskRow): TaskRow | 0 {
    const id = this.requeuedFrom.get(row);
    const origin = id === null ? 0 : this.find(id);
    if (origin === 0) return 0;
    const endedSeq = this.endedSeq.get(origin);
    return endedSeq !== 0 && endedSeq < this.createdSeq.get(row) ? origin : 0;
  }

  /**
   * Moves up to `max` delayed tasks that are due by `nowMs` into their lanes and adds their queues to `queues`. This
   * needs no entry: whether a task is due follows from its time.
   */
  wakeDelayed(nowMs: number, max: number, queues: Set<string>): void {
    for (let woken = 0; woken < max && this.delayed.topKey() <= nowMs; woken++) {
      const row = this.delayed.topRow();
      const queue = this.queueOf(row);
      this.wake(row, queue);
      queue.add(row, this.priorityOf(row), this.keyOf(row));
      queues.add(queue.name);
    }
  }

  /** Frees a row that has left its place. */
  forget(row: TaskRow): void {
    const queue = this.queueOf(row);
    this.byId.remove(this.keyHash(this.key(row)), row);
    if (row === this.foundChosen) this.foundChosen = 0;
    this.leases.forgetFrom(this.lease.get(row));
    const groupKey = this.groupKey.get(row);
    if (groupKey !== null) this.byKey.remove(row, groupKey);
    this.leaveKey(row);
    this.id.set(row, null);
    this.clear(row);
    this.states.set(row, 0);
    this.rows.free(row);
    this.dropIfIdle(queue);
  }

  openQueue(name: string): Queue {
    let queue = this.queues.get(name);
    if (queue === undefined) {
      const index = this.freeQueues.pop() ?? this.queueAt.length;
      queue = new Queue(name, index, this);
      this.queueAt[index] = queue;
      this.queues.set(name, queue);
    }
    return queue;
  }

  dropIfIdle(queue: Queue): void {
    if (!queue.idle) return;
    this.queues.delete(queue.name);
    this.queueAt[queue.index] = undefined;
    this.freeQueues.push(queue.index);
  }

  private sleep(row: TaskRow, queue: Queue, dueAtMs: number): void {
    if (this.isBackingOff(row)) queue.backingOff += 1;
    else queue.delayed += 1;
    this.asleep.set(row, 1);
    this.delayed.add(row, dueAtMs);
  }

  private wake(row: TaskRow, queue: Queue): void {
    if (this.isBackingOff(row)) queue.backingOff -= 1;
    else queue.delayed -= 1;
    this.asleep.set(row, 0);
    this.delayed.remove(row);
  }

  private findBySeq(seq: Seq): TaskRow | 0 {
    const found = this.found;
    if (this.createdSeq.get(found) === seq && !this.id.has(found) && this.states.get(found) !== 0)
      return found;
    const index = this.byId;
    for (let node = index.first(hashOfSeq(seq)); node !== 0; node = index.after(node)) {
      const row = index.row(node);
      if (!this.id.has(row) && this.createdSeq.get(row) === seq) {
        this.found = row;
        return row;
      }
    }
    return 0;
  }

  private findByChosenId(id: string): TaskRow | 0 {
    if (this.foundChosen !== 0 && this.chosenId === id) return this.foundChosen;
    const index = this.byId;
    for (let node = index.first(this.hashOf(id)); node !== 0; node = index.after(node)) {
      const row = index.row(node);
      if (this.id.equals(row, id)) {
        this.keep(id, row);
        return row;
      }
    }
    return 0;
  }

  private chosenIdOf(row: TaskRow): string {
    if (row !== this.foundChosen) this.keep(this.id.get(row)!, row);
    return this.chosenId;
  }

  private keep(id: string, row: TaskRow): void {
    this.chosenId = id;
    this.foundChosen = row;
  }

  private hashOf(id: string): number {
    if (id !== this.hashedId) {
      this.hashedId = id;
      this.hash = hashOfString(id, this.seed);
    }
    return this.hash;
  }

  private keyHash(key: TaskKey): number {
    return typeof key === 'number' ? hashOfSeq(key) : this.hashOf(key);
  }

  private dedupHash(queue: string, dedupKey: string): number {
    return hashOfString(dedupKey, hashOfString(queue, this.seed));
  }
}

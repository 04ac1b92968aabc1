/**
 * The tasks of a queue, or of all queues, by state, each in the order in which they were created. Lists and counts are
 * read from here. A state without tasks so far costs nothing.
 */
import type { TaskState } from './image.ts';
import type { Seq, TaskRow } from './row-types.ts';
import type { Float64Column } from './tables/columns.ts';
import { OrderedRows } from './tables/ordered-rows.ts';

export const TASK_STATES: readonly TaskState[] = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'];

export class StateLists {
  private readonly createdSeq: Float64Column<TaskRow, Seq>;
  private waiting: OrderedRows<TaskRow> | null = null;
  private leased: OrderedRows<TaskRow> | null = null;
  private completed: OrderedRows<TaskRow> | null = null;
  private failed: OrderedRows<TaskRow> | null = null;
  private dead: OrderedRows<TaskRow> | null = null;

  constructor(createdSeq: Float64Column<TaskRow, Seq>) {
    this.createdSeq = createdSeq;
  }

  /** Null when there never was one; may be empty. */
  of(state: TaskState): OrderedRows<TaskRow> | null {
    // A property per state: on the hot path a lookup by a name that varies is megamorphic.
    switch (state) {
      case 'WAITING':
        return this.waiting;
      case 'LEASED':
        return this.leased;
      case 'COMPLETED':
        return this.completed;
      case 'FAILED':
        return this.failed;
      case 'DEAD':
        return this.dead;
    }
  }

  add(row: TaskRow, state: TaskState): void {
    (this.of(state) ?? this.create(state)).add(row);
  }

  remove(row: TaskRow, state: TaskState): void {
    this.of(state)!.remove(row);
  }

  count(state: TaskState): number {
    return this.of(state)?.size ?? 0;
  }

  get counts(): Record<TaskState, number> {
    return {
      WAITING: this.count('WAITING'),
      LEASED: this.count('LEASED'),
      COMPLETED: this.count('COMPLETED'),
      FAILED: this.count('FAILED'),
      DEAD: this.count('DEAD'),
    };
  }

  get isEmpty(): boolean {
    return TASK_STATES.every((state) => this.count(state) === 0);
  }

  private create(state: TaskState): OrderedRows<TaskRow> {
    const rows = new OrderedRows<TaskRow>(this.createdSeq);
    if (state === 'WAITING') this.waiting = rows;
    else if (state === 'LEASED') this.leased = rows;
    else if (state === 'COMPLETED') this.completed = rows;
    else if (state === 'FAILED') this.failed = rows;
    else this.dead = rows;
    return rows;
  }
}

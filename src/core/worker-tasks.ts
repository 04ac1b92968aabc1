/**
 * The leased tasks of each worker, in the order in which they were created. Derived from the live leases: a worker is
 * known here while it has at least one. The lease stores the number of its worker, so that ending a lease needs no
 * lookup by the worker's name.
 */
import type { LeaseRow, Seq, TaskRow } from './row-types.ts';
import { type Float64Column, Int32Column } from './tables/columns.ts';
import { OrderedRows } from './tables/ordered-rows.ts';

interface Worker {
  id: string;
  readonly number: number;
  readonly tasks: OrderedRows<TaskRow>;
}

export class WorkerTasks {
  private readonly createdSeq: Float64Column<TaskRow, Seq>;
  private readonly byId = new Map<string, Worker>();
  private readonly byNumber: Worker[] = [];
  /** Records without tasks, reused: a worker that takes one task at a time would otherwise need a new one for each task. */
  private readonly free: Worker[] = [];
  private readonly numbers = new Int32Column<LeaseRow>();

  constructor(createdSeq: Float64Column<TaskRow, Seq>) {
    this.createdSeq = createdSeq;
  }

  reserve(row: number): void {
    this.numbers.reserve(row);
  }

  /** Null when the worker has no task. */
  of(workerId: string): OrderedRows<TaskRow> | null {
    return this.byId.get(workerId)?.tasks ?? null;
  }

  /** Every worker that has a task, with how many it has. */
  *counts(): Generator<[string, number]> {
    for (const { id, tasks } of this.byId.values()) yield [id, tasks.size];
  }

  add(lease: LeaseRow, workerId: string, task: TaskRow): void {
    let worker = this.byId.get(workerId);
    if (worker === undefined) {
      worker = this.free.pop() ?? this.newWorker();
      worker.id = workerId;
      this.byId.set(workerId, worker);
    }
    this.numbers.set(lease, worker.number);
    worker.tasks.add(task);
  }

  remove(lease: LeaseRow, task: TaskRow): void {
    const worker = this.byNumber[this.numbers.get(lease)]!;
    worker.tasks.remove(task);
    if (worker.tasks.size > 0) return;
    this.byId.delete(worker.id);
    this.free.push(worker);
  }

  private newWorker(): Worker {
    const worker = { id: '', number: this.byNumber.length, tasks: new OrderedRows<TaskRow>(this.createdSeq) };
    this.byNumber.push(worker);
    return worker;
  }
}

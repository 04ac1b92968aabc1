/**
 * Leases on tasks: the current one and the last 16 that ended, chained from their task, newest first.
 * A lease does not exist apart from its task. `LeaseImage` describes the columns.
 */
import { LEASE_ENDS, type LeaseEnd, type LeaseImage } from './image.ts';
import { LeaseColumns } from './row-columns.ts';
import type { LeaseRow, Seq, TaskRow } from './row-types.ts';
import { Float64Column, Int32Column, Uint8Column } from './tables/columns.ts';
import { HashIndex, hashOfString } from './tables/hash-index.ts';
import { Rows } from './tables/rows.ts';
import type { StringSlab } from './tables/text-column.ts';
import { WorkerTasks } from './worker-tasks.ts';

/** How many ended leases a task remembers. */
const PAST_LEASES_MAX = 16;

const NONE: readonly LeaseRow[] = [];

const LIVE = LEASE_ENDS.indexOf('live');

export class LeaseTable extends LeaseColumns {
  readonly task = new Int32Column<LeaseRow, TaskRow>();
  /** The next older lease of the same task. */
  readonly older = new Int32Column<LeaseRow, LeaseRow>();
  /** For the metrics only, and in no image: 0 when the lease was restored from a checkpoint. */
  readonly grantedAtMs = new Float64Column<LeaseRow>();
  private readonly ends = new Uint8Column<LeaseRow>();
  private readonly requestHash = new Int32Column<LeaseRow>();
  /** Live leases of one request, up to a thousand: only the first is in the index, the others are chained from it. */
  private readonly sibling = new Int32Column<LeaseRow, LeaseRow>();
  private readonly siblingBefore = new Int32Column<LeaseRow, LeaseRow>();
  readonly byRequest = new HashIndex<LeaseRow>();
  readonly byWorker: WorkerTasks;
  private hashedWorker = '';
  private hashedRequest = '';
  private hash: number;
  readonly rows: Rows<LeaseRow>;
  private readonly seed: number;

  constructor(strings: StringSlab, seed: number, createdSeq: Float64Column<TaskRow, Seq>) {
    super(strings);
    this.seed = seed;
    this.byWorker = new WorkerTasks(createdSeq);
    this.hash = hashOfString(this.hashedRequest, hashOfString(this.hashedWorker, seed));
    this.rows = new Rows<LeaseRow>([
      ...this.columns,
      this.task,
      this.older,
      this.grantedAtMs,
      this.ends,
      this.requestHash,
      this.sibling,
      this.siblingBefore,
      this.byWorker,
    ]);
  }

  /** A live lease at the head of its task's chain. */
  grant(
    task: TaskRow,
    seq: Seq,
    workerId: string,
    requestId: string | null,
    expiresAtMs: number,
    older: LeaseRow | 0,
  ): LeaseRow {
    const row = this.rows.take();
    this.start(row, seq, workerId, requestId, expiresAtMs);
    this.task.set(row, task);
    this.older.set(row, older);
    this.ends.set(row, LIVE);
    this.enterIndexes(row, task, workerId, requestId);
    return row;
  }

  private enterIndexes(row: LeaseRow, task: TaskRow, workerId: string, requestId: string | null): void {
    this.byWorker.add(row, workerId, task);
    if (requestId !== null) this.link(row, workerId, requestId);
  }

  private link(row: LeaseRow, workerId: string, requestId: string): void {
    const hash = this.hashOf(workerId, requestId);
    const first = this.firstOfRequest(hash, workerId, requestId);
    this.requestHash.set(row, hash);
    this.siblingBefore.set(row, first);
    this.sibling.set(row, first === 0 ? 0 : this.sibling.get(first));
    if (first === 0) {
      this.byRequest.add(hash, row);
      return;
    }
    const next = this.sibling.get(first);
    if (next !== 0) this.siblingBefore.set(next, row);
    this.sibling.set(first, row);
  }

  /** For a lease that is live until now. */
  private leaveIndexes(row: LeaseRow): void {
    this.byWorker.remove(row, this.task.get(row));
    this.unlink(row);
  }

  private unlink(row: LeaseRow): void {
    if (!this.requestId.has(row)) return;
    this.requestId.set(row, null);
    const before = this.siblingBefore.get(row);
    const next = this.sibling.get(row);
    if (next !== 0) this.siblingBefore.set(next, before);
    if (before !== 0) {
      this.sibling.set(before, next);
      return;
    }
    const hash = this.requestHash.get(row);
    this.byRequest.remove(hash, row);
    if (next !== 0) this.byRequest.add(hash, next);
  }

  /** A request is looked up before its leases are granted, so the newest hash is cached. */
  private hashOf(workerId: string, requestId: string): number {
    if (requestId !== this.hashedRequest || workerId !== this.hashedWorker) {
      this.hashedRequest = requestId;
      this.hashedWorker = workerId;
      this.hash = hashOfString(requestId, hashOfString(workerId, this.seed));
    }
    return this.hash;
  }

  /** 0 when the request has no live lease. */
  private firstOfRequest(hash: number, workerId: string, requestId: string): LeaseRow | 0 {
    const { byRequest } = this;
    for (let node = byRequest.first(hash); node !== 0; node = byRequest.after(node)) {
      const row = byRequest.row(node);
      if (this.workerId.equals(row, workerId) && this.requestId.equals(row, requestId)) return row;
    }
    return 0;
  }

  /** Ends a live lease and removes it from the index by request, which holds live leases only. */
  end(row: LeaseRow, how: LeaseEnd, seq: Seq, dueAtMs: number): void {
    this.leaveIndexes(row);
    this.ends.set(row, LEASE_ENDS.indexOf(how));
    this.endedSeq.set(row, seq);
    this.dueAtMs.set(row, dueAtMs);
  }

  /** Frees a lease and all older ones of the same task. */
  forgetFrom(first: LeaseRow | 0): void {
    for (let row: LeaseRow | 0 = first; row !== 0; ) {
      const older = this.older.get(row);
      if (this.endOf(row) === 'live') this.leaveIndexes(row);
      this.clear(row);
      this.rows.free(row);
      row = older;
    }
  }

  /** Keeps the newest `PAST_LEASES_MAX` of a chain, before a new lease becomes its head. */
  trim(first: LeaseRow | 0): void {
    let row: LeaseRow | 0 = first;
    for (let kept = 1; row !== 0 && kept < PAST_LEASES_MAX; kept++) row = this.older.get(row);
    if (row === 0) return;
    const rest = this.older.get(row);
    if (rest === 0) return;
    this.older.set(row, 0);
    this.forgetFrom(rest);
  }

  endOf(row: LeaseRow): LeaseEnd {
    return LEASE_ENDS[this.ends.get(row)]!;
  }

  workerOf(row: LeaseRow): string {
    return this.workerId.get(row)!;
  }

  /** The live leases of one request of one worker, oldest grant first. */
  findByRequest(workerId: string, requestId: string): readonly LeaseRow[] {
    let row = this.firstOfRequest(this.hashOf(workerId, requestId), workerId, requestId);
    if (row === 0) return NONE;
    const found: LeaseRow[] = [];
    for (; row !== 0; row = this.sibling.get(row)) found.push(row);
    return found.sort((a, b) => this.seq.get(a) - this.seq.get(b));
  }

  restore(task: TaskRow, image: LeaseImage, older: LeaseRow | 0): LeaseRow {
    const row = this.rows.take();
    this.restoreColumns(row, image);
    this.task.set(row, task);
    this.older.set(row, older);
    this.grantedAtMs.set(row, 0);
    this.ends.set(row, LEASE_ENDS.indexOf(image.end));
    if (image.end === 'live') this.enterIndexes(row, task, image.workerId, image.requestId);
    return row;
  }
}

// biome-ignore-all format: generated, one column a line
/**
 * What tasks, leases and names remember, as the tables keep it. The tables extend these classes, and add indexes
 * and what needs a form of its own. What the columns mean is said in `image.ts`. Generated from `src/core/row-table.ts` by `npm run generate`; a test compares.
 */
import type { TaskCreated, TaskKey } from './entries.ts';
import type { LeaseEnd, LeaseImage, NameEnd, NameImage, ObjectImage, TaskImage, TaskState } from './image.ts';
import type { Opaque } from './opaque.ts';
import type { LeaseRow, NameRow, Seq, TaskRow } from './row-types.ts';
import { Float64Column, Uint32Column } from './tables/columns.ts';
import { type Move, OpaqueColumn } from './tables/opaque-column.ts';
import type { Reservable } from './tables/rows.ts';
import { SideRows, SparseColumn } from './tables/side-rows.ts';
import { type StringSlab, TextColumn } from './tables/text-column.ts';

export abstract class LeaseColumns {
  readonly sparse = new SideRows<LeaseRow>();
  readonly seq = new Float64Column<LeaseRow, Seq>();
  readonly expiresAtMs = new Float64Column<LeaseRow>();
  readonly endedSeq = new Float64Column<LeaseRow, Seq>();
  readonly dueAtMs = new Float64Column<LeaseRow>();
  readonly cancelledSeq = new SparseColumn<LeaseRow, Seq, Float64Column<number, Seq>>(this.sparse, new Float64Column<number, Seq>(), 0);
  readonly lateResult = new SparseColumn<LeaseRow, Opaque | null, OpaqueColumn<number>>(this.sparse, new OpaqueColumn<number>(), null);
  readonly workerId: TextColumn<LeaseRow>;
  readonly requestId: TextColumn<LeaseRow>;
  protected readonly columns: readonly Reservable[];

  constructor(strings: StringSlab) {
    this.workerId = new TextColumn<LeaseRow>(strings);
    this.requestId = new TextColumn<LeaseRow>(strings);
    this.columns = [this.sparse, this.seq, this.workerId, this.requestId, this.expiresAtMs, this.endedSeq, this.dueAtMs];
  }

  abstract endOf(row: LeaseRow): LeaseEnd;

  /** The first values of a new row. */
  protected start(row: LeaseRow, seq: Seq, workerId: string, requestId: string | null, expiresAtMs: number): void {
    this.seq.set(row, seq);
    this.workerId.set(row, workerId);
    this.requestId.set(row, requestId);
    this.expiresAtMs.set(row, expiresAtMs);
    this.endedSeq.set(row, 0);
    this.dueAtMs.set(row, 0);
  }

  image(row: LeaseRow): LeaseImage {
    return {
      seq: this.seq.get(row),
      workerId: this.workerId.get(row)!,
      requestId: this.requestId.get(row),
      expiresAtMs: this.expiresAtMs.get(row),
      end: this.endOf(row),
      endedSeq: this.endedSeq.get(row),
      dueAtMs: this.dueAtMs.get(row),
      cancelledSeq: this.cancelledSeq.get(row),
      lateResult: this.lateResult.get(row),
    };
  }

  /** Everything but what the table keeps in a form of its own. */
  protected restoreColumns(row: LeaseRow, image: LeaseImage): void {
    this.seq.set(row, image.seq);
    this.workerId.set(row, image.workerId);
    this.requestId.set(row, image.requestId);
    this.expiresAtMs.set(row, image.expiresAtMs);
    this.endedSeq.set(row, image.endedSeq);
    this.dueAtMs.set(row, image.dueAtMs);
    this.cancelledSeq.set(row, image.cancelledSeq);
    this.lateResult.set(row, image.lateResult);
  }

  /** Frees what the columns keep elsewhere, before the row itself is freed. */
  protected clear(row: LeaseRow): void {
    this.workerId.set(row, null);
    this.requestId.set(row, null);
    this.sparse.free(row);
  }

  relocate(row: LeaseRow, move: Move): void {
    this.lateResult.inner.relocate(this.sparse.of(row), move);
  }

  /** How many strings the row keeps. */
  textCount(row: LeaseRow): number {
    return (this.workerId.get(row) === null ? 0 : 1) + (this.requestId.get(row) === null ? 0 : 1);
  }
}

export abstract class TaskColumns {
  readonly sparse = new SideRows<TaskRow>();
  readonly createdSeq = new Float64Column<TaskRow, Seq>();
  readonly createdAtMs = new Float64Column<TaskRow>();
  readonly attempt = new Uint32Column<TaskRow>();
  readonly countedAttempts = new Uint32Column<TaskRow>();
  readonly failures = new Uint32Column<TaskRow>();
  readonly maxFailures = new Uint32Column<TaskRow>();
  readonly backoffMs = new Uint32Column<TaskRow>();
  readonly maxBackoffMs = new Uint32Column<TaskRow>();
  readonly maxAttempts = new Uint32Column<TaskRow>();
  readonly payload = new OpaqueColumn<TaskRow>();
  readonly dueAtMs = new Float64Column<TaskRow>();
  readonly result = new OpaqueColumn<TaskRow>();
  readonly endedSeq = new Float64Column<TaskRow, Seq>();
  readonly endedAtMs = new Float64Column<TaskRow>();
  readonly lastSeq = new Float64Column<TaskRow, Seq>();
  readonly checkpoint = new SparseColumn<TaskRow, Opaque | null, OpaqueColumn<number>>(this.sparse, new OpaqueColumn<number>(), null);
  readonly dedupKey: TextColumn<TaskRow>;
  readonly reason: TextColumn<TaskRow>;
  readonly groupKey: SparseColumn<TaskRow, string | null, TextColumn<number>>;
  readonly traceparent: SparseColumn<TaskRow, string | null, TextColumn<number>>;
  readonly tracestate: SparseColumn<TaskRow, string | null, TextColumn<number>>;
  readonly requeuedFrom: SparseColumn<TaskRow, string | null, TextColumn<number>>;
  readonly requeuedAs: SparseColumn<TaskRow, string | null, TextColumn<number>>;
  readonly cancelReason: SparseColumn<TaskRow, string | null, TextColumn<number>>;
  readonly reasonDetail: SparseColumn<TaskRow, string | null, TextColumn<number>>;
  readonly schedule: SparseColumn<TaskRow, string | null, TextColumn<number>>;
  protected readonly columns: readonly Reservable[];

  constructor(strings: StringSlab) {
    this.dedupKey = new TextColumn<TaskRow>(strings);
    this.reason = new TextColumn<TaskRow>(strings);
    this.groupKey = new SparseColumn<TaskRow, string | null, TextColumn<number>>(this.sparse, new TextColumn<number>(strings), null);
    this.traceparent = new SparseColumn<TaskRow, string | null, TextColumn<number>>(this.sparse, new TextColumn<number>(strings), null);
    this.tracestate = new SparseColumn<TaskRow, string | null, TextColumn<number>>(this.sparse, new TextColumn<number>(strings), null);
    this.requeuedFrom = new SparseColumn<TaskRow, string | null, TextColumn<number>>(this.sparse, new TextColumn<number>(strings), null);
    this.requeuedAs = new SparseColumn<TaskRow, string | null, TextColumn<number>>(this.sparse, new TextColumn<number>(strings), null);
    this.cancelReason = new SparseColumn<TaskRow, string | null, TextColumn<number>>(this.sparse, new TextColumn<number>(strings), null);
    this.reasonDetail = new SparseColumn<TaskRow, string | null, TextColumn<number>>(this.sparse, new TextColumn<number>(strings), null);
    this.schedule = new SparseColumn<TaskRow, string | null, TextColumn<number>>(this.sparse, new TextColumn<number>(strings), null);
    this.columns = [this.sparse, this.createdSeq, this.createdAtMs, this.attempt, this.countedAttempts, this.failures, this.maxFailures, this.backoffMs, this.maxBackoffMs, this.maxAttempts, this.dedupKey, this.payload, this.dueAtMs, this.reason, this.result, this.endedSeq, this.endedAtMs, this.lastSeq];
  }

  abstract key(row: TaskRow): TaskKey;
  abstract queueNameOf(row: TaskRow): string;
  abstract priorityOf(row: TaskRow): number;
  abstract stateOf(row: TaskRow): TaskState;
  abstract leasesOf(row: TaskRow): readonly LeaseImage[];

  /** The first values of a new row. */
  protected start(row: TaskRow, entry: Omit<TaskCreated, 'type'>, seq: Seq, atMs: number): void {
    this.createdSeq.set(row, seq);
    this.createdAtMs.set(row, atMs);
    this.attempt.set(row, 0);
    this.countedAttempts.set(row, 0);
    this.failures.set(row, 0);
    this.maxFailures.set(row, entry.maxFailures);
    this.backoffMs.set(row, entry.backoffMs);
    this.maxBackoffMs.set(row, entry.maxBackoffMs);
    this.maxAttempts.set(row, entry.maxAttempts);
    this.dedupKey.set(row, entry.dedupKey);
    this.payload.set(row, entry.payload);
    this.dueAtMs.set(row, entry.dueAtMs);
    this.reason.set(row, null);
    this.result.set(row, null);
    this.endedSeq.set(row, 0);
    this.endedAtMs.set(row, 0);
    this.lastSeq.set(row, seq);
    if (entry.groupKey !== null) this.groupKey.set(row, entry.groupKey);
    if (entry.traceparent !== null) this.traceparent.set(row, entry.traceparent);
    if (entry.tracestate !== null) this.tracestate.set(row, entry.tracestate);
    if (entry.requeuedFrom !== null) this.requeuedFrom.set(row, entry.requeuedFrom);
  }

  image(row: TaskRow): TaskImage {
    return {
      kind: 'task',
      row,
      task: this.key(row),
      createdSeq: this.createdSeq.get(row),
      createdAtMs: this.createdAtMs.get(row),
      queue: this.queueNameOf(row),
      priority: this.priorityOf(row),
      state: this.stateOf(row),
      attempt: this.attempt.get(row),
      countedAttempts: this.countedAttempts.get(row),
      failures: this.failures.get(row),
      maxFailures: this.maxFailures.get(row),
      backoffMs: this.backoffMs.get(row),
      maxBackoffMs: this.maxBackoffMs.get(row),
      maxAttempts: this.maxAttempts.get(row),
      dedupKey: this.dedupKey.get(row),
      payload: this.payload.get(row)!,
      dueAtMs: this.dueAtMs.get(row),
      reason: this.reason.get(row),
      result: this.result.get(row),
      endedSeq: this.endedSeq.get(row),
      endedAtMs: this.endedAtMs.get(row),
      lastSeq: this.lastSeq.get(row),
      leases: this.leasesOf(row),
      groupKey: this.groupKey.get(row),
      traceparent: this.traceparent.get(row),
      tracestate: this.tracestate.get(row),
      requeuedFrom: this.requeuedFrom.get(row),
      requeuedAs: this.requeuedAs.get(row),
      cancelReason: this.cancelReason.get(row),
      reasonDetail: this.reasonDetail.get(row),
      checkpoint: this.checkpoint.get(row),
      schedule: this.schedule.get(row),
    };
  }

  /** Everything but what the table keeps in a form of its own. */
  protected restoreColumns(row: TaskRow, image: TaskImage): void {
    this.createdSeq.set(row, image.createdSeq);
    this.createdAtMs.set(row, image.createdAtMs);
    this.attempt.set(row, image.attempt);
    this.countedAttempts.set(row, image.countedAttempts);
    this.failures.set(row, image.failures);
    this.maxFailures.set(row, image.maxFailures);
    this.backoffMs.set(row, image.backoffMs);
    this.maxBackoffMs.set(row, image.maxBackoffMs);
    this.maxAttempts.set(row, image.maxAttempts);
    this.dedupKey.set(row, image.dedupKey);
    this.payload.set(row, image.payload);
    this.dueAtMs.set(row, image.dueAtMs);
    this.reason.set(row, image.reason);
    this.result.set(row, image.result);
    this.endedSeq.set(row, image.endedSeq);
    this.endedAtMs.set(row, image.endedAtMs);
    this.lastSeq.set(row, image.lastSeq);
    this.groupKey.set(row, image.groupKey);
    this.traceparent.set(row, image.traceparent);
    this.tracestate.set(row, image.tracestate);
    this.requeuedFrom.set(row, image.requeuedFrom);
    this.requeuedAs.set(row, image.requeuedAs);
    this.cancelReason.set(row, image.cancelReason);
    this.reasonDetail.set(row, image.reasonDetail);
    this.checkpoint.set(row, image.checkpoint);
    this.schedule.set(row, image.schedule);
  }

  /** Frees what the columns keep elsewhere, before the row itself is freed. */
  protected clear(row: TaskRow): void {
    this.dedupKey.set(row, null);
    this.reason.set(row, null);
    this.sparse.free(row);
  }

  relocate(row: TaskRow, move: Move): void {
    this.payload.relocate(row, move);
    this.result.relocate(row, move);
    this.checkpoint.inner.relocate(this.sparse.of(row), move);
  }

  /** How many strings the row keeps. */
  textCount(row: TaskRow): number {
    return (this.dedupKey.get(row) === null ? 0 : 1) + (this.reason.get(row) === null ? 0 : 1) + (this.groupKey.get(row) === null ? 0 : 1) + (this.traceparent.get(row) === null ? 0 : 1) + (this.tracestate.get(row) === null ? 0 : 1) + (this.requeuedFrom.get(row) === null ? 0 : 1) + (this.requeuedAs.get(row) === null ? 0 : 1) + (this.cancelReason.get(row) === null ? 0 : 1) + (this.reasonDetail.get(row) === null ? 0 : 1) + (this.schedule.get(row) === null ? 0 : 1);
  }
}

export abstract class NameColumns {
  readonly leaseSeq = new Float64Column<NameRow, Seq>();
  readonly acquiredAtMs = new Float64Column<NameRow>();
  readonly expiresAtMs = new Float64Column<NameRow>();
  readonly metadata = new OpaqueColumn<NameRow>();
  readonly endedSeq = new Float64Column<NameRow, Seq>();
  readonly endedAtMs = new Float64Column<NameRow>();
  readonly version = new Float64Column<NameRow>();
  readonly value = new OpaqueColumn<NameRow>();
  readonly valueLeaseSeq = new Float64Column<NameRow, Seq>();
  readonly valueSeq = new Float64Column<NameRow, Seq>();
  readonly lastSeq = new Float64Column<NameRow, Seq>();
  readonly name: TextColumn<NameRow>;
  readonly holder: TextColumn<NameRow>;
  protected readonly columns: readonly Reservable[];

  constructor(strings: StringSlab) {
    this.name = new TextColumn<NameRow>(strings);
    this.holder = new TextColumn<NameRow>(strings);
    this.columns = [this.name, this.leaseSeq, this.holder, this.acquiredAtMs, this.expiresAtMs, this.metadata, this.endedSeq, this.endedAtMs, this.version, this.value, this.valueLeaseSeq, this.valueSeq, this.lastSeq];
  }

  abstract endOf(row: NameRow): NameEnd;
  abstract tokenHashOf(row: NameRow): string;
  abstract objectOf(row: NameRow): ObjectImage | null;
  abstract pastTokensOf(row: NameRow): readonly string[];

  /** The first values of a new row. */
  protected start(row: NameRow, name: string): void {
    this.name.set(row, name);
    this.leaseSeq.set(row, 0);
    this.holder.set(row, null);
    this.acquiredAtMs.set(row, 0);
    this.expiresAtMs.set(row, 0);
    this.metadata.set(row, null);
    this.endedSeq.set(row, 0);
    this.endedAtMs.set(row, 0);
    this.version.set(row, 0);
    this.value.set(row, null);
    this.valueLeaseSeq.set(row, 0);
    this.valueSeq.set(row, 0);
    this.lastSeq.set(row, 0);
  }

  image(row: NameRow): NameImage {
    return {
      kind: 'name',
      row,
      name: this.name.get(row)!,
      leaseSeq: this.leaseSeq.get(row),
      end: this.endOf(row),
      holder: this.holder.get(row) ?? '',
      tokenHash: this.tokenHashOf(row),
      acquiredAtMs: this.acquiredAtMs.get(row),
      expiresAtMs: this.expiresAtMs.get(row),
      metadata: this.metadata.get(row),
      endedSeq: this.endedSeq.get(row),
      endedAtMs: this.endedAtMs.get(row),
      version: this.version.get(row),
      object: this.objectOf(row),
      lastSeq: this.lastSeq.get(row),
      pastTokens: this.pastTokensOf(row),
    };
  }

  /** Everything but what the table keeps in a form of its own. */
  protected restoreColumns(row: NameRow, image: NameImage): void {
    this.name.set(row, image.name);
    this.leaseSeq.set(row, image.leaseSeq);
    this.holder.set(row, image.holder);
    this.acquiredAtMs.set(row, image.acquiredAtMs);
    this.expiresAtMs.set(row, image.expiresAtMs);
    this.metadata.set(row, image.metadata);
    this.endedSeq.set(row, image.endedSeq);
    this.endedAtMs.set(row, image.endedAtMs);
    this.version.set(row, image.version);
    this.lastSeq.set(row, image.lastSeq);
  }

  /** Frees what the columns keep elsewhere, before the row itself is freed. */
  protected clear(row: NameRow): void {
    this.name.set(row, null);
    this.holder.set(row, null);
  }

  relocate(row: NameRow, move: Move): void {
    this.metadata.relocate(row, move);
    this.value.relocate(row, move);
  }

  /** How many strings the row keeps. */
  textCount(row: NameRow): number {
    return (this.name.get(row) === null ? 0 : 1) + (this.holder.get(row) === null ? 0 : 1);
  }
}

/** Which opaque bytes the record of a task refers to. */
export function taskOpaques(task: TaskImage): (Opaque | null)[] {
  return [task.payload, task.result, ...task.leases.map((item) => item.lateResult), task.checkpoint];
}

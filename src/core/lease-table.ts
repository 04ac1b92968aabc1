/**
 * Leases on tasks: the current one and the last 16 that ended, chained from their task, newest first.
 * A lease does not exist apart from its task; this table only keeps the fields.
 */
import type { LeaseEnd, LeaseImage } from './image.ts';
import { Float64Column, Int32Column, Uint8Column } from './tables/columns.ts';
import { HashIndex, hashOfString } from './tables/hash-index.ts';
import { OpaqueColumn } from './tables/opaque-column.ts';
import { Rows } from './tables/rows.ts';
import type { StringSlab } from './tables/string-slab.ts';

/** How many ended leases a task remembers. */
const PAST_LEASES_MAX = 16;

const ENDS: readonly LeaseEnd[] = ['live', 'complete', 'fail', 'release', 'expired', 'killed', 'restored'];

export class LeaseTable {
  readonly seq = new Float64Column();
  readonly task = new Int32Column();
  readonly expiresAtMs = new Float64Column();
  readonly endedSeq = new Float64Column();
  readonly dueAtMs = new Float64Column();
  readonly cancelledSeq = new Float64Column();
  readonly lateResult = new OpaqueColumn();
  /** The next older lease of the same task. */
  readonly older = new Int32Column();
  private readonly ends = new Uint8Column();
  private readonly worker = new Int32Column();
  private readonly request = new Int32Column();
  readonly byRequest = new HashIndex();
  readonly rows: Rows;
  private readonly strings: StringSlab;
  private readonly seed: number;

  constructor(strings: StringSlab, seed: number) {
    this.strings = strings;
    this.seed = seed;
    this.rows = new Rows([
      this.seq,
      this.task,
      this.expiresAtMs,
      this.endedSeq,
      this.dueAtMs,
      this.cancelledSeq,
      this.lateResult,
      this.older,
      this.ends,
      this.worker,
      this.request,
    ]);
  }

  /** A live lease at the head of its task's chain. */
  grant(
    task: number,
    seq: number,
    workerId: string,
    requestId: string | null,
    expiresAtMs: number,
    older: number,
  ): number {
    const row = this.rows.take();
    this.seq.set(row, seq);
    this.task.set(row, task);
    this.worker.set(row, this.strings.put(workerId));
    this.request.set(row, requestId === null ? 0 : this.strings.put(requestId));
    this.expiresAtMs.set(row, expiresAtMs);
    this.ends.set(row, 0);
    this.endedSeq.set(row, 0);
    this.dueAtMs.set(row, 0);
    this.cancelledSeq.set(row, 0);
    this.lateResult.set(row, null);
    this.older.set(row, older);
    if (requestId !== null) this.byRequest.add(this.requestHash(workerId, requestId), row);
    return row;
  }

  /** Ends a live lease; only live ones can be found by their request. */
  end(row: number, how: LeaseEnd, seq: number, dueAtMs: number): void {
    if (this.request.get(row) !== 0) this.byRequest.remove(this.hashOfRow(row), row);
    this.ends.set(row, ENDS.indexOf(how));
    this.endedSeq.set(row, seq);
    this.dueAtMs.set(row, dueAtMs);
  }

  /** Frees a lease and all older ones of the same task. */
  forgetFrom(first: number): void {
    for (let row = first; row !== 0; ) {
      const older = this.older.get(row);
      if (this.endOf(row) === 'live' && this.request.get(row) !== 0) {
        this.byRequest.remove(this.hashOfRow(row), row);
      }
      this.strings.free(this.worker.get(row));
      if (this.request.get(row) !== 0) this.strings.free(this.request.get(row));
      this.rows.free(row);
      row = older;
    }
  }

  /** Keeps the newest `PAST_LEASES_MAX` of a chain whose head is about to become one more. */
  trim(first: number): void {
    let row = first;
    for (let kept = 1; row !== 0 && kept < PAST_LEASES_MAX; kept++) row = this.older.get(row);
    if (row === 0) return;
    const rest = this.older.get(row);
    if (rest === 0) return;
    this.older.set(row, 0);
    this.forgetFrom(rest);
  }

  endOf(row: number): LeaseEnd {
    return ENDS[this.ends.get(row)]!;
  }

  workerOf(row: number): string {
    return this.strings.get(this.worker.get(row));
  }

  requestOf(row: number): string | null {
    const handle = this.request.get(row);
    return handle === 0 ? null : this.strings.get(handle);
  }

  /** The live leases of one request of one worker, oldest grant first. */
  findByRequest(workerId: string, requestId: string): number[] {
    const found: number[] = [];
    const index = this.byRequest;
    for (
      let node = index.first(this.requestHash(workerId, requestId));
      node !== 0;
      node = index.after(node)
    ) {
      const row = index.row(node);
      const same =
        this.strings.equals(this.worker.get(row), workerId) &&
        this.strings.equals(this.request.get(row), requestId);
      if (same) found.push(row);
    }
    return found.sort((a, b) => this.seq.get(a) - this.seq.get(b));
  }

  image(row: number): LeaseImage {
    return {
      seq: this.seq.get(row),
      workerId: this.workerOf(row),
      requestId: this.requestOf(row),
      expiresAtMs: this.expiresAtMs.get(row),
      end: this.endOf(row),
      endedSeq: this.endedSeq.get(row),
      dueAtMs: this.dueAtMs.get(row),
      cancelledSeq: this.cancelledSeq.get(row),
      lateResult: this.lateResult.get(row),
    };
  }

  restore(task: number, image: LeaseImage, older: number): number {
    const row = this.grant(task, image.seq, image.workerId, image.requestId, image.expiresAtMs, older);
    if (image.end !== 'live') this.end(row, image.end, image.endedSeq, image.dueAtMs);
    this.cancelledSeq.set(row, image.cancelledSeq);
    this.lateResult.set(row, image.lateResult);
    return row;
  }

  private hashOfRow(row: number): number {
    return this.requestHash(this.workerOf(row), this.strings.get(this.request.get(row)));
  }

  private requestHash(workerId: string, requestId: string): number {
    return hashOfString(requestId, hashOfString(workerId, this.seed));
  }
}

/**
 * The single writer. It writes one batch at a time: calls that arrive while a batch is being made durable form the next
 * batch, so throughput grows with load and a single call pays for one sync. Inside a batch every call
 * sees the effects of those before it; outside, nothing is visible before the batch is durable, because
 * reads and events pass through the same queue as changes.
 *
 *   call → queue → [ due ends · decide · apply · encode ] → log.append → answers, events
 *                   └───────────────── turn ────────────┘
 *
 * A failed append is final: all waiting callers get UNAVAILABLE and this authority ends. The same holds for a lost log and
 * a passed deadline: an answer that needed no entry is sent only while no other writer can have the log.
 */
import type { Answer, Answers, GrantedTasks, TaskCreation } from '../core/answers.ts';
import type { DecidedEntry } from '../core/batch.ts';
import type { Command } from '../core/commands.ts';
import { Machine } from '../core/machine.ts';
import type { Refusal } from '../core/refusals.ts';
import type { Retention } from '../core/retention.ts';
import { LOG_FORMAT, LOG_VERSION, type State } from '../core/state.ts';
import { writesNothing } from '../core/writes-nothing.ts';
import type { Log } from '../engines/log.ts';
import type { Timer, Timers, UptimeClock } from '../seams/clock.ts';
import { AuthorityClock } from './authority-clock.ts';
import { BatchSize } from './batch-size.ts';
import { calendar } from './calendar.ts';
import { Compactor } from './compactor.ts';
import { DiskPace } from './disk-pace.ts';
import { DueAlarm } from './due-alarm.ts';
import { Feed } from './feed.ts';
import { GrantDelivery } from './grant-delivery.ts';
import { IdleMark } from './idle-mark.ts';
import { isToCompare, Payloads } from './payloads.ts';
import { RefusedReadError } from './refused-read.ts';
import { type CallOptions, type Handling, PLAIN, Request, type Sink, URGENT } from './request.ts';
import { RequestQueue } from './request-queue.ts';
import { readSchedulePayloads } from './schedule-payloads.ts';
import { SoftState } from './soft-state.ts';
import { Stats } from './stats.ts';
import { ClosedError, UnavailableError } from './unavailable.ts';

/** A batch of up to this size is written on the loop's own thread. */
const DIRECT_BYTES_MAX = 16 * 1024;
const OVERLOADED: Refusal = { refused: 'OVERLOADED' };
const DISK_FULL: Refusal = { refused: 'DISK_FULL' };

export interface AuthorityOptions {
  readonly clock: UptimeClock;
  readonly timers: Timers;
  readonly retention: Retention;
  /** Called once when this authority has died. */
  readonly onDeath: (fault: Error) => void;
  /** Called when a compaction fails. Writing continues, the log grows, and compaction is retried after a pause. */
  readonly onCompactionFault: (fault: unknown) => void;
}

export class Authority {
  readonly state: State;
  readonly log: Log;
  readonly feed = new Feed();
  readonly soft = new SoftState(this.feed);
  readonly stats = new Stats();
  readonly clock: AuthorityClock;
  /** Converts a fault into the error that callers get. Here and not around every call, which would cost each a promise. */
  toCallerFault: (fault: Error) => Error = (fault) => fault;
  /** Called when a task ends because its payload cannot be read back. */
  onDamagedPayload: (taskId: string) => void = () => undefined;
  private readonly machine: Machine;
  private readonly compactor: Compactor;
  private readonly payloads: Payloads;
  private readonly alarm: DueAlarm;
  private readonly options: AuthorityOptions;
  private readonly queue = new RequestQueue();
  /** Calls whose answers are sent when the present batch is durable. */
  private settled: Request[] = [];
  private readonly grants = new GrantDelivery((command) => this.giveBack(command));
  private readonly abandoned: Request[] = [];
  private readonly endCalls = new Set<() => void>();
  /** How many entries of the machine's batch are in the log's. */
  private encoded = 0;
  private callsInBatch = 0;
  /** The last batch was full, by calls or by bytes, and calls were left in the queue. */
  private isBehind = false;
  private readonly batchSize = new BatchSize();
  private readonly disk = new DiskPace();
  private busy = false;
  private scheduled = false;
  private readonly idle: IdleMark;
  /** Keeps the process alive while a caller waits in a line. */
  private hold: Timer | null = null;
  private fault: UnavailableError | null = null;
  private closing: (() => void) | null = null;
  private closed: Promise<void> | null = null;

  constructor(state: State, log: Log, options: AuthorityOptions) {
    this.state = state;
    this.log = log;
    this.options = options;
    this.clock = new AuthorityClock(options.clock, state.lastAtMs, log);
    this.machine = new Machine(state, options.retention, undefined, undefined, calendar);
    this.compactor = new Compactor(log, state, options.timers, this.stats, options.onCompactionFault);
    this.alarm = new DueAlarm(this.machine, log, this.clock, options.timers, () => this.schedule());
    this.idle = new IdleMark(options, () => this.markIfIdle());
    this.payloads = new Payloads(log, state, this.grants, (taskId) => {
      this.onDamagedPayload(taskId);
      this.forget(this.call({ type: 'KillTask', taskId, reason: 'PAYLOAD_DAMAGED' }));
    });
  }

  /** Makes the epoch durable; no call is served before. */
  async start(): Promise<void> {
    const { log, machine } = this;
    await readSchedulePayloads(this.state, log);
    this.beginBatch();
    machine.enter(this.clock.nowMs());
    machine.commit({
      type: 'EpochStarted',
      epoch: log.epoch,
      format: LOG_FORMAT,
      version: LOG_VERSION,
      restored: false,
    });
    this.encode();
    await log.append();
    log.lost.then(this.logLost, this.logLost);
    this.schedule();
  }

  /** A change. Refusals are answers; only a fault rejects the promise. */
  call<C extends Command>(command: C, options?: CallOptions): Promise<Answers[C['type']] | Refusal> {
    return this.submit(command, PLAIN, options) as Promise<Answers[C['type']] | Refusal>;
  }

  submit(command: Command, handling: Handling, options?: CallOptions): Promise<Answer | Refusal> {
    const request = new Request(command, null, options?.requestId ?? null, handling);
    request.isGone = options?.isGone ?? null;
    this.enqueue(request, options?.signal);
    return request.done! as Promise<Answer | Refusal>;
  }

  /** A change whose answer goes to its place in a batch, without a promise of its own. */
  submitTo(sink: Sink, place: number, command: Command, handling: Handling, options: CallOptions): void {
    const request = new Request(command, null, options.requestId ?? null, handling, sink, place);
    request.isGone = options.isGone ?? null;
    sink.began?.(request);
    this.enqueue(request);
  }

  /** The caller of a waiting request has disconnected or given up: the request fails with the reason and is granted nothing. */
  abandon(request: Request, reason: unknown): void {
    if (!request.open) return;
    request.open = false;
    this.abandoned.push(request);
    request.reject(reason);
    this.schedule();
  }

  /** A read, queued with the changes: it sees what is durable when its answer is sent, and nothing else. */
  read<T>(read: (machine: Machine) => T): Promise<T> {
    const request = new Request(null, read, null, PLAIN);
    this.enqueue(request);
    return request.done! as Promise<T>;
  }

  /** Decides the queued calls, then stops for good. */
  async close(): Promise<void> {
    if (this.closed !== null) return this.closed;
    this.closed = this.stop();
    return this.closed;
  }

  private async stop(): Promise<void> {
    if (this.fault === null) {
      await new Promise<void>((resolve) => {
        this.closing = resolve;
        this.schedule();
      });
    }
    this.end(new ClosedError('The authority has been closed.'));
    const compacted = this.compactor.stop();
    // Closing aborts a running compaction; the next one starts over.
    await this.log.close();
    await compacted;
  }

  /** Calls once when this authority has ended, by closing or by a fault; returns a function that removes the listener. */
  whenEnded(call: () => void): () => void {
    this.endCalls.add(call);
    return () => {
      this.endCalls.delete(call);
    };
  }

  /** Accepts no more calls; waiting callers get the fault. */
  private end(fault: UnavailableError): void {
    this.fault ??= fault;
    this.alarm.cancel();
    this.idle.cancel();
    this.rejectAll(this.fault);
    this.stopHolding();
    for (const call of this.endCalls) call();
    this.endCalls.clear();
  }

  get hasEnded(): boolean {
    return this.fault !== null;
  }

  /**
   * Whether answers from memory are allowed now. Checked by code that answers without a call, and before sending answers
   * that needed no entry. False is final: another writer may have written since, so this authority ends.
   */
  mayAnswer(): boolean {
    if (this.fault === null && !this.log.mayAnswer) {
      this.die(
        new UnavailableError('Another server may be writing the log by now; nothing more is accepted.'),
      );
    }
    return this.fault === null;
  }

  get waiting(): number {
    return this.queue.size;
  }

  private enqueue(request: Request, signal?: AbortSignal, isOurs = false): void {
    if (this.fault !== null || (this.closing !== null && !isOurs)) {
      this.fail(request, this.fault?.afterwards() ?? new ClosedError('The authority is being closed.'));
      return;
    }
    const refusal = this.overloadOf(request);
    if (refusal !== null) {
      if (request.command === null) {
        this.stats.readsRefused += 1;
        request.reject(new RefusedReadError(refusal));
      } else {
        this.stats.answer(request.command, refusal);
        request.send(refusal);
      }
      return;
    }
    if (signal !== undefined) this.watch(request, signal);
    this.schedule();
  }

  /** Whether a full disk forbids the request. A request that writes nothing is still answered. */
  private isTooMuch({ command, handling }: Request, nowMs: number): boolean {
    return handling.needsSpace && command !== null && !writesNothing(this.state, command, nowMs);
  }

  private overloadOf(request: Request): Refusal | null {
    if (this.log.full && this.isTooMuch(request, this.clock.nowMs())) {
      this.log.seekSpace();
      return DISK_FULL;
    }
    return this.queue.offer(request) ? null : OVERLOADED;
  }

  private watch(request: Request, signal: AbortSignal): void {
    const abandon = (): void => this.abandon(request, signal.reason);
    if (signal.aborted) return abandon();
    signal.addEventListener('abort', abandon, { once: true });
    request.onSent = () => signal.removeEventListener('abort', abandon);
  }

  private schedule(): void {
    if (this.scheduled || this.busy) return;
    this.scheduled = true;
    this.options.timers.soon(this.turn);
  }

  private readonly turn = (): void => {
    this.scheduled = false;
    if (this.busy || this.fault !== null) return;
    try {
      this.decideBatch();
    } catch (cause) {
      this.die(new UnavailableError('An invariant does not hold; nothing more is accepted.', { cause }));
      return;
    }
    if (this.encoded === 0) {
      if (this.mayAnswer()) this.deliver();
      return;
    }
    this.busy = true;
    this.disk.begin(this.options.clock.monotonicMs());
    this.log.append(this.mayWriteDirectly()).then(this.appended, this.appendFailed);
  };

  /** Whether the log may write on this thread: the batch is small, no other call waits, and recent appends were quick. */
  private mayWriteDirectly(): boolean {
    return this.log.batchBytes <= DIRECT_BYTES_MAX && this.queue.size === 0 && this.disk.isQuick;
  }

  private readonly appended = (): void => {
    // The log was lost meanwhile: callers already got an unknown outcome.
    if (this.fault !== null) return;
    this.busy = false;
    this.stats.commitMs.note(this.disk.end(this.options.clock.monotonicMs()));
    this.stats.batchCalls.note(this.callsInBatch);
    this.deliver();
  };

  private decideBatch(): void {
    const { machine, queue, log } = this;
    const { clock } = this.options;
    const fromMs = clock.monotonicMs();
    this.beginBatch();
    if (log.batchBytesMax === 0) {
      this.refuseAll();
      return;
    }
    machine.begin(this.clock.nowMs(), this.callsInBatch, this.alarm.hasRoomForTasks());
    for (const request of this.abandoned.splice(0)) {
      if (request.waiter !== null) machine.lines.leave(request.waiter);
      queue.releaseBytes(request);
    }
    this.encode();
    const bytesMax = log.batchBytesMax;
    const callsMax = this.batchSize.max;
    const urgentFirst = this.isBehind || queue.size > callsMax;
    let taken = 0;
    for (; taken < callsMax && log.batchBytes < bytesMax; taken++) {
      const request = queue.take(urgentFirst);
      if (request === undefined) break;
      if (request.open) this.decide(request);
    }
    machine.end();
    this.encode();
    this.isBehind = queue.size > 0;
    this.callsInBatch = taken;
    this.batchSize.note(taken, clock.monotonicMs() - fromMs);
  }

  /** Even the reserved space is used up: no entry fits until there is space again. */
  private refuseAll(): void {
    this.log.seekSpace();
    for (const request of this.queue.takeAll()) {
      if (request.command === null)
        this.fail(request, new UnavailableError('There is no room left in the log.'));
      else this.settle(request, DISK_FULL);
    }
  }

  private decide(request: Request): void {
    const { machine, queue } = this;
    const { command, read } = request;
    if (command === null) {
      const found = read!(machine) as Answer;
      this.encode();
      return this.settle(request, found);
    }
    // A command that was a repeat when it arrived may be a new one by now.
    const isFull = this.log.full && this.isTooMuch(request, machine.batchAtMs);
    const answer = isFull ? DISK_FULL : request.hasRoom ? machine.run(command, request) : OVERLOADED;
    this.encode();
    if (answer !== null) this.settle(request, answer);
    else queue.holdBytes(request);
    this.soft.note(command, answer, request.requestId, machine.batchAtMs);
  }

  private beginBatch(): void {
    this.machine.batch.begin(this.log.areaAt);
    this.encoded = 0;
  }

  /** Takes what the machine has decided since the last call: entries for the log, answers for callers that waited. */
  private encode(): void {
    const { batch } = this.machine;
    for (; this.encoded < batch.entries.length; this.encoded++) {
      const decided = batch.entries[this.encoded]!;
      if (this.encoded === 0) this.log.begin(decided.seq, decided.atMs);
      this.log.add(decided.entry);
      this.count(decided);
    }
    for (const { ticket, answer } of batch.takeSettled()) this.settle(ticket as Request, answer);
  }

  private count({ seq, entry, atMs, dueMs }: DecidedEntry): void {
    // An expiry that fell due while no authority was running says nothing about our lateness.
    if (dueMs !== 0)
      this.stats.expiry(entry.type === 'LeaseExpired', atMs - dueMs, dueMs > this.state.epochStartedAtMs);
    this.stats.tasks.note(this.state, entry, atMs);
    this.soft.incidents.note(this.state, entry, seq, atMs);
    if (entry.type !== 'SessionChanged') return;
    // A later entry of the same step may have forgotten the ended session already.
    this.stats.sessions.changed(entry, atMs - (this.state.sessions.at(entry.session)?.createdAtMs ?? atMs));
  }

  /** The answer is known; it is sent once its batch is durable. */
  private settle(request: Request, answer: Answer | Refusal): void {
    request.settle(answer);
    this.settled.push(request);
    this.grants.add(request);
  }

  /** The batch is durable: publishes its entries and sends its answers. */
  private deliver(): void {
    if (this.encoded > 0) this.feed.publish(this.machine.batch.entries);
    for (const request of this.settled.splice(0)) {
      const { command, answer } = request;
      this.queue.releaseBytes(request);
      if (command === null) {
        this.stats.reads += 1;
        request.resolve(answer);
        continue;
      }
      if (command.type === 'CreateTask' && isToCompare(answer as TaskCreation | Refusal))
        this.payloads.compare(request, answer as TaskCreation, (told) => this.tell(request, command, told));
      else this.tell(request, command, answer as Answer | Refusal);
    }
    this.afterBatch();
  }

  private tell(request: Request, command: Command, answer: Answer | Refusal): void {
    this.stats.answer(command, answer);
    if (command.type === 'LeaseTasks' && request.isAwaited)
      this.payloads.deliver(request, answer as GrantedTasks | Refusal);
    else this.grants.deliver(request, answer);
  }

  /** Releases a grant whose caller has gone; also while closing, or the lease would be held until it expires. */
  private giveBack(command: Command): Request {
    const request = new Request(command, null, null, URGENT);
    this.forget(request.done!);
    this.enqueue(request, undefined, true);
    return request;
  }

  private afterBatch(): void {
    if (this.hasWork) this.schedule();
    else if (this.closing !== null) {
      this.closing();
      return;
    } else if (this.encoded > 0) this.idle.noteBatch();
    this.alarm.set(this.abandoned.length > 0);
    this.holdForWaiters();
    this.compactor.afterBatch();
  }

  /** An abandoned request may let waiters behind it be served, which needs room in the log. */
  private get hasWork(): boolean {
    return this.queue.size > 0 || (this.abandoned.length > 0 && this.log.batchBytesMax > 0);
  }

  private holdForWaiters(): void {
    const isWaiting = this.machine.lines.size > 0;
    if (isWaiting) this.hold ??= this.options.timers.hold();
    else this.stopHolding();
  }

  private stopHolding(): void {
    this.hold?.cancel();
    this.hold = null;
  }

  /** For calls of the authority itself whose answer is not needed; if the authority dies, `onDeath` reports it. */
  private forget(call: Promise<unknown>): void {
    call.catch(() => undefined);
  }

  /** False while a batch is scheduled or being written. */
  private markIfIdle(): boolean {
    if (this.busy || this.scheduled) return false;
    this.busy = true;
    this.log.mark().then(() => {
      this.busy = false;
      if (this.hasWork || this.closing !== null) this.schedule();
      this.alarm.set(this.abandoned.length > 0);
    }, this.appendFailed);
    return true;
  }

  private readonly appendFailed = (cause: unknown): void => {
    this.die(new UnavailableError('The log could not be written; nothing more is accepted.', { cause }));
  };

  private readonly logLost = (cause: unknown): void => {
    this.die(new UnavailableError('The log was lost; nothing more is accepted.', { cause }));
  };

  private die(fault: UnavailableError): void {
    if (this.fault !== null) return;
    this.end(fault);
    this.closing?.();
    this.options.onDeath(fault);
  }

  private rejectAll(fault: Error): void {
    for (const request of this.settled.splice(0)) this.fail(request, fault);
    for (const { ticket } of this.machine.batch.takeSettled()) this.fail(ticket as Request, fault);
    for (const request of this.queue.takeAll()) this.fail(request, fault);
    for (const waiter of [...this.machine.lines.all()]) this.fail(waiter.ticket as Request, fault);
  }

  private fail(request: Request, fault: Error): void {
    request.reject(this.toCallerFault(fault));
  }
}

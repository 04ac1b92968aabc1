/**
 * The deterministic state machine: the state, the waiting lines, and the order in which things happen. For
 * each command: first the expiries that are due for the subjects it names, then the rule, then the entries
 * that follow, then the waiters that those entries can serve. No I/O and no clock: time comes with the batch.
 * Entries are applied at once and added to the `Batch`, which the authority writes.
 */

import type { Answer, Extension, GrantedTask, GrantedTasks, HeartbeatAnswer } from './answers.ts';
import { apply } from './apply.ts';
import { Batch } from './batch.ts';
import { bulkTasks } from './bulk-tasks.ts';
import type { AcquireNames, Command, Heartbeat, LeaseTasks } from './commands.ts';
import { limitQueue } from './decide-limits.ts';
import { acquireNames, breakName, grantOf, releaseName, renewName, wipeNames } from './decide-names.ts';
import { createTask, leaseNext, leasesOfRequest, noTasks, requeueTask, switchQueue } from './decide-tasks.ts';
import { type Decision, isRefusal } from './decision.ts';
import type { Entry } from './entries.ts';
import { expireDue, expireNameIfDue, expireTaskIfDue, nextExpiryMs } from './expiry.ts';
import { deleteObject, writeObject } from './fences.ts';
import type { LeaseEnd } from './image.ts';
import type { Ticket } from './lines.ts';
import type { Refusal } from './refusals.ts';
import { forgetDue, nextForgettingMs, type Retention } from './retention.ts';
import type { NameRow, Seq, TaskRow } from './row-types.ts';
import { ScheduleCommands } from './schedules/schedule-commands.ts';
import { type Calendar, NO_CALENDAR } from './schedules/schedule-times.ts';
import { SessionCommands } from './sessions/session-commands.ts';
import { consequencesOf } from './sessions/session-consequences.ts';
import { wipesSessions } from './sessions/session-names.ts';
import type { State } from './state.ts';
import { refuseCreation } from './system-queues.ts';
import { findLease, judge, type TaskAnswer, type TaskCommand } from './verdicts.ts';
import { WaitLines } from './wait-lines.ts';

/** Bounds on the work of one batch. An argument, so that tests can reach the bounds with small ones. */
export interface MachineBounds {
  /** Expiries written at the start of a batch. */
  readonly expiries: number;
  /** Delayed tasks moved into their lanes at once, and windows opened at once. */
  readonly wakes: number;
  /** Tasks added before the workers that wait for them are served, so that a batch does not grow without bound. */
  readonly fedQueues: number;
  /** How many due times of schedules fire in one batch, and how many bytes of payloads that may copy. */
  readonly firings: number;
  readonly firedBytes: number;
  /** One answer grants no further task once its payloads have this size: they are all in memory at once. */
  readonly leasedBytes: number;
}

const BOUNDS: MachineBounds = {
  expiries: 1_000,
  wakes: 10_000,
  fedQueues: 256,
  firings: 250,
  firedBytes: 4 * 1024 * 1024,
  leasedBytes: 4 * 1024 * 1024,
};

/** The causes of a lost lease, as the heartbeat reports them. */
const LOSSES: Record<Exclude<LeaseEnd, 'live'>, string> = {
  complete: 'completed',
  fail: 'failed',
  release: 'released',
  expired: 'expired',
  killed: 'killed',
  restored: 'restored',
};

/** Never changed. */
const NO_LEASES: GrantedTask[] = [];

export class Machine {
  readonly state: State;
  readonly batch: Batch;
  readonly lines = new WaitLines(this);
  readonly sessions = new SessionCommands(this);
  readonly schedules: ScheduleCommands;
  private readonly retention: Retention;
  private readonly bounds: MachineBounds;
  private nowMs = 0;

  constructor(
    state: State,
    retention: Retention,
    batch = new Batch(),
    bounds = BOUNDS,
    calendar: Calendar = NO_CALENDAR,
  ) {
    this.state = state;
    this.schedules = new ScheduleCommands(this, bounds, calendar);
    this.retention = retention;
    this.batch = batch;
    this.bounds = bounds;
  }

  /** Advances the time; it never goes back. */
  enter(nowMs: number): void {
    this.nowMs = Math.max(nowMs, this.nowMs, this.state.lastAtMs);
  }

  /**
   * Begins a batch: advances the time and writes what fell due, within bounds. `callsBefore`: calls of the last batch.
   * Schedules wait while there is no room for new tasks.
   */
  begin(nowMs: number, callsBefore = 0, hasRoom = true): void {
    this.enter(nowMs);
    this.lines.endWaits();
    expireDue(this.state, this.nowMs, this.bounds.expiries, this.commit);
    if (this.nextReadyMs() <= this.nowMs) this.makeReady();
    this.schedules.begin(hasRoom);
    forgetDue(this.state, this.nowMs, this.retention, callsBefore, this.commit);
    this.lines.serve();
  }

  get batchAtMs(): number {
    return this.nowMs;
  }

  /** When the next thing falls due, besides schedules; Infinity when nothing will. */
  nextDueMs(): number {
    return Math.min(
      nextExpiryMs(this.state),
      this.lines.tasks.size === 0 ? Number.POSITIVE_INFINITY : this.nextReadyMs(),
      this.lines.nextDeadlineMs(),
      nextForgettingMs(this.state, this.retention),
    );
  }

  /** When the next task becomes ready by time alone: a delay ends, or the window of a rate opens. */
  private nextReadyMs(): number {
    const { delayed, keys } = this.state.tasks;
    return Math.min(delayed.topKey(), keys.nextOpeningMs());
  }

  /** The answer to a command, or null when the caller waits in a line: its answer is added to the `batch` later. */
  run(command: Command, ticket: Ticket): Answer | Refusal | null {
    const answer = this.decide(command, ticket);
    this.lines.serveAfterCommand(this.bounds.fedQueues);
    return answer;
  }

  /**
   * Ends a batch. Workers that wait for tasks are served here, or before the next command that leases tasks: a worker
   * that asked for many then gets all tasks that were added; serving after every command would grant it only one.
   */
  end(): void {
    this.lines.serve();
  }

  /** Applies an entry and adds it to the batch. Public for entries of the writer itself, such as the start of its epoch. */
  readonly commit = (entry: Entry, dueMs = 0): void => {
    const seq = this.state.lastSeq + 1;
    this.batch.add(entry, seq, this.nowMs, dueMs);
    apply(this.state, entry, seq, this.nowMs);
    this.lines.note(entry);
    for (const consequence of consequencesOf(this.state, entry)) this.commit(consequence);
  };

  private decide(command: Command, ticket: Ticket): Answer | Refusal | null {
    const { state, nowMs } = this;
    switch (command.type) {
      case 'CreateTask':
        return refuseCreation(state, command) ?? this.enact(createTask(state, command, nowMs));
      case 'RequeueTask':
        this.expireTask(command.taskId);
        return this.enact(requeueTask(state, command, nowMs));
      case 'LeaseTasks':
        return this.lease(command, ticket);
      case 'ExtendLease':
      case 'CompleteTask':
      case 'FailTask':
      case 'ReleaseTask':
      case 'KillTask':
      case 'CancelTask':
      case 'CheckpointTask':
      case 'ChangeTask':
        this.expireTask(command.taskId);
        if (command.type === 'CompleteTask')
          for (const write of command.writes) this.expireName(write.objectId);
        return this.judge(command);
      case 'BulkTasks':
        return bulkTasks(this, command);
      case 'Heartbeat':
        return this.heartbeat(command);
      case 'AcquireNames':
        return this.acquire(command, ticket);
      case 'RenewName':
        this.expireName(command.name);
        return this.enact(renewName(state, command, nowMs));
      case 'ReleaseName':
        this.expireName(command.name);
        return this.enact(releaseName(state, command));
      case 'BreakName':
        this.expireName(command.name);
        return this.enact(breakName(state, command));
      case 'WipeNames':
        this.expireName(command.guard.name);
        if (wipesSessions(command.prefix)) this.sessions.expireStartTasks();
        return this.enact(wipeNames(state, command));
      case 'WriteObject':
        this.expireName(command.objectId);
        return this.enact(writeObject(state, command));
      case 'DeleteObject':
        this.expireName(command.objectId);
        return this.enact(deleteObject(state, command));
      case 'AcceptIntent':
      case 'StopSession':
      case 'HeartbeatSession':
      case 'StartSession':
      case 'ChangeSession':
      case 'RenewSessions':
        return this.sessions.run(command);
      case 'SetSchedule':
      case 'RemoveSchedule':
      case 'PauseSchedule':
      case 'ResumeSchedule':
      case 'FireSchedule':
        return this.schedules.run(command);
      case 'PauseQueue':
        return this.enact(switchQueue(state, command.queue, true));
      case 'ResumeQueue':
        return this.enact(switchQueue(state, command.queue, false));
      case 'LimitQueue':
        return this.enact(limitQueue(state, command));
    }
  }

  private judge(command: TaskCommand): TaskAnswer | Refusal {
    return this.enact(judge(this.state, command, this.nowMs));
  }

  enact<A>({ entries, answer }: Decision<A>): A | Refusal {
    for (const entry of entries) this.commit(entry);
    return answer;
  }

  /** An expiry is written before a caller learns of it. Cheap while nothing is due. */
  expireTask(taskId: string): void {
    if (this.state.tasks.expiring.topKey() <= this.nowMs) this.expireTaskRow(this.state.tasks.find(taskId));
  }

  expireTaskRow(row: TaskRow | 0): void {
    expireTaskIfDue(this.state, row, this.nowMs, this.commit);
    this.lines.serve();
  }

  /** The same for a name, without serving its line: for use while a waiter is being served. */
  endNameIfDue(name: string): void {
    expireNameIfDue(this.state, this.state.names.find(name), this.nowMs, this.commit);
  }

  expireName(name: string): void {
    if (this.state.names.expiring.topKey() <= this.nowMs) this.expireNameRow(this.state.names.find(name));
  }

  expireNameRow(row: NameRow | 0): void {
    expireNameIfDue(this.state, row, this.nowMs, this.commit);
    this.lines.serve();
  }

  private lease(command: LeaseTasks, ticket: Ticket): GrantedTasks | Refusal | null {
    this.lines.serve();
    if (!this.sessions.mayLease(command)) return { refused: 'GUARD_NOT_HELD' };
    const repeated = this.repeatedLeases(command);
    if (repeated.length > 0) return this.grantedTasks(repeated, true);
    // The lookup may have ended leases; the workers that wait for those tasks come first.
    this.lines.serve();
    let leases = this.leaseUpTo(command);
    // A ready task must not be missed because more tasks became ready at once than one batch handles.
    while (leases.length === 0 && this.nextReadyMs() <= this.nowMs) {
      this.makeReady();
      this.lines.serve();
      leases = this.leaseUpTo(command);
    }
    if (leases.length > 0) return this.grantedTasks(leases, false);
    if (command.waitMs === 0) return noTasks(this.state, command);
    this.lines.tasks.join(command, ticket, [...new Set(command.queues)], this.nowMs);
    return null;
  }

  /** For a waiter that is first in the lines of these queues; null while there is no task for it. */
  leaseWaiting(command: LeaseTasks, queues: readonly string[]): GrantedTasks | Refusal | null {
    if (!this.sessions.mayLease(command)) return { refused: 'GUARD_NOT_HELD' };
    const repeated = this.repeatedLeases(command);
    if (repeated.length > 0) return this.grantedTasks(repeated, true);
    const leases = this.leaseUpTo({ ...command, queues });
    return leases.length === 0 ? null : this.grantedTasks(leases, false);
  }

  private grantedTasks(leases: readonly GrantedTask[], duplicate: boolean): GrantedTasks {
    return { leases, seq: leases.at(-1)!.leaseSeq, duplicate, limited: 0 };
  }

  /** The live leases that an earlier request with the same id was granted. */
  private repeatedLeases({ workerId, requestId }: LeaseTasks): readonly GrantedTask[] {
    const { state, nowMs } = this;
    if (requestId === null) return NO_LEASES;
    const found = state.tasks.leases.findByRequest(workerId, requestId);
    if (found.length === 0) return NO_LEASES;
    for (const lease of found) {
      expireTaskIfDue(state, state.tasks.leases.task.get(lease), nowMs, this.commit);
    }
    return leasesOfRequest(state, workerId, requestId, nowMs);
  }

  private leaseUpTo(command: LeaseTasks): readonly GrantedTask[] {
    let leases = NO_LEASES;
    let bytes = 0;
    while (leases.length < command.max && bytes < this.bounds.leasedBytes) {
      const next = leaseNext(this.state, command, this.nowMs);
      if (next === null) break;
      const [entry, lease] = next;
      this.commit(entry);
      // Most calls want one task, and V8 reserves room for 17 when an empty array is pushed to.
      if (leases === NO_LEASES) leases = [lease];
      else leases.push(lease);
      bytes += lease.payload.length + (lease.checkpoint?.length ?? 0);
    }
    return leases;
  }

  private heartbeat(command: Heartbeat): HeartbeatAnswer {
    const { state } = this;
    const extended: Extension[] = [];
    const lost: { leaseId: string; taskId: string; cause: string }[] = [];
    for (const { taskId, leaseSeq, leaseId } of command.leases) {
      this.expireTask(taskId);
      const answer = this.judge({ type: 'ExtendLease', taskId, leaseSeq, ttlMs: command.ttlMs });
      if (isRefusal(answer)) lost.push({ leaseId, taskId, cause: this.causeOfLoss(taskId, leaseSeq) });
      else extended.push(answer as Extension);
    }
    return { extended, lost, seq: state.lastSeq };
  }

  private causeOfLoss(taskId: string, leaseSeq: Seq): string {
    const { tasks } = this.state;
    const row = tasks.find(taskId);
    const lease = row === 0 ? 0 : findLease(this.state, row, leaseSeq);
    const end = lease === 0 ? 'live' : tasks.leases.endOf(lease);
    return end === 'live' ? 'unknown' : LOSSES[end];
  }

  private acquire(command: AcquireNames, ticket: Ticket): Answer | Refusal | null {
    for (const name of command.names) this.expireName(name);
    const line = this.lines.ahead(command);
    const decision = acquireNames(this.state, command, this.nowMs);
    const isHeld = isRefusal(decision.answer) && decision.answer.refused === 'LEASE_HELD';
    if (isHeld ? command.waitMs > 0 : line !== null && decision.entries.length > 0) {
      if (command.waitMs === 0) return this.lines.behind(line!, command);
      this.lines.names.join(command, ticket, command.names, this.nowMs);
      return null;
    }
    const answer = this.enact(decision);
    // Superseding a grant may end a session, so the position of the new grant is known only now.
    return command.supersedes === undefined || isRefusal(answer) || answer.duplicate
      ? answer
      : grantOf(this.state, command, this.nowMs);
  }

  private makeReady(): void {
    const { tasks } = this.state;
    const queues = new Set<string>();
    tasks.wakeDelayed(this.nowMs, this.bounds.wakes, queues);
    tasks.keys.open(this.nowMs, this.bounds.wakes, queues);
    for (const queue of queues) this.lines.fed(queue);
  }
}

/**
 * The waiting lines of the machine: which entries can serve a waiter, which waiter is next, and which wait has timed
 * out.
 */
import type { Answer } from './answers.ts';
import type { AcquireNames, LeaseTasks } from './commands.ts';
import { acquireNames, held, nameAmong } from './decide-names.ts';
import { noTasks } from './decide-tasks.ts';
import { isRefusal } from './decision.ts';
import type { Entry, SessionChanged, TaskKey } from './entries.ts';
import { Lines, type Waiter } from './lines.ts';
import type { Machine } from './machine.ts';
import type { Refusal } from './refusals.ts';
import { START_QUEUE } from './reserved-names.ts';
import type { NameRow, TaskRow } from './row-types.ts';
import { namesOf } from './sessions/session-names.ts';
import { hasEnded } from './sessions/session-table.ts';

export class WaitLines {
  readonly names = new Lines<AcquireNames>();
  readonly tasks = new Lines<LeaseTasks>();
  private readonly machine: Machine;
  /** Names and queues whose lines may be served. */
  private readonly freedNames: string[] = [];
  private readonly fedQueues: string[] = [];

  constructor(machine: Machine) {
    this.machine = machine;
  }

  /** The number of waiters. */
  get size(): number {
    return this.names.size + this.tasks.size;
  }

  /** The earliest deadline of a waiter; Infinity when there is none. */
  nextDeadlineMs(): number {
    return Math.min(this.names.nextDeadlineMs(), this.tasks.nextDeadlineMs());
  }

  *all(): Generator<Waiter<AcquireNames> | Waiter<LeaseTasks>> {
    yield* this.names.all();
    yield* this.tasks.all();
  }

  /** The caller has gone; the waiters behind it may now be first. */
  leave(waiter: Waiter<AcquireNames> | Waiter<LeaseTasks>): void {
    if (isForNames(waiter)) this.leaveNames(waiter);
    else if (this.tasks.isWaiting(waiter)) this.tasks.leave(waiter);
    this.serve();
  }

  /** The line that the command has to join. A caller skips it only to re-acquire its own lease or to supersede a dead holder. */
  ahead(command: AcquireNames): string | null {
    if (this.names.size === 0) return null;
    if (command.supersedes !== undefined) return null;
    const { names } = this.machine.state;
    for (const name of command.names) {
      if (!this.names.has(name)) continue;
      const row = names.find(name);
      if (row === 0 || !names.isLive(row) || !names.heldBy(row, command.holder)) return name;
    }
    return null;
  }

  /** The name is free, but the first in its line also waits for another name. */
  behind(name: string, asked: AcquireNames): Refusal {
    const { holder } = this.names.first(name)!.command;
    return { refused: 'LEASE_HELD', holder, remainingMs: 0, ...nameAmong(asked, name) };
  }

  /** Notes which lines an entry that was just applied may serve. */
  note(entry: Entry): void {
    switch (entry.type) {
      case 'NameReleased':
      case 'NameExpired':
      case 'NameBroken':
        return this.freed(entry.name);
      case 'NamesWiped':
        for (const name of this.names.keys()) if (name.startsWith(entry.prefix)) this.freedNames.push(name);
        return;
      case 'TaskCreated':
      case 'TaskChanged':
      case 'QueueResumed':
      case 'ScheduleFired':
      case 'QueueLimited':
        return this.fed(entry.queue);
      case 'LeaseExpired':
      case 'TaskFailed':
      case 'TaskReleased':
        return this.returned(entry.task, false);
      case 'TaskCompleted':
      case 'TaskDead':
        return this.returned(entry.task, true);
      case 'IntentAccepted':
        return this.fed(START_QUEUE);
      case 'SessionChanged':
        return this.sessionChanged(entry);
      default:
        return;
    }
  }

  /** A lease has ended. If its task has ended too, it frees a place only where there are limits. */
  private returned(task: TaskKey, isEnded: boolean): void {
    if (this.tasks.size === 0) return;
    const { tasks } = this.machine.state;
    const queue = tasks.queueOf(tasks.at(task) as TaskRow);
    if (!isEnded || queue.limits !== null) this.fed(queue.name);
  }

  /** A session that ends releases its names. */
  private sessionChanged({ session: seq }: SessionChanged): void {
    const session = this.machine.state.sessions.at(seq)!;
    if (hasEnded(session)) for (const name of namesOf(session)) this.freed(name);
  }

  /** A queue may have a task to lease: one was added, a place is free, or a window has opened. */
  fed(queue: string): void {
    if (this.tasks.has(queue)) this.fedQueues.push(queue);
  }

  /** A name may be free. */
  freed(name: string): void {
    if (this.names.has(name)) this.freedNames.push(name);
  }

  /** Waiters for names are served after every command; waiters for tasks, once `fedMax` tasks were added. */
  serveAfterCommand(fedMax: number): void {
    this.serveNames();
    if (this.fedQueues.length >= fedMax) this.serve();
  }

  /** The line of a lease that ended is served before anything else. */
  private serveNames(): void {
    drain(this.freedNames, (name) => this.serveName(name));
  }

  /** Not reentrant: must not be called while a waiter is served. */
  serve(): void {
    this.serveNames();
    drain(this.fedQueues, (queue) => {
      this.serveQueue(queue);
      this.serveNames();
    });
  }

  private serveName(name: string): void {
    for (;;) {
      const waiter = this.names.first(name);
      if (waiter === null) return;
      if (!waiter.ticket.open || waiter.deadlineMs <= this.nowMs) {
        this.giveUpNames(waiter);
        continue;
      }
      if (!this.names.headsEveryLine(waiter)) return;
      for (const each of waiter.command.names) this.machine.endNameIfDue(each);
      const decision = acquireNames(this.machine.state, waiter.command, this.nowMs);
      if (isRefusal(decision.answer) && decision.answer.refused === 'LEASE_HELD') return;
      this.leaveNames(waiter);
      this.settle(waiter, this.machine.enact(decision));
      if (decision.entries.length > 0) return;
    }
  }

  private serveQueue(queue: string): void {
    for (;;) {
      const waiter = this.tasks.first(queue);
      if (waiter === null) return;
      if (!waiter.ticket.open || waiter.deadlineMs <= this.nowMs) {
        this.giveUpTasks(waiter);
        continue;
      }
      const answer = this.machine.leaseWaiting(waiter.command, this.tasks.linesHeaded(waiter));
      if (answer === null) return;
      this.tasks.leave(waiter);
      this.settle(waiter, answer);
    }
  }

  /** A wait that has timed out is over even if the name or task becomes free in the same millisecond. */
  endWaits(): void {
    for (let waiter = this.names.nextOverdue(this.nowMs); waiter !== null; ) {
      this.giveUpNames(waiter);
      waiter = this.names.nextOverdue(this.nowMs);
    }
    for (let waiter = this.tasks.nextOverdue(this.nowMs); waiter !== null; ) {
      this.giveUpTasks(waiter);
      waiter = this.tasks.nextOverdue(this.nowMs);
    }
  }

  private giveUpNames(waiter: Waiter<AcquireNames>): void {
    const { names } = this.machine.state;
    this.leaveNames(waiter);
    const blocking = waiter.command.names.find((name) => {
      const row = names.find(name);
      return row !== 0 && names.isLive(row) && !names.heldBy(row, waiter.command.holder);
    });
    const ahead = waiter.command.names.find((name) => this.names.has(name));
    const { command } = waiter;
    if (blocking !== undefined)
      this.settle(waiter, held(this.machine.state, names.find(blocking) as NameRow, this.nowMs, command));
    else if (ahead !== undefined) this.settle(waiter, this.behind(ahead, command));
    else this.settle(waiter, { refused: 'LEASE_HELD', remainingMs: 0 });
  }

  private giveUpTasks(waiter: Waiter<LeaseTasks>): void {
    this.tasks.leave(waiter);
    this.settle(waiter, noTasks(this.machine.state, waiter.command));
  }

  private settle({ ticket }: Waiter<AcquireNames> | Waiter<LeaseTasks>, answer: Answer | Refusal): void {
    this.machine.batch.settle(ticket, answer);
  }

  private leaveNames(waiter: Waiter<AcquireNames>): void {
    if (!this.names.isWaiting(waiter)) return;
    this.names.leave(waiter);
    for (const name of waiter.command.names) this.freed(name);
  }

  private get nowMs(): number {
    return this.machine.batchAtMs;
  }
}

/** Takes all items, including those that are added meanwhile. */
function drain(items: string[], take: (item: string) => void): void {
  // Usually there are none, and truncating an empty array is not free.
  if (items.length === 0) return;
  for (let index = 0; index < items.length; index++) take(items[index]!);
  items.length = 0;
}

function isForNames(waiter: Waiter<AcquireNames> | Waiter<LeaseTasks>): waiter is Waiter<AcquireNames> {
  return waiter.command.type === 'AcquireNames';
}

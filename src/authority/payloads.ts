/**
 * Reads payloads and checkpoints into the leases of an answer before it is sent. A payload that cannot be read back makes
 * its task DEAD; the other leases of the answer are sent as they are. A lease whose checkpoint cannot be read back is sent
 * without it. The creator of an existing task gets its answer after the payloads have been compared.
 */
import type { GrantedTask, GrantedTasks, TaskCreation } from '../core/answers.ts';
import type { CreateTask } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Opaque } from '../core/opaque.ts';
import type { Refusal } from '../core/refusals.ts';
import type { State } from '../core/state.ts';
import { type Log, LogCompactedError } from '../engines/log.ts';
import type { GrantDelivery } from './grant-delivery.ts';
import type { Request } from './request.ts';

export class Payloads {
  private readonly log: Log;
  private readonly state: State;
  private readonly grants: GrantDelivery;
  private readonly onDamage: (taskId: string) => void;

  /** An answer is sent once it is complete; reading may take a while, and callers may disconnect meanwhile. */
  constructor(log: Log, state: State, grants: GrantDelivery, onDamage: (taskId: string) => void) {
    this.log = log;
    this.state = state;
    this.grants = grants;
    this.onDamage = onDamage;
  }

  deliver(request: Request, answer: GrantedTasks | Refusal): void {
    if (isRefusal(answer)) {
      this.grants.deliver(request, answer);
      return;
    }
    const { leases } = answer;
    let reads: Promise<void>[] | null = null;
    let damaged = false;
    for (const lease of leases) {
      if (lease.checkpoint !== null) {
        const saved = this.log.read(lease.checkpoint);
        if (saved instanceof Promise) {
          reads ??= [];
          reads.push(this.fillCheckpoint(lease, saved));
        } else lease.checkpoint.bytes = saved;
      }
      const bytes = this.log.read(lease.payload);
      if (bytes instanceof Promise) {
        reads ??= [];
        reads.push(this.fillLater(lease, bytes));
      } else {
        this.fill(lease, bytes);
        damaged ||= bytes === null;
      }
    }
    if (reads === null && !damaged) {
      this.grants.deliver(request, answer);
      return;
    }
    const whole = (): GrantedTasks => ({
      ...answer,
      leases: leases.filter(({ payload }) => payload.bytes !== null),
    });
    Promise.all(reads ?? []).then(
      () => this.grants.deliver(request, whole()),
      (fault: unknown) => this.grants.fail(request, fault),
    );
  }

  /** Calls `tell` with the existing task, or with the refusal when its payload differs. */
  compare(request: Request, answer: TaskCreation, tell: (answer: TaskCreation | Refusal) => void): void {
    const { payload } = request.command as CreateTask;
    const judge = (known: Uint8Array | null): void =>
      tell(isSame(known, payload) ? answer : { refused: 'TASK_ID_CONFLICT' });
    const bytes = this.log.read(answer.known!);
    if (!(bytes instanceof Promise)) judge(bytes);
    else
      this.arrived(answer.taskId, 'payload', bytes).then(judge, (fault) => this.grants.fail(request, fault));
  }

  private async fillLater(lease: GrantedTask, bytes: Promise<Uint8Array | null>): Promise<void> {
    this.fill(lease, await this.arrived(lease.taskId, 'payload', bytes));
  }

  private async fillCheckpoint(lease: GrantedTask, bytes: Promise<Uint8Array | null>): Promise<void> {
    lease.checkpoint!.bytes = await this.arrived(lease.taskId, 'checkpoint', bytes);
  }

  private async arrived(
    taskId: string,
    column: 'payload' | 'checkpoint',
    bytes: Promise<Uint8Array | null>,
  ): Promise<Uint8Array | null> {
    try {
      return await bytes;
    } catch (fault) {
      if (!(fault instanceof LogCompactedError)) throw fault;
      // The bytes moved between the decision and the read; the state has their new place.
      const row = this.state.tasks.find(taskId);
      const moved = row === 0 ? null : this.state.tasks[column].get(row);
      return moved === null ? null : this.log.read(moved);
    }
  }

  private fill(lease: GrantedTask, bytes: Uint8Array | null): void {
    lease.payload.bytes = bytes;
    if (bytes === null) this.onDamage(lease.taskId);
  }
}

export function isToCompare(answer: TaskCreation | Refusal): boolean {
  return !isRefusal(answer) && answer.known !== null;
}

/** Length and checksum are known to be equal; when the bytes cannot be read any more, that is all there is to compare. */
function isSame(known: Uint8Array | null, { bytes }: Opaque): boolean {
  return known === null || Buffer.compare(known, bytes!) === 0;
}

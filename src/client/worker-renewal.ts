/**
 * Renews all leases of a worker in one heartbeat, three times per TTL. Aborts the handlers of those that are lost or
 * cancelled: as named by the authority, or when their deadline passes by the local clocks. One timer serves them all. A
 * failed heartbeat is soon retried while there are leases to renew.
 */

import type { Body } from '../operations/table.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { ChurnMap } from '../seams/churn-map.ts';
import type { Timer } from '../seams/clock.ts';
import { Deadline, type Moment, momentOf } from '../seams/deadline.ts';
import { Backoff } from './backoff.ts';
import { lossBy, type TaskRun } from './task-run.ts';
import type { Transport } from './transport.ts';
import type { ClientWorld } from './world.ts';

/** As many as fit into one request, even with the longest task ids and every character escaped. */
const LEASES_A_BEAT = 1_500;
/** The timer fires at least this often, to notice soon that the machine slept. */
const WATCH_MS = 1_000;
/** The wall clock gaining this much on the monotonic one means that the machine slept. */
const JUMP_MS = 50;

export class WorkerRenewal {
  private readonly transport: Transport;
  private readonly world: ClientWorld;
  private readonly runs: Pick<ChurnMap<TaskRun>, 'get' | 'values'>;
  private readonly workerId: string;
  private readonly ttlMs: number;
  private readonly delay: Backoff;
  private timer: Timer | null = null;
  private beatAtMs = 0;
  private wallAheadMs = 0;
  /** Heartbeats without an answer: failed since the last success, or still in flight. */
  private unanswered = 0;

  constructor(
    transport: Transport,
    world: ClientWorld,
    runs: Pick<ChurnMap<TaskRun>, 'get' | 'values'>,
    settings: { readonly workerId: string; readonly ttlMs: number },
  ) {
    this.transport = transport;
    this.world = world;
    this.runs = runs;
    this.workerId = settings.workerId;
    this.ttlMs = settings.ttlMs;
    this.delay = new Backoff(settings.ttlMs / 15);
  }

  /** Renews from now on, until there are no leases. */
  start(): void {
    if (this.timer !== null) return;
    this.beatAtMs = this.world.clock.monotonicMs() + this.ttlMs / 3;
    this.wallAheadMs = this.wallLead();
    this.arm();
  }

  stop(): void {
    this.timer?.cancel();
    this.timer = null;
  }

  /** Renews these at once. False when there was no answer. */
  async renew(runs: readonly TaskRun[]): Promise<boolean> {
    const sent = momentOf(this.world.clock);
    const leases = runs.map(({ lease: { task_id, lease_id } }) => ({ task_id, lease_id }));
    const request = { worker_id: this.workerId, leases, ttl_ms: this.ttlMs };
    this.unanswered += 1;
    try {
      const reply = await this.transport.call('worker.heartbeat', request, { isRenewal: true });
      if (!reply.ok) return false;
      this.unanswered = 0;
      this.note(reply, sent, new Map(runs.map((run) => [run.lease.lease_id, run])));
      return true;
    } catch (fault) {
      if (!(fault instanceof LeaseholdError)) throw fault;
      return false;
    }
  }

  private note(
    { extended, lost }: Body<'worker.heartbeat'>,
    sent: Moment,
    asked: ReadonlyMap<string, TaskRun>,
  ): void {
    // A run that has ended meanwhile is not renewed, and cannot be lost.
    const runOf = (lease_id: string): TaskRun | undefined =>
      this.runs.get(asked.get(lease_id)?.lease.lease_seq ?? 0);
    let deadline: Deadline | null = null;
    let lastsMs = 0;
    for (const { lease_id, remaining_ms, cancel_requested } of extended) {
      if (deadline === null || remaining_ms !== lastsMs) {
        lastsMs = remaining_ms;
        deadline = new Deadline(sent, lastsMs);
      }
      const run = runOf(lease_id);
      run?.renewed(deadline);
      if (cancel_requested) run?.cancel();
    }
    for (const { lease_id, cause } of lost) runOf(lease_id)?.lose(lossBy(cause));
  }

  private readonly tick = (): void => {
    this.timer = null;
    const { clock } = this.world;
    const renewable: TaskRun[] = [];
    for (const run of this.runs.values()) {
      if (run.isOver(clock)) run.lose(this.unanswered === 0 ? 'expired' : 'unreachable');
      else renewable.push(run);
    }
    if (renewable.length === 0) return;
    if (clock.monotonicMs() >= this.beatAtMs || this.hasSlept()) this.beat(renewable);
    this.arm();
  };

  /** Sends one heartbeat, or several if the leases do not fit into one. */
  private beat(renewable: readonly TaskRun[]): void {
    this.beatAtMs = this.world.clock.monotonicMs() + this.ttlMs / 3;
    for (let from = 0; from < renewable.length; from += LEASES_A_BEAT) {
      // Rejects only for a bug, which must not be swallowed.
      void this.renew(renewable.slice(from, from + LEASES_A_BEAT)).then(this.answered);
    }
  }

  private readonly answered = (isRenewed: boolean): void => {
    if (isRenewed) {
      this.delay.reset();
      return;
    }
    this.beatAtMs = Math.min(this.beatAtMs, this.world.clock.monotonicMs() + this.delay.take());
    if (this.timer === null) return;
    this.timer.cancel();
    this.arm();
  };

  private arm(): void {
    const { clock, timers } = this.world;
    const nowMs = clock.monotonicMs();
    let nextMs = Math.min(this.beatAtMs - nowMs, WATCH_MS);
    for (const run of this.runs.values()) {
      if (run.loss === null && !run.isSettling) nextMs = Math.min(nextMs, run.deadline.remainingMs(clock));
    }
    this.timer = timers.after(Math.max(1, Math.ceil(nextMs)), this.tick);
  }

  private wallLead(): number {
    return this.world.clock.wallMs() - this.world.clock.monotonicMs();
  }

  private hasSlept(): boolean {
    const lead = this.wallLead();
    const gainedMs = lead - this.wallAheadMs;
    this.wallAheadMs = lead;
    return gainedMs > JUMP_MS;
  }
}

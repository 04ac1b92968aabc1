/**
 * Decides what happens after a request was answered or lost: an answer for the caller, a retry, or a fault. A refusal
 * is an answer; a server that is busy, stopping or unreachable is a reason to retry.
 */

import { type Effect, LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Reply } from '../protocol/problem.ts';
import type { Timer, Timers } from '../seams/clock.ts';
import type { HttpFault } from '../seams/http.ts';
import { handleClosed } from './closed.ts';
import { recoverLostReply } from './lost-replies.ts';
import { OPERATION_ROWS } from './operation-table.ts';
import type { PendingCall } from './pending-call.ts';
import { asProblem, transientEffect, type WireBody } from './reply-text.ts';
import { isSafeAgain, retryOf } from './retries.ts';
import type { RetrySchedule } from './retry-schedule.ts';
import type { Transport } from './transport.ts';

/** What the transport provides. */
export interface CallOutcomesWorld {
  readonly timers: Timers;
  readonly schedule: RetrySchedule;
  readonly nowMs: () => number;
  readonly retrying: ((fault: LeaseholdError) => void) | undefined;
  readonly ask: Transport['call'];
  /** Sends the call again. */
  readonly resend: (call: PendingCall) => void;
  /** Sends the call again under a newly generated id. */
  readonly restart: (call: PendingCall) => void;
}

/** A request open for this long had a working connection, so its end starts a new series of failures. */
const GOOD_MS = 1_000;

/** The only refusal with a status of 500 or above that guarantees that nothing changed. */
const DISK_FULL = 'DISK_FULL';

interface Delayed {
  readonly calls: readonly PendingCall[];
  readonly timer: Timer;
  readonly hold: Timer;
}

export class CallOutcomes {
  readonly #world: CallOutcomesWorld;
  readonly #delayed = new Set<Delayed>();
  #isStopped = false;

  constructor(world: CallOutcomesWorld) {
    this.#world = world;
  }

  answered(call: PendingCall, status: number, body: WireBody, retryAfterMs: number): void {
    if (status < 400) this.#granted(call, body);
    else this.#refused(call, status, body, retryAfterMs);
  }

  #granted(call: PendingCall, body: WireBody): void {
    if (call.isSettled) {
      this.#giveBack(call, body);
      return;
    }
    body.ok = true;
    // The repeat of a lost answer is not a duplicate for the caller, which called once.
    if (body.duplicate && call.isUncertain && isOwn(call, body)) delete body.duplicate;
    call.resolve(body);
  }

  #refused(call: PendingCall, status: number, body: WireBody, retryAfterMs: number): void {
    const { operation, request } = call;
    if (transientEffect(body) !== null) {
      this.postponed([call], body, retryAfterMs);
      return;
    }
    const refusal = asProblem(body);
    const { code, detail } = refusal;
    if (status >= 500 && code !== DISK_FULL) {
      call.reject(new LeaseholdError(code, detail, { effect: effectOf(call, 'unknown'), problem: refusal }));
    } else if (call.isUncertain && retryOf(operation)?.looks) {
      const look = recoverLostReply(this.#world.ask, operation, request, refusal);
      look.then(
        (reply: Reply<object>) => call.resolve(reply),
        (fault: unknown) => call.reject(stillUnknown(fault)),
      );
    } else if (call.isUncertain && code === 'LEASE_NOT_HELD' && call.generatedId !== '') {
      // The lost answer was a grant. The server released it when the connection broke, so nothing is held.
      call.isUncertain = false;
      this.#world.restart(call);
    } else call.resolve(refusal);
  }

  /** Calls that the server did not accept for now. */
  postponed(calls: readonly PendingCall[], body: WireBody, retryAfterMs: number): void {
    const waitMs = this.#world.schedule.pauseOf(body.code, retryAfterMs);
    this.#again(calls, transientEffect(body) ?? 'unknown', waitMs, (call) => transientFault(call, body));
  }

  /** Calls whose request was lost. */
  lost(calls: readonly PendingCall[], fault: HttpFault): void {
    if (fault.isLate) for (const call of calls) call.wasLate = true;
    this.#again(calls, fault.effect, 0, (call) => unreachable(call, fault));
  }

  #again(
    calls: readonly PendingCall[],
    effect: Effect,
    retryAfterMs: number,
    faultOf: (call: PendingCall) => LeaseholdError,
  ): void {
    const { schedule } = this.#world;
    const groups = new Map<number, PendingCall[]>();
    for (const call of calls) {
      const { operation, request } = call;
      if (effectOf(call, effect) === 'unknown') call.isUncertain = true;
      if (call.isSettled) continue;
      if (call.lane === 'waits' && this.#world.nowMs() - call.sentMs >= GOOD_MS) call.failures = 0;
      const mayRepeat = !this.#isStopped && (!call.isUncertain || isSafeAgain(operation, request));
      const delayMs = mayRepeat ? schedule.delayAfter(call, retryAfterMs) : null;
      if (delayMs === null) call.reject(faultOf(call));
      else if (delayMs === 0) this.#world.resend(call);
      else {
        this.#world.retrying?.(faultOf(call));
        const group = groups.get(delayMs);
        if (group === undefined) groups.set(delayMs, [call]);
        else group.push(call);
      }
    }
    for (const [delayMs, group] of groups) this.#delay(group, delayMs);
  }

  #delay(calls: readonly PendingCall[], delayMs: number): void {
    const { timers, resend } = this.#world;
    const timer = timers.after(delayMs, () => {
      this.#delayed.delete(delayed);
      delayed.hold.cancel();
      for (const call of calls) if (!call.isSettled) resend(call);
    });
    // A caller awaits the answer, so the process must stay alive until the retry.
    const delayed: Delayed = { calls, timer, hold: timers.hold() };
    this.#delayed.add(delayed);
  }

  /** Stops retrying and rejects the calls that wait for a retry. */
  stop(): void {
    this.#isStopped = true;
    for (const { calls, timer, hold } of this.#delayed) {
      timer.cancel();
      hold.cancel();
      for (const call of calls) call.reject(handleClosed(call.effect));
    }
    this.#delayed.clear();
  }

  /**
   * Releases a grant whose caller has given up. The server itself releases a grant whose answer never arrives. A named
   * lease with a token chosen by the caller is left alone: the caller may be using it again.
   */
  #giveBack({ operation, generatedId, isTokenOwn }: PendingCall, body: WireBody): void {
    const isTask = operation === 'task.lease';
    const isName = operation === 'lease.acquire' || operation === 'lease.acquire_all';
    if (!isTask && !(isName && (generatedId !== '' || isTokenOwn))) return;
    for (const lease of (body.leases ?? [body]) as Record<string, string>[]) {
      const { task_id, lease_id, name, holder, token } = lease;
      const released = isTask
        ? this.#world.ask('task.release', { task_id: task_id!, lease_id: lease_id! })
        : this.#world.ask('lease.release', { name: name!, holder: holder!, token: token! });
      released.catch((fault: unknown) => {
        // Unreachable: the lease expires by itself.
        if (!(fault instanceof LeaseholdError)) throw fault;
      });
    }
  }
}

/** Whether the answer is about what this call created; a live dedup key may have returned another task. */
function isOwn(call: PendingCall, body: WireBody): boolean {
  return call.generatedId !== '' && (call.operation !== 'task.create' || body.task_id === call.generatedId);
}

/** A read changes nothing. */
export function effectOf({ operation }: PendingCall, effect: Effect): Effect {
  return OPERATION_ROWS[operation].method === 'GET' ? 'none' : effect;
}

function unreachable({ effect }: PendingCall, fault: HttpFault): LeaseholdError {
  const says = effect === 'none' ? '' : ' The call may have been carried out.';
  return new LeaseholdError('UNREACHABLE', fault.message + says, { retryable: true, effect, cause: fault });
}

function transientFault({ effect }: PendingCall, body: WireBody): LeaseholdError {
  const refusal = asProblem({ ...body });
  return new LeaseholdError(refusal.code, refusal.detail, { retryable: true, effect, problem: refusal });
}

/** The lookup changed nothing, but the call it looked for may have. */
function stillUnknown(fault: unknown): unknown {
  if (!(fault instanceof LeaseholdError) || fault.effect === 'unknown') return fault;
  const { code, message, retryable } = fault;
  return new LeaseholdError(code, message, { retryable, effect: 'unknown', cause: fault });
}

/**
 * Renews all named leases of a client, with one timer. A lease is renewed after a third of its TTL. When one is due,
 * all that fall due soon are renewed in the same turn, so that the transport can batch them. Nothing iterates over all
 * leases, except after the machine has slept.
 *
 *   held ──renewed──▶ held            a failed renewal is retried until the deadline; of a strict lease never
 *    │ ├─ LEASE_EXPIRED ─▶ lost: expired      ├─ LEASE_NOT_HELD ─▶ lost: superseded or broken
 *    │ └─ its deadline passes ─▶ lost: unreachable when renewals failed, else expired
 *    └─ released
 *
 * A lost lease stays lost; later answers do not revive it.
 */

import { LeaseholdError, type Loss } from '../protocol/leasehold-error.ts';
import type { Problem } from '../protocol/problem.ts';
import { ChurnMap } from '../seams/churn-map.ts';
import type { Timer } from '../seams/clock.ts';
import { Deadline, type Moment, momentOf } from '../seams/deadline.ts';
import { historySince } from './history-since.ts';
import { type Grant, isVerdict, type RenewalAnswer } from './lease-grant.ts';
import { LeaseHeap } from './lease-heap.ts';
import { LeaseLostError, type LossDetails } from './lease-loss.ts';
import { sleep } from './sleep.ts';
import type { NoticeListener, Transport } from './transport.ts';
import type { ClientWorld } from './world.ts';

/** Leases renewed per turn of the event loop; the rest follow in the next turn, so that other work is not delayed. */
const RENEWALS_A_TURN = 2_000;
/** The timer fires at least this often, to notice a clock that jumped. */
const WATCH_MS = 1_000;
/** A timer this late means that the process or machine was suspended. */
const ASLEEP_MS = 250;
/** The wall clock gaining this much on the monotonic one means that the machine slept or the clock was set. */
const JUMP_MS = 50;
/** How long a lost lease waits for the lookup of the cause, if its deadline leaves time, and how many lookups run at once. */
const INQUIRY_MS = 250;
const INQUIRIES_MAX = 8;
/** A failed release is not retried after this time, however long the lease lasts. */
const RELEASE_MS = 10_000;

/** The loss that each log entry about a grant means. */
const ENDS: Readonly<Record<string, Loss>> = {
  NameReleased: 'released',
  NameExpired: 'expired',
  NameBroken: 'broken',
};

/** The loss for each cause in a notice of the authority; every other cause, such as a wipe, is `broken`. */
const LOSSES: Readonly<Record<string, Loss>> = {
  expired: 'expired',
  superseded: 'superseded',
  broken: 'broken',
  wiped: 'broken',
};

export class LeaseRenewal {
  readonly #transport: Transport;
  readonly #world: ClientWorld;
  readonly #heap = new LeaseHeap<Grant>();
  #timer: Timer | null = null;
  #timerDueMs = Number.POSITIVE_INFINITY;
  #isAsleep = false;
  /** A long turn was split; its rest runs in the next turn. */
  #isInTurn = false;
  #wallAheadMs = Number.POSITIVE_INFINITY;
  #inquiries = 0;
  #closed = false;
  /** By fencing number, to find the grant that a notice is about. */
  readonly #held = new ChurnMap<Grant>();
  #unlisten: (() => void) | null = null;

  constructor(transport: Transport, world: ClientWorld) {
    this.#transport = transport;
    this.#world = world;
  }

  keep(grant: Grant): void {
    if (this.#closed) {
      this.#lose(grant, 'unreachable', { cause: closedError() });
      return;
    }
    if (this.#heap.size === 0) this.#wallAheadMs = this.#wallLead();
    this.#unlisten ??= this.#transport.listen?.(this.#onNotice) ?? null;
    this.#held.set(grant.leaseSeq, grant);
    if (this.#transport.holds !== undefined)
      for (const name of grant.names) this.#transport.holds(name, grant.leaseSeq);
    this.#plan(grant, grant.deadline.sentMs + intervalMs(grant));
    this.#arm();
  }

  /** A notice from the authority arrives before the next renewal would report the loss. */
  readonly #onNotice: NoticeListener = ([type, notice]) => {
    const grant = this.#held.get(notice.lease_seq);
    if (grant === undefined) return false;
    if (type === 'asked') grant.ask(notice.reason);
    else if (type === 'lost') this.#lose(grant, LOSSES[notice.cause] ?? 'broken');
    return true;
  };

  /** Whether it is still held, by the clocks rather than by timers that may not have run. */
  isHeld(grant: Grant): boolean {
    if (grant.ended !== null) return false;
    if (grant.refusal !== null) this.#lose(grant, 'superseded', { problem: grant.refusal });
    else if (grant.deadline.isOver(this.#world.clock)) this.#runOut(grant);
    return grant.ended === null;
  }

  assertHeld(grant: Grant): void {
    if (!this.isHeld(grant)) throw grant.loss;
  }

  remainingMs(grant: Grant): number {
    if (grant.ended !== null || grant.refusal !== null) return 0;
    return Math.max(0, Math.floor(grant.deadline.remainingMs(this.#world.clock)));
  }

  /** Renews at once, for at least this long. Throws when the lease is lost or this renewal failed. */
  async extend(grant: Grant, atLeastMs: number): Promise<void> {
    this.assertHeld(grant);
    const fault = await this.#send(grant, atLeastMs);
    this.assertHeld(grant);
    if (fault !== null) throw fault;
  }

  /** Like `extend`, and later renewals use this TTL too. */
  async renew(grant: Grant, ttlMs: number): Promise<void> {
    await this.extend(grant, ttlMs);
    grant.ttlMs = ttlMs;
    this.#plan(grant, grant.deadline.sentMs + intervalMs(grant));
    this.#arm();
  }

  /** Ends a grant after a refused write has proven that it is over. */
  async refute(grant: Grant, name: string, problem: Problem): Promise<void> {
    if (grant.ended !== null) return;
    // Before its deadline a lease cannot expire: without a newer grant, it was broken.
    const isRunOut = grant.deadline.isOver(this.#world.clock);
    if (problem.code === 'LEASE_EXPIRED') this.#lose(grant, isRunOut ? 'expired' : 'broken', { problem });
    else await this.#refused(grant, name, problem);
  }

  /**
   * Delays a release until the returned function is called, because a completion that presents the lease is unanswered.
   */
  lend(grant: Grant): () => void {
    grant.lent += 1;
    return () => {
      grant.lent -= 1;
      // Rejects only for a bug, which ends the process.
      if (grant.lent === 0 && grant.isReturned) void this.release(grant);
    };
  }

  /**
   * Releases the grant, even if lost: it may still be live at the authority. Retries for as long as the lease could
   * last. True when this call ended it, false when it was over already, null when no server answered.
   */
  async release(grant: Grant): Promise<boolean | null> {
    if (grant.lent > 0 && this.isHeld(grant)) {
      grant.isReturned = true;
      return true;
    }
    const { clock } = this.#world;
    this.#heap.remove(grant);
    this.#held.delete(grant.leaseSeq);
    grant.end('released');
    const untilMs = Math.min(clock.monotonicMs() + RELEASE_MS, grant.deadline.sentMs + grant.ttlMs);
    for (;;) {
      try {
        return await grant.askRelease();
      } catch (fault) {
        if (!(fault instanceof LeaseholdError)) throw fault;
        const isWorthwhile = fault.retryable && !this.#closed;
        if (!isWorthwhile || clock.monotonicMs() + retryMs(grant) >= untilMs) return null;
      }
      await sleep(this.#world.timers, retryMs(grant));
    }
  }

  /**
   * Releases the grant at the end of its work. Returns how it was lost, or null when it was held to the end. It may
   * have been lost since the last renewal without notice: then there is nothing to release.
   */
  async finish(grant: Grant): Promise<LeaseLostError | null> {
    const wasHeld = this.isHeld(grant);
    const { loss } = grant;
    const isReleased = await this.release(grant);
    if (!wasHeld) return loss;
    return isReleased === false ? this.#lossAtEnd(grant) : null;
  }

  /** How a lease ended that turned out to be over. Its own release with a lost answer is not a loss. */
  async #lossAtEnd(grant: Grant): Promise<LeaseLostError | null> {
    const { leaseSeq, names } = grant;
    for (const name of names) {
      const end = await this.#endOf(name, leaseSeq);
      if (end !== 'released') return new LeaseLostError({ loss: end, leaseSeq, names });
    }
    return null;
  }

  /** Reads the first entry after the grant that ends it. If the name has been forgotten as idle, the lease expired. */
  async #endOf(name: string, leaseSeq: number): Promise<Loss> {
    const ask: Transport['call'] = (operation, request) => this.#transport.call(operation, request);
    for await (const { type, seq, lease_seq: of } of historySince(ask, name, leaseSeq)) {
      if (type === 'NamesWiped') return 'broken';
      if (type === 'NameLeased' && seq > leaseSeq) return 'superseded';
      const end = of === leaseSeq ? ENDS[type] : undefined;
      if (end !== undefined) return end;
    }
    return 'expired';
  }

  /** Stops all renewals and reports every held lease as lost. At the authority they expire. */
  close(): void {
    this.#closed = true;
    this.#unlisten?.();
    this.#timer?.cancel();
    this.#timer = null;
    for (const grant of this.#heap.all()) this.#lose(grant, 'unreachable', { cause: closedError() });
  }

  readonly #tick = (): void => {
    const nowMs = this.#world.clock.monotonicMs();
    this.#isAsleep = nowMs - this.#timerDueMs > ASLEEP_MS;
    this.#timer = null;
    this.#noticeJump(nowMs);
    this.#serveDue(nowMs);
    this.#isAsleep = false;
    if (this.#isInTurn) this.#world.timers.soon(this.#tickAgain);
    else this.#arm();
  };

  /** Renews what is due, together with what falls due soon. Does nothing when no lease is due. */
  #serveDue(nowMs: number): void {
    let left = RENEWALS_A_TURN;
    const isDue = this.#isInTurn || (this.#heap.top?.dueMs ?? Number.POSITIVE_INFINITY) <= nowMs;
    for (let grant = this.#heap.top; isDue && grant !== undefined && left > 0; grant = this.#heap.top) {
      if (grant.opensMs > nowMs) break;
      this.#serve(grant, nowMs);
      left -= 1;
    }
    this.#isInTurn = left === 0;
  }

  /** Continues a long turn. */
  readonly #tickAgain = (): void => {
    if (this.#closed) return;
    this.#timer?.cancel();
    this.#timerDueMs = Number.POSITIVE_INFINITY;
    this.#tick();
  };

  #serve(grant: Grant, nowMs: number): void {
    if (grant.deadline.isOver(this.#world.clock)) {
      this.#runOut(grant);
      return;
    }
    if (grant.isStrict && grant.unanswered > 0) {
      this.#lose(grant, 'unreachable', { cause: new LeaseholdError('UNREACHABLE', NO_ANSWER) });
      return;
    }
    // Rejects only for a bug, which ends the process.
    void this.#send(grant, grant.ttlMs);
    this.#plan(grant, nowMs + intervalMs(grant));
  }

  /** Plans the next renewal. One in flight has until then to be answered; it is not renewed early with others. */
  #plan(grant: Grant, renewAtMs: number): void {
    const { deadline } = grant;
    grant.dueMs = Math.min(renewAtMs, deadline.monotonicMs);
    const mayGoAlong = grant.unanswered === 0 && renewAtMs < deadline.monotonicMs;
    grant.opensMs = mayGoAlong ? grant.dueMs - intervalMs(grant) / 4 : grant.dueMs;
    this.#heap.put(grant);
  }

  /** Resolves to null when renewed, else to the fault. Rejects only for a bug. */
  async #send(grant: Grant, ttlMs: number): Promise<LeaseholdError | null> {
    const sent = momentOf(this.#world.clock);
    grant.unanswered += 1;
    let answer: RenewalAnswer | LeaseholdError;
    try {
      answer = await grant.askRenewal(ttlMs);
    } catch (fault) {
      if (!(fault instanceof LeaseholdError)) throw fault;
      answer = fault;
    }
    const isHeld = this.isHeld(grant);
    grant.unanswered -= 1;
    if (!isHeld) return grant.loss;
    if (answer instanceof LeaseholdError) return this.#failed(grant, answer);
    if (answer.ok) return this.#renewed(grant, sent, answer.remainingMs);
    if (!isVerdict(answer.problem)) return this.#failed(grant, LeaseholdError.of(answer.problem));
    await this.#refused(grant, answer.name, answer.problem);
    return grant.loss;
  }

  #renewed(grant: Grant, sent: Moment, remainingMs: number): null {
    grant.fault = null;
    // Answers may arrive out of order; the newest request counts.
    if (sent.monotonicMs < grant.deadline.sentMs) return null;
    grant.deadline = new Deadline(sent, remainingMs);
    grant.onDeadline?.(grant.deadline);
    this.#plan(grant, sent.monotonicMs + intervalMs(grant));
    this.#arm();
    return null;
  }

  #failed(grant: Grant, fault: LeaseholdError): LeaseholdError {
    grant.fault = fault;
    if (grant.isStrict) {
      this.#lose(grant, 'unreachable', { cause: fault });
    } else {
      this.#plan(grant, this.#world.clock.monotonicMs() + retryMs(grant));
      grant.opensMs = grant.dueMs - retryMs(grant) / 4;
      this.#arm();
    }
    return fault;
  }

  /** The authority says the lease is over. It counts as lost at once; looking up the cause may take a moment. */
  async #refused(grant: Grant, name: string, problem: Problem): Promise<void> {
    if (problem.code === 'LEASE_EXPIRED' || this.#inquiries >= INQUIRIES_MAX) {
      this.#lose(grant, problem.code === 'LEASE_EXPIRED' ? 'expired' : 'superseded', { problem });
      return;
    }
    grant.refusal = problem;
    this.#heap.remove(grant);
    this.#inquiries += 1;
    const { timers, clock } = this.#world;
    const waitMs = Math.min(INQUIRY_MS, Math.max(0, Math.floor(grant.deadline.remainingMs(clock))));
    const timer = timers.after(waitMs, () => this.#lose(grant, 'superseded', { problem }));
    try {
      this.#lose(grant, await this.#causeOf(grant, name), { problem });
    } finally {
      timer.cancel();
      this.#inquiries -= 1;
    }
  }

  /** Only a grant to the same holder supersedes a lease; otherwise it was broken. */
  async #causeOf({ holder }: Grant, name: string): Promise<Loss> {
    try {
      const found = await this.#transport.call('lease.get', { name });
      if (found.ok) return found.holder === holder ? 'superseded' : 'broken';
      return found.code === 'LEASE_NOT_FOUND' ? 'broken' : 'superseded';
    } catch (fault) {
      if (!(fault instanceof LeaseholdError)) throw fault;
      return 'superseded';
    }
  }

  /** The deadline has passed: no server answered, or this process was suspended. */
  #runOut(grant: Grant): void {
    const { fault } = grant;
    const nowMs = this.#world.clock.monotonicMs();
    const wasAway =
      this.#isAsleep || nowMs - this.#timerDueMs > ASLEEP_MS || nowMs < grant.deadline.monotonicMs;
    if (fault !== null) this.#lose(grant, 'unreachable', { cause: fault });
    else if (grant.unanswered > 0 && !wasAway) {
      this.#lose(grant, 'unreachable', { cause: new LeaseholdError('UNREACHABLE', NO_ANSWER) });
    } else this.#lose(grant, 'expired');
  }

  #lose(grant: Grant, loss: Loss, why?: LossDetails): void {
    this.#heap.remove(grant);
    this.#held.delete(grant.leaseSeq);
    grant.end(loss, why);
  }

  #wallLead(): number {
    return this.#world.clock.wallMs() - this.#world.clock.monotonicMs();
  }

  /** After a sleep, reports expired leases and renews the others at once. */
  #noticeJump(nowMs: number): void {
    const lead = this.#wallLead();
    const gainedMs = lead - this.#wallAheadMs;
    if (gainedMs > 0 && gainedMs <= JUMP_MS) return;
    this.#wallAheadMs = lead;
    if (gainedMs <= 0) return;
    for (const grant of this.#heap.all()) {
      if (grant.deadline.isOver(this.#world.clock)) this.#runOut(grant);
      else if (grant.unanswered === 0) this.#plan(grant, nowMs);
    }
  }

  #arm(): void {
    const { top } = this.#heap;
    if (top === undefined) {
      this.#timer?.cancel();
      this.#timer = null;
      this.#timerDueMs = Number.POSITIVE_INFINITY;
      return;
    }
    const nowMs = this.#world.clock.monotonicMs();
    const dueMs = Math.min(top.dueMs, nowMs + WATCH_MS);
    if (this.#timer !== null) {
      if (this.#timerDueMs <= dueMs) return;
      this.#timer.cancel();
    }
    this.#timerDueMs = dueMs;
    this.#timer = this.#world.timers.after(Math.max(1, Math.ceil(dueMs - nowMs)), this.#tick);
  }
}

const NO_ANSWER = 'A renewal was not answered in time.';

/** Three renewals per TTL. */
function intervalMs({ ttlMs }: Grant): number {
  return ttlMs / 3;
}

/**
 * The delay after a failed renewal: short enough for several tries before the deadline, long enough to avoid a storm.
 */
function retryMs({ ttlMs }: Grant): number {
  return Math.min(Math.max(ttlMs / 15, 10), 2_000);
}

function closedError(): LeaseholdError {
  return new LeaseholdError('UNREACHABLE', 'The client was closed while it held the lease.');
}

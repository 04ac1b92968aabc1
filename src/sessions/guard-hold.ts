/**
 * The guard while it is held: renewed every heartbeat. It is lost permanently when a renewal fails, is refused, or is
 * not answered when the next is due, and also at its deadline, which counts by either clock from before the last
 * successful renewal was sent. Seed 000 calls this fail-closed: a process that loses the guard ends.
 */

import { ORCHESTRATOR_GUARD as GUARD } from '../core/reserved-names.ts';
import { atMost } from '../keeper/at-most.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Timer } from '../seams/clock.ts';
import { Deadline, momentOf } from '../seams/deadline.ts';
import type { GuardTerms } from './take-guard.ts';
import { guardSpan, type Span, type Timing } from './timing.ts';
import type { OrchestratorWorld } from './world.ts';

/** A release must not delay the shutdown. The guard expires anyway. */
const RELEASE_MS = 2_000;
/** A suspended machine wakes up after the deadline, which no timer notices. */
const WATCH_MS = 1_000;

export interface GuardEvents {
  /** The guard was renewed: pipelines may run longer. */
  renewed(): void;
  /** Called once, with the reason. */
  lost(why: string): void;
}

export class GuardHold {
  /** Sent with every change. */
  readonly claim: { readonly name: string; readonly holder: string; readonly token: string };
  /** Until when the guard allows pipelines to run. */
  span: Span;
  private readonly world: OrchestratorWorld;
  private readonly timing: Timing;
  private readonly events: GuardEvents;
  private deadline: Deadline;
  private isLost = false;
  private unanswered = 0;
  private dueMs: number;
  private timer: Timer | null = null;

  constructor(world: OrchestratorWorld, timing: Timing, terms: GuardTerms, events: GuardEvents) {
    const { holder, token, sent, lastsMs } = terms;
    this.world = world;
    this.timing = timing;
    this.events = events;
    this.claim = { name: GUARD, holder, token };
    this.deadline = new Deadline(sent, lastsMs);
    this.span = guardSpan(sent, lastsMs, timing);
    this.dueMs = sent.monotonicMs + timing.heartbeatMs;
  }

  /** Starts renewing. */
  keep(): void {
    this.arm();
  }

  /** By the clocks, not by timers, which may be late. */
  get isHeld(): boolean {
    if (!this.isLost && this.deadline.isOver(this.world.clock)) this.lose('its time has run out');
    return !this.isLost;
  }

  /** Another part of the orchestrator found that it is lost. */
  refuted(why: string): void {
    this.lose(why);
  }

  /** Best effort and bounded. */
  async release(): Promise<void> {
    const { client, timers } = this.world;
    this.isLost = true;
    this.timer?.cancel();
    try {
      await atMost(timers, RELEASE_MS, client.call('lease.release', this.claim));
    } catch (fault) {
      if (!(fault instanceof LeaseholdError)) throw fault;
    }
  }

  private arm(): void {
    const { clock, timers } = this.world;
    const leftMs = Math.max(1, Math.ceil(this.dueMs - clock.monotonicMs()));
    this.timer = timers.after(Math.min(leftMs, WATCH_MS), () => this.look());
  }

  private look(): void {
    if (!this.isHeld) return;
    if (this.world.clock.monotonicMs() < this.dueMs) this.arm();
    else if (this.unanswered === 0) this.beat();
    // An answer may be unread if this event loop was blocked, so it gets one turn.
    else this.world.timers.soon(() => (this.unanswered === 0 ? this.look() : this.lose(NO_ANSWER)));
  }

  private beat(): void {
    this.dueMs = this.world.clock.monotonicMs() + this.timing.heartbeatMs;
    // Rejects only on a bug, which ends the process.
    void this.renew();
    this.arm();
  }

  private async renew(): Promise<void> {
    const { client, clock } = this.world;
    const sent = momentOf(clock);
    this.unanswered += 1;
    try {
      const reply = await client.call('lease.renew', {
        ...this.claim,
        ttl_ms: this.timing.guardTtlMs,
      });
      this.unanswered -= 1;
      if (!this.isHeld) return;
      if (!reply.ok) return this.lose(`a renewal was refused (${reply.code}: ${reply.detail})`);
      this.deadline = new Deadline(sent, reply.remaining_ms);
      this.span = guardSpan(sent, reply.remaining_ms, this.timing);
      this.events.renewed();
    } catch (fault) {
      if (!(fault instanceof LeaseholdError)) throw fault;
      this.lose(`a renewal failed (${fault.code}: ${fault.message})`);
    }
  }

  private lose(why: string): void {
    if (this.isLost) return;
    this.isLost = true;
    this.timer?.cancel();
    this.events.lost(why);
  }
}

const NO_ANSWER = 'a renewal was not answered when the next was due';

/**
 * The orchestrator: the only process that claims services and slots and runs pipelines. In this order:
 *
 *   scopes ─▶ guard ─▶ wipe ─▶ work: ends pipelines of earlier orchestrators, then takes start tasks, renews sessions
 *                              together, follows stops in the log
 *
 * Any failure before work starts is fatal, and nothing was started (code 3). A token without the right to take start
 * tasks is detected before anything is changed. A lost guard ends everything: every pipeline is stopped and nothing
 * more is written (code 4). On request it ends its sessions, releases the guard and ends (code 0); while a pipeline
 * is still alive, it neither releases the guard nor exits with 0. It uses seams only, so a simulation can run it
 * unchanged.
 */

import { sleep } from '../client/sleep.ts';
import { ORCHESTRATOR_GUARD as GUARD, SESSION_LEASES, START_QUEUE } from '../core/reserved-names.ts';
import { atMost } from '../keeper/at-most.ts';
import type { Requests } from '../operations/table.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { LIMITS } from '../protocol/limits.ts';
import type { Reply } from '../protocol/problem.ts';
import type { Timer } from '../seams/clock.ts';
import { momentOf } from '../seams/deadline.ts';
import { AUTHORITY_ID, sharedAuthorityId } from './authority-id.ts';
import type { OrchestratorConfig } from './config.ts';
import { GuardHold } from './guard-hold.ts';
import { followSessions } from './session-feed.ts';
import { type SessionHost, SessionRun } from './session-run.ts';
import { endStrays } from './stray-pipelines.ts';
import { fatalRefusal, StartUp, takeGuard } from './take-guard.ts';
import { LOST_GRACE_MS, type Span, type Timing } from './timing.ts';
import { FatalError, type OrchestratorWorld } from './world.ts';

export interface OrchestratorOptions {
  readonly config: OrchestratorConfig;
  readonly timing: Timing;
  /** For the whole start-up. */
  readonly startMs?: number;
}

export interface Outcome {
  readonly code: 0 | 3 | 4;
  /** One line; null when there is nothing to explain. */
  readonly says: string | null;
}

/** It was asked to end, and has. */
const ASKED: Outcome = { code: 0, says: null };
const START_MS = 10_000;
const TAKEN_AT_ONCE = 16;
const INTAKE_WAIT_MS = 20_000;
/** The scope that leasing start tasks needs. */
const SCOPE = '*';
const AGAIN_MS = 500;
/** A warning is repeated after this many unsuccessful kills. */
const LOOKS_A_WARNING = 20;
/**
 * The limit of concurrent starts; a saturated queue waits at the authority and not here. Fewer than a client has
 * connections, so that hanging starts never block the report of a session's end.
 */
const CLAIMS_MAX = 24;
/** By then the previous holder of these leases has stopped its pipelines, killed ones included. */
const HANDOVER_MS = 2 * LOST_GRACE_MS;
/** After a lost guard the process ends within this time, whatever still hangs. */
const FAIL_MS = 1_600;
/** Added to the grace on shutdown. */
const SHUTDOWN_MS = 5_000;

export class Orchestrator implements SessionHost {
  readonly world: OrchestratorWorld;
  readonly config: OrchestratorConfig;
  readonly timing: Timing;
  private readonly startMs: number;
  private startUp: StartUp | null = null;
  private guard: GuardHold | null = null;
  private guardSeq = 0;
  /** Known before the first pipeline starts. */
  authorityId = '';
  private readonly runs = new Map<string, SessionRun>();
  /** Ends long polls. No request is lost by it. */
  private readonly closing = new AbortController();
  private isWorking = false;
  private nextBeat: Timer | null = null;
  /** Pipelines of a previous orchestrator may still be ending, because our wipe ended their leases. */
  private isHandover = false;
  private othersGone: Promise<void> | null = null;
  /** Why nothing may be written any more. */
  private loss: string | null = null;
  private isAsked = false;
  private finish: (outcome: Outcome) => void = () => undefined;
  private readonly finished: Promise<Outcome>;
  /** Called when a run has changed, for callers that wait for one to end. */
  private wake: (() => void)[] = [];

  constructor(world: OrchestratorWorld, { config, timing, startMs = START_MS }: OrchestratorOptions) {
    this.world = world;
    this.config = config;
    this.timing = timing;
    this.startMs = startMs;
    this.finished = new Promise((resolve) => {
      this.finish = resolve;
    });
  }

  get isEnding(): boolean {
    return this.isAsked || this.loss !== null;
  }

  get guardSpan(): Span {
    return this.guard!.span;
  }

  /** Runs until it ends. */
  async run(): Promise<Outcome> {
    const hold = this.world.timers.hold();
    try {
      const fromSeq = await this.begin();
      if (this.loss !== null) throw new FatalError(lossText(this.loss));
      if (this.isAsked) await this.giveBack();
      else this.work(fromSeq);
      return await this.finished;
    } catch (fault) {
      if (!(fault instanceof FatalError)) throw fault;
      // Nothing was started, so there is nothing to stop. A guard that was acquired must not keep the next one out.
      await this.handedOver();
      await this.guard?.release();
      if (this.isAsked) return ASKED;
      return { code: 3, says: `FATAL: ${fault.message}; nothing was started.` };
    } finally {
      this.closing.abort();
      this.nextBeat?.cancel();
      hold.cancel();
    }
  }

  /** A graceful shutdown was requested. */
  shutdown(): void {
    if (this.isEnding) return;
    this.isAsked = true;
    this.world.say('info', 'stopping', { sessions: this.runs.size });
    this.closing.abort();
    if (this.isWorking) void this.stopSessions();
    else this.startUp?.fail(new FatalError('it was asked to end'));
  }

  /** Returns the first log position at which one of our sessions may change. */
  private async begin(): Promise<number> {
    const { world, timing } = this;
    const startUp = new StartUp(world, this.startMs);
    this.startUp = startUp;
    const { name, scopes } = await startUp.step('Asking for the scopes of the token', () =>
      world.client.whoami(),
    );
    if (!scopes.includes(SCOPE)) {
      throw new FatalError(
        `${name} has the scopes ${scopes.join(' ')}, and an orchestrator needs the scope ${SCOPE}`,
      );
    }
    const terms = await takeGuard(world, startUp, timing.guardTtlMs);
    const guard = new GuardHold(world, timing, terms, {
      renewed: () => {
        for (const run of this.runs.values()) run.limit();
      },
      lost: (why) => this.failClosed(why),
    });
    this.guard = guard;
    this.guardSeq = terms.leaseSeq;
    if (!guard.isHeld) throw new FatalError(`the guard ${GUARD} was over before it could be used`);
    guard.keep();
    world.say('info', 'the guard is held', { holder: terms.holder, lease_seq: terms.leaseSeq });
    const wiped = await startUp.step('Wiping the leases of earlier sessions', () => {
      this.isHandover = true;
      return world.client.call('lease.wipe', { prefix: SESSION_LEASES, guard: guard.claim });
    });
    if (!wiped.ok) throw fatalRefusal(wiped);
    world.say('info', 'leases of earlier sessions are wiped', { wiped: wiped.wiped, seq: wiped.seq });
    // A wipe that was delivered twice finds nothing the second time.
    this.isHandover = wiped.wiped > 0 || terms.isTakenOver;
    return wiped.seq + 1;
  }

  /**
   * Resolves when the pipelines of the previous orchestrator are gone. Until then nothing starts, and the guard is
   * not released either: the next orchestrator's wipe would find nothing, so it would not wait for them.
   */
  private handedOver(): Promise<void> | null {
    if (this.isHandover) this.othersGone ??= sleep(this.world.timers, HANDOVER_MS);
    return this.othersGone;
  }

  /** Orphans: their keeper was killed together with its orchestrator, or is stopped. */
  private async endEarlierPipelines(): Promise<void> {
    const { world } = this;
    while (this.authorityId === '' && !this.isEnding) {
      const newId = world.newToken();
      const shared = await this.tried(() => sharedAuthorityId(world.client, this.guardSeq, newId));
      if (shared?.ok) this.authorityId = shared.id;
    }
    if (this.isEnding) return;
    let looks = 0;
    await endStrays(world, {
      mark: { [AUTHORITY_ID]: this.authorityId },
      found: (strays) => {
        const pids = strays.map(({ pid }) => pid);
        if (looks === 0) world.say('warn', 'orphaned pipelines are killed', { pids });
        else if (looks % LOOKS_A_WARNING === 0) world.say('error', 'pipelines cannot be killed', { pids });
        looks += 1;
      },
      // A look takes time: pipelines started after the guard was lost belong to another orchestrator.
      isOver: () => this.isEnding || !this.guard!.isHeld,
    });
  }

  private work(fromSeq: number): void {
    this.isWorking = true;
    const { slots, profiles } = this.config;
    this.world.say('info', 'taking intents', { slots, profiles: Object.keys(profiles) });
    // These reject only on a bug. It ends the process, and that ends the pipelines.
    void this.follow(fromSeq);
    void this.takeIn();
    this.beat();
  }

  // The calls.

  async ask<T extends { readonly ok: true }>(
    call: (guard: Requests['session.change']['guard']) => Promise<Reply<T>>,
  ): Promise<Reply<T> | null> {
    const guard = this.guard!;
    if (!guard.isHeld) return null;
    const reply = await call(guard.claim);
    if (this.loss !== null) return null;
    if (reply.ok || reply.code !== 'GUARD_NOT_HELD') return reply;
    guard.refuted(`a change was refused (${reply.code}: ${reply.detail})`);
    return null;
  }

  /** For loops that continue after a failure: pauses after a refusal or a fault. */
  private async tried<T extends { readonly ok: true }>(
    call: (guard: Requests['session.change']['guard']) => Promise<Reply<T>>,
  ): Promise<Reply<T> | null> {
    let reply: Reply<T> | null = null;
    try {
      reply = await this.ask(call);
      if (reply === null || reply.ok) return reply;
      this.world.say('warn', 'the authority refused', { code: reply.code, detail: reply.detail });
    } catch (fault) {
      if (this.isEnding) return null;
      if (!(fault instanceof LeaseholdError)) throw fault;
      this.world.say('warn', 'a call failed', { code: fault.code, message: fault.message });
    }
    await sleep(this.world.timers, AGAIN_MS);
    return reply;
  }

  // Intents.

  private async takeIn(): Promise<void> {
    const { client } = this.world;
    await this.handedOver();
    await this.endEarlierPipelines();
    const { timing, closing } = this;
    const ttl_ms = Math.min(timing.leaseTtlMs + timing.graceMs, LIMITS.ttlMaxMs);
    while (!this.isEnding) {
      const places = CLAIMS_MAX - count(this.runs, ({ isClaiming }) => isClaiming);
      if (places <= 0) {
        await this.whenChanged();
        continue;
      }
      const reply = await this.tried((guard) =>
        client.call(
          'task.lease',
          {
            worker_id: guard.holder,
            queues: [START_QUEUE],
            max: Math.min(TAKEN_AT_ONCE, places),
            ttl_ms,
            wait_ms: INTAKE_WAIT_MS,
            guard,
          },
          { signal: closing.signal },
        ),
      );
      // The token was changed. An orchestrator that may not take start tasks must not keep the guard from one that
      // may.
      if (reply?.ok === false && reply.code === 'FORBIDDEN') {
        return this.guard!.refuted(`taking start tasks was refused (${reply.code}: ${reply.detail})`);
      }
      if (!reply?.ok) continue;
      for (const task of reply.leases) void this.runSession(new SessionRun(this, task));
    }
  }

  private async runSession(run: SessionRun): Promise<void> {
    this.runs.set(run.id, run);
    try {
      await run.live();
    } finally {
      if (this.runs.get(run.id) === run) this.runs.delete(run.id);
      this.changed();
    }
  }

  async freeSlots(): Promise<readonly string[]> {
    const isDying = (run: SessionRun): boolean => run.isDying;
    await this.whenNone(isDying);
    const taken = new Set([...this.runs.values()].filter(isDying).map(({ slot }) => slot));
    return this.config.slots.filter((slot) => !taken.has(slot));
  }

  /**
   * A slot may be granted to the next session before we have learned that the previous one has ended. The authority
   * grants it to one at a time, so of two that claim it the earlier one is over.
   */
  clearSlot(newest: SessionRun): Promise<boolean> {
    const others = [...this.runs.values()].filter((run) => run !== newest && run.slot === newest.slot);
    for (const other of others) (other.leaseSeq < newest.leaseSeq ? other : newest).observe('FAILED');
    return this.whenNone((run) => run.hasProcess && others.includes(run));
  }

  /** They were told to end and are killed soon. A process that cannot be killed is not waited for. */
  private async whenNone(isSo: (run: SessionRun) => boolean): Promise<boolean> {
    const { clock, timers } = this.world;
    const untilMs = clock.monotonicMs() + HANDOVER_MS;
    while (count(this.runs, isSo) > 0 && clock.monotonicMs() < untilMs) {
      await atMost(timers, untilMs - clock.monotonicMs(), this.whenChanged());
    }
    return count(this.runs, isSo) === 0;
  }

  private whenChanged(): Promise<void> {
    return new Promise((resolve) => {
      this.wake.push(resolve);
    });
  }

  changed(): void {
    for (const call of this.wake.splice(0)) call();
  }

  // Renewal, stops, silence.

  private beat(): void {
    if (this.loss !== null) return;
    void this.renew();
    if (this.config.session_idle_ms !== undefined && !this.isAsked)
      void this.endIdle(this.config.session_idle_ms);
    this.nextBeat = this.world.timers.after(this.timing.heartbeatMs, () => this.beat());
  }

  /** Renews all sessions in one request, both leases of each. */
  private async renew(): Promise<void> {
    const { client, clock } = this.world;
    const session_ids = [...this.runs.values()].filter(({ isClaimed }) => isClaimed).map(({ id }) => id);
    if (session_ids.length === 0) return;
    const sent = momentOf(clock);
    const ttl_ms = this.timing.leaseTtlMs;
    const reply = await this.tried((guard) => client.call('session.renew', { guard, session_ids, ttl_ms }));
    if (!reply?.ok) return;
    for (const { session_id, state, remaining_ms } of reply.renewed) {
      const run = this.runs.get(session_id);
      run?.renewed(sent, remaining_ms);
      run?.observe(state);
    }
    for (const { session_id, state } of reply.lost) this.runs.get(session_id)?.observe(state ?? 'FAILED');
  }

  private async follow(fromSeq: number): Promise<void> {
    await followSessions(this.world, fromSeq, this.closing.signal, {
      changed: (sessionId, state) => this.runs.get(sessionId)?.observe(state),
      broken: (name) => {
        if (name === GUARD) this.guard?.refuted('another client ended it');
      },
    });
  }

  private async endIdle(idleMs: number): Promise<void> {
    const { client } = this.world;
    for (const state of ['STARTING', 'READY'] as const) {
      const reply = await this.tried(() => client.call('session.list', { state, limit: 1_000 }));
      for (const { session_id, idle_ms = 0 } of reply?.ok ? reply.sessions : []) {
        const run = this.runs.get(session_id);
        if (idle_ms < idleMs || run === undefined) continue;
        this.world.say('info', 'a session is idle', { session_id, idle_ms });
        await run.end('idle');
      }
    }
  }

  // The end.

  private async stopSessions(): Promise<void> {
    const { timers, clock } = this.world;
    const untilMs = clock.monotonicMs() + this.timing.graceMs + SHUTDOWN_MS;
    for (const run of this.runs.values()) void run.end('shutdown');
    while (this.runs.size > 0 && this.loss === null && clock.monotonicMs() < untilMs) {
      await atMost(timers, untilMs - clock.monotonicMs(), this.whenChanged());
    }
    if (this.loss !== null) return;
    const left = count(this.runs, ({ hasProcess }) => hasProcess);
    if (left === 0) return this.giveBack();
    // The next orchestrator could start another pipeline on the slot. It has to wait for the guard, and then ends
    // these first.
    const says = `FATAL: ${left} pipelines cannot be killed, so the guard ${GUARD} is not released.`;
    this.finish({ code: 4, says });
  }

  private async giveBack(): Promise<void> {
    await this.handedOver();
    await this.guard!.release();
    this.world.say('info', 'stopped');
    this.finish(ASKED);
  }

  /** The guard is lost. `ask` prevents any further write. */
  private failClosed(why: string): void {
    if (this.loss !== null) return;
    this.loss = why;
    this.changed();
    if (!this.isWorking) {
      // Nothing has been started.
      this.startUp?.fail(new FatalError(lossText(why)));
      return;
    }
    this.world.say('error', 'the guard is lost', { why, pipelines: this.runs.size });
    for (const run of this.runs.values()) run.abandon(LOST_GRACE_MS);
    const ended = this.allEnded().then(() => 'every pipeline was stopped');
    void atMost(this.world.timers, FAIL_MS, ended).then((done) => {
      const rest = done ?? 'pipelines that still run are killed by their keepers';
      this.finish({ code: 4, says: `FATAL: ${lossText(why)}; ${rest}.` });
    });
  }

  private async allEnded(): Promise<void> {
    while (count(this.runs, ({ isDying }) => isDying) > 0) await this.whenChanged();
  }
}

function lossText(why: string): string {
  return `the guard ${GUARD} is lost because ${why}`;
}

function count(runs: ReadonlyMap<string, SessionRun>, isSo: (run: SessionRun) => boolean): number {
  let found = 0;
  for (const run of runs.values()) if (isSo(run)) found += 1;
  return found;
}

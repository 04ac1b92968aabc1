/**
 * One session from its start task to its end. Events come from three sides, in any order: the authority (states from
 * the log or a renewal), the pipeline (running, ready, ended), and the orchestrator (shutdown, idle). So the wanted
 * state is kept apart from the progress:
 *
 *   wanted   RUN ──STOPPING, shutdown, idle──▶ STOP ──ended at the authority──▶ GONE      (never back)
 *   done     claim slot and service ─▶ pipeline ─▶ its end ─▶ tell the authority
 *
 * Once the pipeline has started, the end of the session is reported only when no process of the pipeline is left. So
 * a slot is never free at the authority while its process runs.
 */

import { sleep } from '../client/sleep.ts';
import { atMost } from '../keeper/at-most.ts';
import type { SessionRecord } from '../operations/records.ts';
import type { Body, Requests } from '../operations/table.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Problem, Reply } from '../protocol/problem.ts';
import { type Moment, momentOf } from '../seams/deadline.ts';
import { AUTHORITY_ID } from './authority-id.ts';
import { filled, type OrchestratorConfig } from './config.ts';
import { endText, type Pipeline, type PipelineEnd } from './pipelines.ts';
import { LOST_GRACE_MS, leaseSpan, limitsWithin, type Span, type Timing } from './timing.ts';
import type { OrchestratorWorld } from './world.ts';

export type SessionState = SessionRecord['state'];
type SessionEvent = Requests['session.change']['event'];
type StartTask = Body<'task.lease'>['leases'][number];

/** What a run needs from its orchestrator. */
export interface SessionHost {
  readonly world: OrchestratorWorld;
  readonly config: OrchestratorConfig;
  readonly timing: Timing;
  readonly guardSpan: Span;
  /** Shared by all orchestrators of one authority; see `authority-id.ts`. */
  readonly authorityId: string;
  /** True from the start of the shutdown: nothing new starts. */
  readonly isEnding: boolean;
  /** A call under the guard; null when it may not be sent or the guard was lost: then everything is over. */
  ask<T extends { readonly ok: true }>(
    call: (guard: Requests['session.change']['guard']) => Promise<Reply<T>>,
  ): Promise<Reply<T> | null>;
  /** Slots on which this orchestrator runs no process, after the processes of ended sessions are gone. */
  freeSlots(): Promise<readonly string[]>;
  /** Ends the other runs on this run's slot and waits for them; false when one did not end. */
  clearSlot(run: SessionRun): Promise<boolean>;
  /** A run has changed. */
  changed(): void;
}

interface Intent {
  readonly serviceRef?: string;
  readonly recordingID?: string;
  readonly profileID: string;
  readonly start_ms?: number;
}

interface Claim {
  readonly slot: string;
  readonly leaseSeq: number;
}

/** The delay before a failed call is retried. */
const AGAIN_MS = 250;
/** How often a start checks whether the session that blocks it has ended. */
const PATIENT_LOOK_MS = 100;
/** Added to the grace of the blocking session. */
const PATIENCE_MS = 3_000;
const DETAIL_MAX = 500;

const ENDED: ReadonlySet<string> = new Set(['STOPPED', 'FAILED', 'CANCELLED']);

export class SessionRun {
  readonly id: string;
  /** Its slot, from the claim to the end of the pipeline. */
  slot: string | null = null;
  /** The number of the claim. The run with the higher one has the slot. */
  leaseSeq = 0;
  /** True until it is decided whether it gets a slot. */
  isClaiming = true;
  private readonly host: SessionHost;
  private readonly task: StartTask;
  private wanted: 'RUN' | 'STOP' | 'GONE' = 'RUN';
  private span: Span | null = null;
  private pipeline: Pipeline | null = null;
  /** Events are reported one after the other: ready before the end. */
  private reported: Promise<unknown> = Promise.resolve();

  constructor(host: SessionHost, task: StartTask) {
    this.host = host;
    this.task = task;
    this.id = task.task_id;
  }

  /** Whether its leases must be renewed. */
  get isClaimed(): boolean {
    return this.span !== null && this.wanted !== 'GONE';
  }

  get hasProcess(): boolean {
    return this.pipeline !== null;
  }

  /** Its session has ended, and its process has not. */
  get isDying(): boolean {
    return this.wanted === 'GONE' && this.hasProcess;
  }

  /** Whether it has leases that it could be asked to give up. */
  get isRunning(): boolean {
    return this.span !== null && this.wanted === 'RUN';
  }

  /** Resolves when the session has ended and everything is reported. */
  async live(): Promise<void> {
    const intent = this.task.payload.parse() as Intent;
    const claim = await this.claim();
    this.isClaiming = false;
    this.host.changed();
    if (claim === null) return;
    const isClear = await this.host.clearSlot(this);
    if (this.host.isEnding) await this.end('shutdown');
    if (this.wanted !== 'RUN') return this.reportEnd(null);
    const end = isClear ? await this.runPipeline(intent, claim) : notStarted(notClear(claim));
    await this.reportEnd(end);
  }

  /** The authority reported its state. */
  observe(state: SessionState): void {
    if (ENDED.has(state)) this.want('GONE');
    else if (state === 'STOPPING') this.want('STOP');
  }

  renewed(sent: Moment, lastsMs: number): void {
    this.span = leaseSpan(sent, lastsMs, this.host.timing);
    this.limit();
  }

  /** The guard or the leases were extended. */
  limit(): void {
    if (this.span !== null) this.pipeline?.limit(limitsWithin(this.host.guardSpan, this.span));
  }

  /** Ends it with a reason. The pipeline is stopped whatever the authority answers. */
  async end(event: 'shutdown' | 'idle'): Promise<void> {
    if (!this.isRunning) return;
    const reported = this.report(event, null);
    if (event === 'idle') {
      // A client may have returned. Then nothing changes.
      const state = await reported;
      if (state !== null) this.observe(state);
      return;
    }
    this.want('STOP');
    await reported;
  }

  /** Nothing may be written any more; only the process is stopped. */
  abandon(graceMs: number): void {
    this.wanted = 'GONE';
    this.pipeline?.stop(graceMs);
  }

  private want(wanted: 'STOP' | 'GONE'): void {
    if (this.wanted === 'GONE' || this.wanted === wanted) return;
    this.wanted = wanted;
    this.pipeline?.stop(wanted === 'GONE' ? LOST_GRACE_MS : this.host.timing.graceMs);
  }

  /** Claims the service and a slot; null when the claim failed, which the authority knows already. */
  private async claim(): Promise<Claim | null> {
    const { world, timing } = this.host;
    const { clock, timers, client } = world;
    const token = world.newToken();
    const patientUntilMs = clock.monotonicMs() + timing.graceMs + PATIENCE_MS;
    while (!this.host.isEnding && this.wanted === 'RUN') {
      const slots = await this.host.freeSlots();
      const sent = momentOf(clock);
      const reply = await this.again((guard, signal) =>
        client.call(
          'session.start',
          {
            session_id: this.id,
            guard,
            lease_id: this.task.lease_id,
            slots: [...slots],
            ttl_ms: timing.leaseTtlMs,
            token,
            patient: sent.monotonicMs < patientUntilMs,
          },
          { signal },
        ),
      );
      if (reply === null) return null;
      if (reply.ok) return this.claimed(reply, sent);
      if (reply.code !== 'LEASE_HELD') {
        world.say('info', 'a start failed', { session_id: this.id, code: reply.code });
        return null;
      }
      await sleep(timers, PATIENT_LOOK_MS);
    }
    return null;
  }

  private claimed(reply: Body<'session.start'>, sent: Moment): Claim | null {
    const { world, timing } = this.host;
    const { state, reason, reason_detail, slot, lease_seq, remaining_ms } = reply;
    this.observe(state);
    if (slot === undefined || lease_seq === undefined || ENDED.has(state)) {
      world.say('info', 'a session was not started', { session_id: this.id, state, reason, reason_detail });
      return null;
    }
    this.slot = slot;
    this.leaseSeq = lease_seq;
    this.span = leaseSpan(sent, remaining_ms ?? 0, timing);
    return { slot, leaseSeq: lease_seq };
  }

  /** Runs the pipeline from start to end. */
  private async runPipeline(intent: Intent, claim: Claim): Promise<PipelineEnd> {
    const { world, guardSpan, authorityId } = this.host;
    const { profiles } = this.host.config;
    const { slot, leaseSeq } = claim;
    const { serviceRef = '', recordingID = '', start_ms = 0, profileID } = intent;
    const session_id = this.id;
    // Looked for only now: a service that is busy is busy for an unknown profile too.
    const profile = Object.hasOwn(profiles, profileID) ? profiles[profileID] : undefined;
    if (profile === undefined) {
      world.say('info', 'a session has an unknown profile', { session_id, profile: profileID });
      return notStarted(`There is no profile ${profileID}.`);
    }
    const command = filled(profile.command, {
      serviceRef,
      recordingID,
      start_ms: String(start_ms),
      slot,
      session_id,
    });
    const mark = { [AUTHORITY_ID]: authorityId, LEASEHOLD_SESSION_ID: session_id };
    const end = await new Promise<PipelineEnd>((ended) => {
      this.pipeline = world.pipelines.start(
        {
          sessionId: this.id,
          command,
          env: {
            ...mark,
            LEASEHOLD_SLOT: slot,
            LEASEHOLD_LEASE_SEQ: String(leaseSeq),
          },
          mark,
          ready: profile.ready?.stdout ?? null,
          limits: limitsWithin(guardSpan, this.span!),
        },
        {
          running: (pid) => world.say('info', 'a pipeline runs', { session_id, slot, pid }),
          ready: () => void this.becomeReady(),
          ended,
          warned: (says) => world.say('warn', says, { session_id, slot }),
        },
      );
    });
    this.pipeline = null;
    world.say('info', 'a pipeline has ended', { session_id, slot, end: endText(end) });
    return end;
  }

  private async becomeReady(): Promise<void> {
    if (this.wanted !== 'RUN') return;
    // Once it is ending, ready is irrelevant, and the end must not wait for an answer to it.
    const state = await this.report('ready', null, () => this.wanted === 'RUN' && this.pipeline !== null);
    if (state !== null) this.observe(state);
    if (state === 'READY') this.host.world.say('info', 'a session is ready', { session_id: this.id });
  }

  /** No process of the pipeline is left, or it was never started. */
  private async reportEnd(end: PipelineEnd | null): Promise<void> {
    // The leases are no longer needed. If the authority cannot be reached, they expire and end the session.
    const { span } = this;
    this.span = null;
    const wanted = this.wanted as 'RUN' | 'STOP' | 'GONE';
    const about = { session_id: this.id, slot: this.slot };
    if (wanted === 'GONE') return;
    if (wanted === 'RUN' && end?.is === 'ended' && end.isKept) {
      this.host.world.say('warn', 'a pipeline was ended before its leases expired', about);
      // It did not end by itself. If its leases could not be renewed in time, the authority reports that in a moment.
      // If only the guard was short, they would keep the slot of a session that is gone.
      if (span !== null && isPast(span.terminateBy, momentOf(this.host.world.clock))) return;
    }
    const state = await this.report(eventOf(wanted, end), end === null ? null : endText(end));
    this.host.world.say('info', 'a session has ended', { ...about, state });
  }

  /** Reports an event after those in progress. Returns the state of the session; null when unknown. */
  private report(
    event: SessionEvent,
    detail: string | null,
    isOfUse: () => boolean = () => true,
  ): Promise<SessionState | null> {
    const { client } = this.host.world;
    const said = this.reported.then(async () => {
      const reply = await this.again(
        (guard, signal) =>
          client.call(
            'session.change',
            {
              session_id: this.id,
              guard,
              event,
              ...(detail === null ? {} : { detail: shortened(detail) }),
            },
            { signal },
          ),
        isOfUse,
      );
      if (reply !== null && !reply.ok) this.refused(event, reply);
      return reply?.state ?? null;
    });
    this.reported = said;
    return said;
  }

  /** A session that has ended is an answer. Any other refusal is logged. */
  private refused(event: SessionEvent, { code, detail }: Problem): void {
    if (code === 'SESSION_TERMINAL' || code === 'SESSION_STATE_CONFLICT') return;
    this.host.world.say('warn', 'the authority refused a change', {
      session_id: this.id,
      event,
      code,
      detail,
    });
  }

  /**
   * Retries until answered; null when that is no longer useful: leases that are not renewed have expired by then, and
   * the session has ended with them. A call that is not answered in time is abandoned, to free its connection.
   */
  private async again<T extends { readonly ok: true }>(
    call: (guard: Requests['session.change']['guard'], signal: AbortSignal) => Promise<Reply<T>>,
    isOfUse: () => boolean = () => true,
  ): Promise<Reply<T> | null> {
    const { world, timing } = this.host;
    const { clock, timers } = world;
    const untilMs = clock.monotonicMs() + timing.leaseTtlMs;
    for (;;) {
      try {
        const late = new AbortController();
        const asked = this.host.ask((guard) => call(guard, late.signal));
        const reply = await atMost(timers, timing.heartbeatMs, asked);
        if (reply !== undefined) return reply;
        late.abort();
        world.say('warn', 'a call is not answered', { session_id: this.id });
      } catch (fault) {
        if (!(fault instanceof LeaseholdError)) throw fault;
        const { code, message } = fault;
        world.say('warn', 'a call failed', { session_id: this.id, code, message });
      }
      if (!isOfUse() || clock.monotonicMs() + AGAIN_MS >= untilMs) return null;
      await sleep(timers, AGAIN_MS);
    }
  }
}

function isPast(moment: Moment, now: Moment): boolean {
  return now.monotonicMs >= moment.monotonicMs || now.wallMs >= moment.wallMs;
}

function eventOf(wanted: 'RUN' | 'STOP', end: PipelineEnd | null): SessionEvent {
  if (wanted === 'STOP' || end === null) return 'stopped';
  return end.is === 'not-started' ? 'start_failed' : 'process_ended';
}

function notStarted(says: string): PipelineEnd {
  return { is: 'not-started', says };
}

function notClear({ slot }: Claim): string {
  return `The previous pipeline on slot ${slot} has not ended.`;
}

function shortened(text: string): string {
  return text.length <= DETAIL_MAX ? text : `${text.slice(0, DETAIL_MAX)}…`;
}

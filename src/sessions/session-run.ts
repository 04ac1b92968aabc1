/**
 * One session from its start task to its end. What happens to it comes from three sides: the authority (states heard
 * from the log or with a renewal), the pipeline (running, ready, ended), and the orchestrator itself (shutdown, idle).
 * They may come in any order and at any point; therefore what is wanted is kept apart from what is done:
 *
 *   wanted   RUN ──STOPPING, shutdown, idle──▶ STOP ──ended at the authority──▶ GONE      (never back)
 *   done     claim slot and service ─▶ pipeline ─▶ its end ─▶ tell the authority
 *
 * Once the pipeline is there, nothing is told that ends the session before nothing of the pipeline is left: so a slot
 * is never free at the authority while its process runs.
 */
import { LeaseholdError } from '../client/error.ts';
import { pause } from '../client/pause.ts';
import { atMost } from '../keeper/waiting.ts';
import type { SessionRecord } from '../operations/records.ts';
import type { Body, Requests } from '../operations/table.ts';
import type { Problem, Reply } from '../protocol/problem.ts';
import { type Moment, momentOf } from '../seams/deadline.ts';
import { AUTHORITY_ID } from './authority-id.ts';
import { filled, type OrchestratorConfig, type PipelineProfile } from './config.ts';
import { endText, type Pipeline, type PipelineEnd } from './pipelines.ts';
import { LOST_GRACE_MS, leaseSpan, limitsWithin, type Span, type Timing } from './timing.ts';
import type { OrchestratorWorld } from './world.ts';

export type SessionState = SessionRecord['state'];
type SessionEvent = Requests['session.change']['event'];
type StartTask = Body<'task.lease'>['leases'][number];

/** What a run needs from the orchestrator around it. */
export interface RunDesk {
  readonly world: OrchestratorWorld;
  readonly config: OrchestratorConfig;
  readonly timing: Timing;
  readonly guardSpan: Span;
  /** Common to all orchestrators of one authority; see `authority-id.ts`. */
  readonly authorityId: string;
  /** From then on nothing new is begun. */
  readonly isEnding: boolean;
  /** A call with the guard; null when it may not be sent or came back without the guard: then everything is over. */
  ask<T extends { readonly ok: true }>(
    call: (guard: Requests['session.change']['guard']) => Promise<Reply<T>>,
  ): Promise<Reply<T> | null>;
  /** Slots that no process of ours is left on, once those are gone whose sessions have ended. */
  freeSlots(): Promise<readonly string[]>;
  /** Ends what still runs on the slot of this run, and waits for it; false when that did not end. */
  clearSlot(run: SessionRun): Promise<boolean>;
  /** Something about a run is no longer as it was. */
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

/** How long after a failed call the next try comes. */
const AGAIN_MS = 250;
/** How soon a start looks again whether the session in its way has ended. */
const PATIENT_LOOK_MS = 100;
/** On top of the grace that the session in the way has. */
const PATIENCE_MS = 3_000;
const DETAIL_MAX = 500;

const ENDED: ReadonlySet<string> = new Set(['STOPPED', 'FAILED', 'CANCELLED']);

export class SessionRun {
  readonly id: string;
  /** Where it runs, from the claim to the very end of the pipeline. */
  slot: string | null = null;
  /** Of the claim; whoever has the higher one has the slot. */
  leaseSeq = 0;
  /** Until it is decided whether it gets a slot. */
  isClaiming = true;
  private readonly desk: RunDesk;
  private readonly task: StartTask;
  private wanted: 'RUN' | 'STOP' | 'GONE' = 'RUN';
  private span: Span | null = null;
  private pipeline: Pipeline | null = null;
  /** Changes are told one after the other: ready comes before the end. */
  private told: Promise<unknown> = Promise.resolve();

  constructor(desk: RunDesk, task: StartTask) {
    this.desk = desk;
    this.task = task;
    this.id = task.task_id;
  }

  /** Whether its leases are to be renewed. */
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

  /** Resolves when all is said and done. */
  async live(): Promise<void> {
    const intent = this.task.payload.parse() as Intent;
    const profile = Object.hasOwn(this.desk.config.profiles, intent.profileID)
      ? this.desk.config.profiles[intent.profileID]!
      : null;
    if (profile === null) {
      this.desk.world.say('info', 'a session has an unknown profile', {
        session_id: this.id,
        profile: intent.profileID,
      });
      await this.tell('start_failed', `There is no profile ${intent.profileID}.`);
      return;
    }
    const claim = await this.claim();
    this.isClaiming = false;
    this.desk.changed();
    if (claim === null) return;
    const isClear = await this.desk.clearSlot(this);
    if (this.desk.isEnding) await this.end('shutdown');
    if (this.wanted !== 'RUN') return this.tellEnd(null);
    await this.tellEnd(isClear ? await this.runPipeline(intent, profile, claim) : notClear(claim));
  }

  /** The authority says where it stands. */
  hear(state: SessionState): void {
    if (ENDED.has(state)) this.leave('GONE');
    else if (state === 'STOPPING') this.leave('STOP');
  }

  renewed(sent: Moment, lastsMs: number): void {
    this.span = leaseSpan(sent, lastsMs, this.desk.timing);
    this.limit();
  }

  /** The guard or the leases last longer now. */
  limit(): void {
    if (this.span !== null) this.pipeline?.limit(limitsWithin(this.desk.guardSpan, this.span));
  }

  /** Ends it, and says why. The pipeline is stopped whatever the authority answers. */
  async end(event: 'shutdown' | 'idle'): Promise<void> {
    if (!this.isRunning) return;
    const told = this.tell(event, null);
    if (event === 'idle') {
      // A client may have come back; then nothing changes.
      const state = await told;
      if (state !== null) this.hear(state);
      return;
    }
    this.leave('STOP');
    await told;
  }

  /** Nothing may be told any more; only the process has to go. */
  abandon(graceMs: number): void {
    this.wanted = 'GONE';
    this.pipeline?.stop(graceMs);
  }

  private leave(wanted: 'STOP' | 'GONE'): void {
    if (this.wanted === 'GONE' || this.wanted === wanted) return;
    this.wanted = wanted;
    this.pipeline?.stop(wanted === 'GONE' ? LOST_GRACE_MS : this.desk.timing.graceMs);
  }

  /** The service and a slot; null when it came to nothing, which the authority knows already. */
  private async claim(): Promise<Claim | null> {
    const { world, timing } = this.desk;
    const { clock, timers, client } = world;
    const token = world.newToken();
    const patientUntilMs = clock.monotonicMs() + timing.graceMs + PATIENCE_MS;
    while (!this.desk.isEnding && this.wanted === 'RUN') {
      const slots = await this.desk.freeSlots();
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
        world.say('info', 'a start came to nothing', { session_id: this.id, code: reply.code });
        return null;
      }
      await pause(timers, PATIENT_LOOK_MS);
    }
    return null;
  }

  private claimed(reply: Body<'session.start'>, sent: Moment): Claim | null {
    const { world, timing } = this.desk;
    const { state, reason, reason_detail, slot, lease_seq, remaining_ms } = reply;
    this.hear(state);
    if (slot === undefined || lease_seq === undefined || ENDED.has(state)) {
      world.say('info', 'a session was not started', { session_id: this.id, state, reason, reason_detail });
      return null;
    }
    this.slot = slot;
    this.leaseSeq = lease_seq;
    this.span = leaseSpan(sent, remaining_ms ?? 0, timing);
    return { slot, leaseSeq: lease_seq };
  }

  /** From its start to its very end. */
  private async runPipeline(intent: Intent, profile: PipelineProfile, claim: Claim): Promise<PipelineEnd> {
    const { world, guardSpan, authorityId } = this.desk;
    const { slot, leaseSeq } = claim;
    const { serviceRef = '', recordingID = '', start_ms = 0 } = intent;
    const session_id = this.id;
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
    // Once it ends, nobody wants to know any more, and its end must not wait for an answer to this.
    const state = await this.tell('ready', null, () => this.wanted === 'RUN' && this.pipeline !== null);
    if (state !== null) this.hear(state);
    if (state === 'READY') this.desk.world.say('info', 'a session is ready', { session_id: this.id });
  }

  /** Nothing of the pipeline is left, or it was never begun. */
  private async tellEnd(end: PipelineEnd | null): Promise<void> {
    // Nothing needs its leases any more. Should nobody be there to be told, they run out and end the session.
    const { span } = this;
    this.span = null;
    const wanted = this.wanted as 'RUN' | 'STOP' | 'GONE';
    const about = { session_id: this.id, slot: this.slot };
    if (wanted === 'GONE') return;
    if (wanted === 'RUN' && end?.is === 'ended' && end.isKept) {
      this.desk.world.say('warn', 'a pipeline was ended before its leases would have been over', about);
      // It did not end by itself: of leases that could not be renewed in time the authority says so in a moment. Where
      // only the guard was short, they would keep the slot of a session that is gone.
      if (span !== null && isPast(span.terminateBy, momentOf(this.desk.world.clock))) return;
    }
    const state = await this.tell(eventOf(wanted, end), end === null ? null : endText(end));
    this.desk.world.say('info', 'a session has ended', { ...about, state });
  }

  /** Tells the authority, behind whatever is being told; gives where the session stands, null when nobody knows. */
  private tell(
    event: SessionEvent,
    detail: string | null,
    isOfUse: () => boolean = () => true,
  ): Promise<SessionState | null> {
    const { client } = this.desk.world;
    const said = this.told.then(async () => {
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
    this.told = said;
    return said;
  }

  /** That it has ended, or is past that, is an answer; anything else somebody should know of. */
  private refused(event: SessionEvent, { code, detail }: Problem): void {
    if (code === 'SESSION_TERMINAL' || code === 'SESSION_STATE_CONFLICT') return;
    this.desk.world.say('warn', 'the authority refused a change', {
      session_id: this.id,
      event,
      code,
      detail,
    });
  }

  /**
   * Until it is answered; null when that is of no use any more. Leases that nobody renews have run out by then, and with
   * them the session has ended. What is not answered in time is given up, or it would keep its connection from others.
   */
  private async again<T extends { readonly ok: true }>(
    call: (guard: Requests['session.change']['guard'], signal: AbortSignal) => Promise<Reply<T>>,
    isOfUse: () => boolean = () => true,
  ): Promise<Reply<T> | null> {
    const { world, timing } = this.desk;
    const { clock, timers } = world;
    const untilMs = clock.monotonicMs() + timing.leaseTtlMs;
    for (;;) {
      try {
        const late = new AbortController();
        const asked = this.desk.ask((guard) => call(guard, late.signal));
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
      await pause(timers, AGAIN_MS);
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

function notClear({ slot }: Claim): PipelineEnd {
  return { is: 'not-started', says: `What ran on slot ${slot} before has not ended.` };
}

function shortened(text: string): string {
  return text.length <= DETAIL_MAX ? text : `${text.slice(0, DETAIL_MAX)}…`;
}

/**
 * Carries calls over one live connection at a time, to the server that the wire has chosen, opened with the first call
 * that needs it. When it cannot be opened, calls go over HTTP. Later calls begin further attempts but do not wait for
 * them: a proxy that never answers an upgrade would delay every renewal until its lease is over.
 */
import type { Told } from '../protocol/live-frames.ts';
import type { Moment } from '../seams/deadline.ts';
import { type HttpFault, httpFault } from '../seams/http.ts';
import type { SocketEnd, Sockets } from '../seams/sockets.ts';
import { AuthoritySamples } from './authority-samples.ts';
import type { ConnectionWatch } from './connection.ts';
import { type LinkEvents, LiveLink } from './live-link.ts';
import type { PendingCall } from './pending-call.ts';
import type { WireBody } from './reply-text.ts';
import type { NoticeListener } from './transport.ts';
import type { Wire } from './wire.ts';
import type { ClientWorld } from './world.ts';

/** How the carrier hands calls back to the transport, which decides what happens to them. */
export interface CarrierEvents {
  answered(call: PendingCall, status: number, body: WireBody): void;
  lost(calls: readonly PendingCall[], fault: HttpFault): void;
  /** No live connection could be opened for the call. */
  byHttp(call: PendingCall): void;
  /** How long an answer may take, on top of the call's own wait. */
  timeoutMs(call: PendingCall): number;
}

/** Delays between attempts at one server: after a network fault, and after a refused upgrade. */
const AWAY_MS = { first: 100, max: 5_000 };
const REFUSED_MS = { first: 1_000, max: 60_000 };
/** Refusals after which another server may be able to answer. */
const GOES_ELSEWHERE: ReadonlySet<unknown> = new Set(['NOT_LEADER', 'UNAVAILABLE']);

export class LiveCarrier implements LinkEvents {
  readonly #sockets: Sockets;
  readonly #world: ClientWorld;
  readonly #wire: Wire;
  readonly #events: CarrierEvents;
  readonly #connection: ConnectionWatch;
  readonly #samples: AuthoritySamples;
  readonly #listeners = new Set<NoticeListener>();
  /** The earliest moments of grants that waited, by their replies. */
  readonly #moments = new WeakMap<object, Moment>();
  #link: LiveLink | null = null;
  /** All links that have not ended; a retired one still waits for answers. */
  #links: LiveLink[] = [];
  #isClosed = false;
  #failures = 0;
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  /** The server that `notBeforeMs` is about. */
  #failedIndex = -1;

  constructor(
    sockets: Sockets,
    world: ClientWorld,
    wire: Wire,
    connection: ConnectionWatch,
    events: CarrierEvents,
  ) {
    this.#sockets = sockets;
    this.#world = world;
    this.#wire = wire;
    this.#connection = connection;
    this.#events = events;
    this.#samples = new AuthoritySamples(world.clock);
  }

  /** Sends the call; false when it must go over HTTP. */
  take(call: PendingCall): boolean {
    const link = this.#usable();
    if (link === null) return false;
    const isFurtherAttempt = link.target.index === this.#failedIndex;
    if (!isFurtherAttempt) link.add(call);
    return !isFurtherAttempt;
  }

  get isOpen(): boolean {
    return this.#link?.isOpen === true;
  }

  #usable(): LiveLink | null {
    const index = this.#wire.current;
    if (this.#link !== null && this.#link.target.index !== index) this.#link.retire();
    if (this.#link?.isUsable) return this.#link;
    if (this.#isClosed) return null;
    if (index === this.#failedIndex && this.#world.clock.monotonicMs() < this.#notBeforeMs) return null;
    const target = this.#wire.liveTarget;
    this.#link = new LiveLink(this.#sockets, this.#world, this.#samples, target, this, (call) =>
      this.#events.timeoutMs(call),
    );
    this.#links = [...this.#links.filter(({ hasEnded }) => !hasEnded), this.#link];
    return this.#link;
  }

  opened({ target }: LiveLink): void {
    this.#failures = 0;
    this.#failedIndex = -1;
    this.#connection.set('live', target.server);
  }

  answered(link: LiveLink, call: PendingCall, status: number, body: WireBody, epoch: number | null): void {
    if (status >= 400 && GOES_ELSEWHERE.has(body.code)) {
      this.#wire.moveOn(link.target.index, body.leader_url as string | undefined);
      if (this.#wire.current !== link.target.index) link.retire();
      else if (body.code === 'NOT_LEADER') {
        // The only server is not the leader. Over HTTP the client may be redirected to the leader.
        this.#backOff(link, REFUSED_MS);
        link.retire();
      }
    } else if (epoch !== null && status < 400) this.#noteGrant(call, body, epoch);
    this.#events.answered(call, status, body);
  }

  /**
   * Computes the moment of a grant with the samples of its own epoch, before anything else arrives. A grant that
   * neither waited nor repeats an answer counts from when its request was sent.
   */
  #noteGrant({ lane }: PendingCall, body: WireBody, epoch: number): void {
    if (lane !== 'waits' && body.duplicate !== true) return;
    const [lease = body] = (body.leases ?? []) as WireBody[];
    const { expires_at, remaining_ms } = lease;
    if (typeof expires_at !== 'string' || typeof remaining_ms !== 'number') return;
    const moment = this.#samples.earliest(Date.parse(expires_at) - remaining_ms, epoch);
    if (moment !== null) this.#moments.set(body, moment);
  }

  /** The earliest moment at which the grant in this reply was made; null when unknown. */
  earliestOf(reply: object): Moment | null {
    return this.#moments.get(reply) ?? null;
  }

  notice(notice: Told): void {
    // Deferred, because a grant in the same frame is held only after its answer was handled.
    this.#world.timers.soon(() => {
      for (const listener of [...this.#listeners]) listener(notice);
    });
  }

  listen(listener: NoticeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  refused(link: LiveLink, { why }: SocketEnd, calls: readonly PendingCall[]): void {
    this.#backOff(link, why === 'refused' ? REFUSED_MS : AWAY_MS);
    for (const call of calls) if (!call.isSettled) this.#events.byHttp(call);
  }

  late(call: PendingCall, fault: HttpFault): void {
    this.#events.lost([call], fault);
  }

  lost(link: LiveLink, sent: readonly PendingCall[], unsent: readonly PendingCall[], fault: HttpFault): void {
    if (this.#link === link) this.#link = null;
    if (!this.#isClosed) {
      this.#wire.moveOn(link.target.index);
      this.#connection.set('away', link.target.server);
    }
    this.#events.lost(sent, fault);
    this.#events.lost(unsent, httpFault(fault.message, 'none', fault.isLate));
  }

  #backOff({ target }: LiveLink, { first, max }: { readonly first: number; readonly max: number }): void {
    this.#failures = this.#failedIndex === target.index ? this.#failures + 1 : 0;
    this.#failedIndex = target.index;
    this.#notBeforeMs = this.#world.clock.monotonicMs() + Math.min(first * 2 ** this.#failures, max);
    this.#link = null;
  }

  /** Calls that wait on the connection. */
  waits(): readonly PendingCall[] {
    return this.#links.flatMap((link) => [...link.waits()]);
  }

  close(): void {
    this.#isClosed = true;
    for (const link of this.#links) link.close();
    this.#link = null;
  }
}

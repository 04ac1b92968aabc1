/**
 * One live connection to one server, from its handshake to its end. What is called in one turn of the event loop leaves in
 * one frame, without timers. Renewals, releases and verdicts leave first; of the rest at most so many bytes are unanswered,
 * so that what is urgent never stands behind more than that on a slow line.
 *
 *   connecting ──hello──▶ open ──┬── retired: takes no more calls, ends with its last answer
 *       │                        └── broken, or silent for too long
 *       └── refused or unreachable          what was sent may have been carried out, the rest was not
 */
import {
  LIVE_LIMITS,
  LIVE_PATH,
  LIVE_PROTOCOL,
  requestText,
  restoreOpaque,
  type Told,
} from '../protocol/live-frames.ts';
import { ChurnMap } from '../seams/churn-map.ts';
import type { Timer } from '../seams/clock.ts';
import { type Moment, momentOf } from '../seams/deadline.ts';
import { type HttpFault, httpFault } from '../seams/http.ts';
import type { LiveSocket, SocketEnd, Sockets } from '../seams/sockets.ts';
import { type AuthoritySamples, EXCHANGE_MS } from './authority-samples.ts';
import { isWithinBytes } from './byte-lengths.ts';
import { OPERATION_ROWS } from './operation-table.ts';
import type { PendingCall } from './pending-call.ts';
import { isObject, type WireBody } from './reply-text.ts';
import { invalid, tooLarge } from './request-text.ts';
import type { ClientWorld } from './world.ts';

/** What a link reports. None of these may throw. */
export interface LinkEvents {
  opened(link: LiveLink): void;
  answered(link: LiveLink, call: PendingCall, status: number, body: WireBody, epoch: number | null): void;
  told(told: Told): void;
  /** It never opened; its calls were not sent. */
  refused(link: LiveLink, end: SocketEnd, calls: readonly PendingCall[]): void;
  /** The link is good, but a look was not answered in time. */
  late(call: PendingCall, fault: HttpFault): void;
  /** It broke. */
  lost(link: LiveLink, sent: readonly PendingCall[], unsent: readonly PendingCall[], fault: HttpFault): void;
}

export interface LinkTarget {
  readonly index: number;
  readonly url: string;
  readonly server: string;
  readonly token: string | null;
}

/** A call as it travels: `[id,"operation",request]`. */
interface Queued {
  readonly call: PendingCall;
  readonly text: string;
  readonly waitMs: number;
}

interface Sent {
  readonly call: PendingCall;
  readonly isWait: boolean;
  /** Of what counts as unanswered. */
  readonly length: number;
  readonly moment: Moment;
  /** When its answer is too late. */
  readonly dueMs: number;
}

/** Bytes of ordinary calls that are not answered; calls that wait are not counted, because they are not answered soon. */
const UNANSWERED_BYTES_MAX = 256 * 1024;
/** Of the calls in flight, so that neither waits nor ordinary calls can keep out what is urgent. */
const WAITS_MAX = 3_072;
const ORDINARY_MAX = 4_000;
/** A link that has not opened after so long never will: a proxy may upgrade and then pass nothing on. */
const OPENING_MS = 7_000;
/** How often an open link with calls in flight is looked at. */
const WATCH_MS = 1_000;
/** A link that has said nothing for so long, although it was asked, is broken. */
const SILENCE_MS = 10_000;

export class LiveLink {
  readonly target: LinkTarget;
  readonly #world: ClientWorld;
  readonly #samples: AuthoritySamples;
  readonly #events: LinkEvents;
  readonly #timeoutMs: (call: PendingCall) => number;
  readonly #socket: LiveSocket;
  readonly #began: Moment;
  #state: 'connecting' | 'open' | 'ended' = 'connecting';
  #isRetired = false;
  #urgent: Queued[] = [];
  #ordinary: Queued[] = [];
  readonly #sent = new ChurnMap<Sent>();
  #lastId = 0;
  #waits = 0;
  #unansweredBytes = 0;
  #isFlushDue = false;
  /** As the socket was told; it begins needed. */
  #isHeld = true;
  #watch: Timer | null;
  /** When it last said anything, and was last asked for the time. */
  #heardMs = 0;
  #pinged: Moment | null = null;
  #pingedMs = 0;

  constructor(
    sockets: Sockets,
    world: ClientWorld,
    samples: AuthoritySamples,
    target: LinkTarget,
    events: LinkEvents,
    timeoutMs: (call: PendingCall) => number,
  ) {
    this.#world = world;
    this.#samples = samples;
    this.#events = events;
    this.#timeoutMs = timeoutMs;
    this.target = target;
    this.#began = momentOf(world.clock);
    this.#watch = world.timers.after(OPENING_MS, () => this.#break(`did not begin within ${OPENING_MS} ms`));
    const { url, server, token } = target;
    this.#socket = sockets.open(
      { url: url + LIVE_PATH, server, protocol: LIVE_PROTOCOL, token },
      {
        opened: () => {
          if (token !== null && !sockets.showsToken) this.#socket.send(JSON.stringify([['token', token]]));
        },
        message: (text) => this.#message(text),
        ended: (end) => this.#end(end),
      },
    );
  }

  /** False once it takes no more calls. */
  get isUsable(): boolean {
    return this.#state !== 'ended' && !this.#isRetired;
  }

  get hasEnded(): boolean {
    return this.#state === 'ended';
  }

  get isOpen(): boolean {
    return this.#state === 'open' && !this.#isRetired;
  }

  add(call: PendingCall): void {
    const { fields, waitMs } = call.fieldsAt(this.#world.clock.monotonicMs());
    const request = requestText(fields);
    if (request === undefined) return call.resolve(invalid('The request has no JSON form.'));
    const { operation, requestId } = call;
    const text = `"${operation}",${request}${requestId === undefined ? '' : `,${JSON.stringify(requestId)}`}]`;
    if (!isWithinBytes(text, LIVE_LIMITS.frameBytes - 32)) return call.resolve(tooLarge());
    const isUrgent = call.lane === 'renewals' || OPERATION_ROWS[operation].urgent === true;
    (isUrgent ? this.#urgent : this.#ordinary).push({ call, text, waitMs });
    this.#hold();
    this.#flushSoon();
  }

  /** No more calls; it is closed once those in flight are answered. */
  retire(): void {
    this.#isRetired = true;
    this.#closeIfIdle();
  }

  /** Closes it whatever is under way. */
  close(): void {
    if (this.#state === 'ended') return;
    this.#drop();
    this.#lose(httpFault(`The connection to ${this.target.server} was closed.`, 'unknown'));
  }

  #drop(): void {
    this.#state = 'ended';
    this.#watch?.cancel();
    this.#socket.drop();
  }

  /** Calls that are waiting for something to happen, rather than for an answer. */
  *waits(): Generator<PendingCall> {
    for (const { call, isWait } of this.#sent.values()) if (isWait) yield call;
    for (const { call, waitMs } of this.#ordinary) if (waitMs > 0) yield call;
  }

  #flushSoon(): void {
    if (this.#isFlushDue || this.#state !== 'open') return;
    this.#isFlushDue = true;
    this.#world.timers.soon(this.#flush);
  }

  readonly #flush = (): void => {
    this.#isFlushDue = false;
    if (this.#state !== 'open') return;
    const moment = momentOf(this.#world.clock);
    const frame: string[] = [];
    let length = 0;
    const take = (queued: Queued): void => {
      if (queued.call.isSettled) return;
      if (length + queued.text.length > LIVE_LIMITS.frameBytes / 4) {
        this.#send(frame);
        length = 0;
      }
      frame.push(this.#begin(queued, moment));
      length += queued.text.length;
    };
    const urgent = this.#urgent;
    const urgentMax = LIVE_LIMITS.inFlight - this.#sent.size;
    this.#urgent = urgent.length > urgentMax ? urgent.slice(urgentMax) : [];
    for (let at = 0; at < urgent.length && at < urgentMax; at++) take(urgent[at]!);
    this.#takeOrdinary(take);
    this.#send(frame);
    this.#closeIfIdle();
  };

  #takeOrdinary(take: (queued: Queued) => void): void {
    const queue = this.#ordinary;
    if (queue.length === 0) return;
    const left: Queued[] = [];
    for (let at = 0; at < queue.length; at++) {
      const queued = queue[at]!;
      const isFull =
        this.#sent.size >= ORDINARY_MAX ||
        (queued.waitMs > 0 ? this.#waits >= WAITS_MAX : this.#unansweredBytes >= UNANSWERED_BYTES_MAX);
      if (!isFull) take(queued);
      else if (!queued.call.isSettled) left.push(queued);
      // Waits and calls that do not wait are held up by different things; a long queue is not walked for that.
      if (isFull && left.length > WAITS_MAX) {
        for (let rest = at + 1; rest < queue.length; rest++) left.push(queue[rest]!);
        break;
      }
    }
    this.#ordinary = left;
  }

  #begin(queued: Queued, moment: Moment): string {
    const { call, text, waitMs } = queued;
    const id = ++this.#lastId;
    const isWait = waitMs > 0;
    const length = isWait ? 0 : text.length;
    const dueMs = moment.monotonicMs + this.#timeoutMs(call) + waitMs;
    call.sentMs = moment.monotonicMs;
    this.#sent.set(id, { call, isWait, length, moment, dueMs });
    this.#unansweredBytes += length;
    if (isWait) {
      this.#waits += 1;
      call.ending = { abort: () => this.#endWait(id) };
    }
    return `[${id},${text}`;
  }

  #send(frame: string[]): void {
    if (frame.length === 0) return;
    this.#socket.send(`[${frame.join()}]`);
    frame.length = 0;
    if (this.#watch === null) {
      this.#heardMs = this.#world.clock.monotonicMs();
      this.#look();
    }
  }

  #endWait(id: number): void {
    if (this.#state === 'open' && this.#sent.has(id)) this.#socket.send(`[["end",${id}]]`);
  }

  #message(text: string): void {
    if (this.#state === 'ended') return;
    this.#heardMs = this.#world.clock.monotonicMs();
    let frame: unknown;
    try {
      frame = JSON.parse(text);
    } catch {
      frame = null;
    }
    if (!Array.isArray(frame) || frame.length < 2) return this.#break('spoke another protocol');
    const [atMs, epoch] = frame as (number | null)[];
    const items = frame as readonly unknown[];
    if (this.#state === 'connecting') {
      this.#state = 'open';
      this.#watch?.cancel();
      this.#watch = null;
      this.#pingedMs = this.#heardMs;
      this.#note(this.#began, atMs, epoch);
      this.#events.opened(this);
      this.#flushSoon();
    }
    this.#noteFrame(items, atMs, epoch);
    for (let at = 2; at < items.length; at++) {
      if (!this.#item(items[at], epoch ?? null)) return this.#break('spoke another protocol');
    }
    this.#hold();
    if (this.#urgent.length > 0 || this.#ordinary.length > 0) this.#flushSoon();
    this.#closeIfIdle();
  }

  /** The newest of what this frame answers was sent before its time was read. */
  #noteFrame(
    items: readonly unknown[],
    atMs: number | null | undefined,
    epoch: number | null | undefined,
  ): void {
    let newestId = 0;
    for (let at = 2; at < items.length; at++) {
      const [first] = items[at] as readonly unknown[];
      if (typeof first === 'number') newestId = Math.max(newestId, first);
      else if (first === 'pong' && this.#pinged !== null) this.#note(this.#pinged, atMs, epoch);
    }
    // Ids count up, so the newest was sent last.
    const newest = this.#sent.get(newestId);
    if (newest !== undefined) this.#note(newest.moment, atMs, epoch);
  }

  #note(sent: Moment, atMs: number | null | undefined, epoch: number | null | undefined): void {
    if (typeof atMs === 'number' && typeof epoch === 'number') this.#samples.note(sent, atMs, epoch);
  }

  /** False for what no server says. */
  #item(item: unknown, epoch: number | null): boolean {
    if (!Array.isArray(item)) return false;
    const [first, second, third] = item as readonly unknown[];
    if (typeof first !== 'number') {
      if (first === 'lost' || first === 'cancel' || first === 'asked')
        this.#events.told(item as unknown as Told);
      else if (first === 'pong') this.#pinged = null;
      // What a newer server tells besides is not for us.
      return true;
    }
    const sent = this.#sent.get(first);
    if (sent === undefined) return true;
    this.#forget(first, sent);
    const { call } = sent;
    // A wait that we have ended.
    if (item.length === 1) return true;
    if (typeof second !== 'number' || !isObject(third)) return false;
    if (OPERATION_ROWS[call.operation].opaque) restoreOpaque(third);
    this.#events.answered(this, call, second, third, epoch);
    return true;
  }

  #forget(id: number, { isWait, length }: Sent): void {
    this.#sent.delete(id);
    this.#unansweredBytes -= length;
    if (isWait) this.#waits -= 1;
  }

  readonly #look = (): void => {
    const { clock, timers } = this.#world;
    this.#watch = null;
    if (this.#state !== 'open' || this.#sent.size === 0) return;
    const now = momentOf(clock);
    const nowMs = now.monotonicMs;
    if (this.#pinged !== null && nowMs - Math.max(this.#heardMs, this.#pingedMs) > SILENCE_MS) {
      return this.#break(`said nothing for ${SILENCE_MS} ms`, true);
    }
    for (const [id, sent] of this.#sent.entries()) {
      const { call, dueMs } = sent;
      if (nowMs < dueMs || call.isSettled) continue;
      const why = `did not answer within ${Math.round(dueMs - call.sentMs)} ms`;
      // A change may be answered with a grant later, which only the end of the connection gives back.
      if (OPERATION_ROWS[call.operation].method !== 'GET') return this.#break(why, true);
      this.#forget(id, sent);
      this.#events.late(call, httpFault(`${this.target.server} ${why}.`, 'unknown', true));
    }
    if (this.#pinged === null && nowMs - this.#pingedMs >= EXCHANGE_MS) {
      this.#pinged = now;
      this.#pingedMs = nowMs;
      this.#socket.send('[["ping",0]]');
    }
    this.#watch = timers.after(WATCH_MS, this.#look);
  };

  #break(why: string, isLate = false): void {
    if (this.#state === 'ended') return;
    this.#socket.drop();
    const says = `${this.target.server} ${why}.`;
    if (this.#state === 'connecting') this.#end({ why: 'refused', says, code: 1006 });
    else this.#lose(httpFault(says, 'unknown', isLate));
  }

  #end(end: SocketEnd): void {
    if (this.#state === 'ended') return;
    if (this.#state === 'open') return this.#lose(httpFault(end.says, 'unknown'));
    this.#state = 'ended';
    this.#watch?.cancel();
    this.#events.refused(this, end, this.#unsent());
  }

  #lose(fault: HttpFault): void {
    this.#state = 'ended';
    this.#watch?.cancel();
    const sent = this.#sent.values().map(({ call }) => call);
    this.#sent.clear();
    this.#events.lost(this, sent, this.#unsent(), fault);
  }

  #unsent(): PendingCall[] {
    return [...this.#urgent, ...this.#ordinary].map(({ call }) => call);
  }

  /** A process stays alive while a caller waits for an answer. */
  #hold(): void {
    const isNeeded = this.#sent.size + this.#urgent.length + this.#ordinary.length > 0;
    if (isNeeded === this.#isHeld) return;
    this.#isHeld = isNeeded;
    this.#socket.hold(isNeeded);
  }

  #closeIfIdle(): void {
    const isIdle = this.#sent.size + this.#urgent.length + this.#ordinary.length === 0;
    if (this.#isRetired && isIdle && this.#state !== 'ended') this.#drop();
  }
}

/**
 * One live connection to one server, from its handshake to its end. The calls of one turn of the event loop are sent in
 * one frame, without timers. Renewals, releases and verdicts go first. The unanswered bytes of other calls are limited,
 * which bounds how long an urgent call queues on a slow line.
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
  notice(notice: Told): void;
  /** The link never opened; its calls were not sent. */
  refused(link: LiveLink, end: SocketEnd, calls: readonly PendingCall[]): void;
  /** The link works, but a read was not answered in time. */
  late(call: PendingCall, fault: HttpFault): void;
  /** The link broke. */
  lost(link: LiveLink, sent: readonly PendingCall[], unsent: readonly PendingCall[], fault: HttpFault): void;
}

export interface LinkTarget {
  readonly index: number;
  readonly url: string;
  readonly server: string;
  readonly token: string | null;
}

/** A call waiting to be sent as `[id,"operation",request]`. */
interface Queued {
  readonly call: PendingCall;
  readonly text: string;
  readonly waitMs: number;
}

interface Sent {
  readonly call: PendingCall;
  readonly isWait: boolean;
  /** Its share of the unanswered bytes. */
  readonly length: number;
  readonly moment: Moment;
  /** When its answer is overdue. */
  readonly dueMs: number;
}

/**
 * The maximum of unanswered bytes of ordinary calls. Waiting calls do not count, because their answers may take long.
 */
const UNANSWERED_BYTES_MAX = 256 * 1024;
/** Maxima of calls in flight, so that neither waits nor ordinary calls can block urgent ones. */
const WAITS_MAX = 3_072;
const ORDINARY_MAX = 4_000;
/** How long opening may take: a proxy may accept the upgrade and then forward nothing. */
const OPENING_MS = 7_000;
/** How often an open link with calls in flight is checked. */
const WATCH_MS = 1_000;
/** A link that is silent for this long after a ping is broken. */
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
  /** The last value passed to `socket.hold`; a socket starts out held. */
  #isHeld = true;
  #watch: Timer | null;
  /** When the last message arrived; below, when the last ping was sent. */
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
    this.#watch = world.timers.after(OPENING_MS, () =>
      this.#break(`did not open the live connection within ${OPENING_MS} ms`),
    );
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

  /** False once it accepts no more calls. */
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

  /** Accepts no more calls, and closes once those in flight are answered. */
  retire(): void {
    this.#isRetired = true;
    this.#closeIfIdle();
  }

  /** Closes it at once, losing the calls in flight. */
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

  /** Calls with a wait of their own, such as long polls. */
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
      // A full window of one kind does not block the other, but a long queue is not searched for the other kind.
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

  /** Takes a clock sample: the newest call that this frame answers was sent before the server read its time. */
  #noteFrame(
    items: readonly unknown[],
    atMs: number | null | undefined,
    epoch: number | null | undefined,
  ): void {
    let newestId = 0;
    for (let at = 2; at < items.length; at++) {
      const item = items[at];
      const first: unknown = Array.isArray(item) ? item[0] : null;
      if (typeof first === 'number') newestId = Math.max(newestId, first);
      else if (first === 'pong' && this.#pinged !== null) this.#note(this.#pinged, atMs, epoch);
    }
    // Ids count up, so the highest was sent last.
    const newest = this.#sent.get(newestId);
    if (newest !== undefined) this.#note(newest.moment, atMs, epoch);
  }

  #note(sent: Moment, atMs: number | null | undefined, epoch: number | null | undefined): void {
    if (typeof atMs === 'number' && typeof epoch === 'number') this.#samples.note(sent, atMs, epoch);
  }

  /** False for an item that violates the protocol. */
  #item(item: unknown, epoch: number | null): boolean {
    if (!Array.isArray(item)) return false;
    const [first, second, third] = item as readonly unknown[];
    if (typeof first !== 'number') {
      if (first === 'lost' || first === 'cancel' || first === 'asked') {
        if (!isObject(second)) return false;
        this.#events.notice(item as unknown as Told);
      } else if (first === 'pong') this.#pinged = null;
      // Notices of newer servers are ignored.
      return true;
    }
    const sent = this.#sent.get(first);
    if (sent === undefined) return true;
    const { call } = sent;
    // The answer to a wait that this client has ended.
    if (item.length === 1 && call.isSettled) {
      this.#forget(first, sent);
      return true;
    }
    // Otherwise the link breaks, which settles the calls that were sent: this one must still be among them.
    if (typeof second !== 'number' || !isObject(third)) return false;
    this.#forget(first, sent);
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
      // The late answer to a change may be a grant, which the server releases only when the connection ends.
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

  /** Keeps the process alive while a caller awaits an answer. */
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

/**
 * One live connection: frames in, operations to the current service, answers out as they become ready. Its memory is
 * bounded: operations in flight are limited, no read begins while the outbox is full, a peer that does not read what it is
 * sent is no longer read from and finally cut, and the refusals of one frame are limited.
 *
 *   message ─► items ─► check, scope ─► kind.run ─► settle / reply / fail ─► text ─► outbox
 */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { HolderListener, HolderSubscription, Holders } from '../authority/holders.ts';
import type { CallOptions } from '../authority/request.ts';
import type { Answer, GrantedTasks } from '../core/answers.ts';
import { invalid, isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { toldOf } from '../operations/told.ts';
import { textWithin } from '../protocol/json.ts';
import { CLOSES, LIVE_LIMITS, LIVE_PATH } from '../protocol/live-frames.ts';
import { type Problem, problem, type Reply } from '../protocol/problem.ts';
import { withoutOk, withoutOpaques } from './body-text.ts';
import type { HttpCounts } from './http-counts.ts';
import { EndedWaitError, LiveCall } from './live-call.ts';
import type { LiveKind, LiveService } from './live-operations.ts';
import { LiveOutbox } from './live-outbox.ts';
import { readOpaque } from './live-requests.ts';
import { GoneError, StoppingError } from './long-polls.ts';
import type { LongReads } from './long-reads.ts';
import {
  forbiddenTo,
  grantOptions,
  isProblem,
  noOperation,
  type ReportFault,
  refusalOf,
  statusOf,
} from './operation-handler.ts';
import { problemBody } from './problem-text.ts';
import type { Fields } from './request-bytes.ts';
import { type Caller, may, refuseScope } from './scopes.ts';

/** What all live connections of a server share. */
export interface LiveContext {
  readonly service: LiveService;
  readonly isStopping: boolean;
  readonly longReads: LongReads;
  readonly counts: HttpCounts;
  readonly reportFault: ReportFault;
  readonly stallMs: number;
  /** Whether opaque values are shown only to callers with the scope v1:write. */
  readonly hidesPayloads: boolean;
}

/** How many bytes of refusals one frame may cause. */
const REFUSED_MAX = 16 * 1024 * 1024;
/** How many reads of one connection run at a time. Answers that are read without waiting for a turn are short. */
const READS_MAX = 32;
/** How many bytes of leased tasks may be unanswered at once. Leases beyond that are refused and can be requested again. */
const LEASED_BYTES_MAX = 16 * 1024 * 1024;
/** The bytes of a lease in an answer, without its payload. */
const LEASE_BYTES = 1024;
const OVERLOADED: Refusal = {
  refused: 'OVERLOADED',
  detail: `More than ${LIVE_LIMITS.inFlight} operations of this connection are in flight.`,
};
const STOPPING: Refusal = { refused: 'UNAVAILABLE', detail: new StoppingError().message };
const SAME_ID = invalid('Another waiting operation of this connection has the same id.');
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

export class LiveConnection {
  readonly path = LIVE_PATH;
  readonly requestId: string;
  readonly caller: Caller;
  private readonly context: LiveContext;
  private readonly ws: WebSocket;
  private readonly socket: Socket;
  /** How many bytes the peer had sent at the last ping; -1 when it may have been paused since. */
  private bytesAtPing = -1;
  private inFlight = 0;
  private leasedBytes = 0;
  private readonly waiting = new Map<number, LiveCall>();
  private readonly endings = new Set<AbortController>();
  private heldReads: (() => Promise<void>)[] = [];
  private openReads = 0;
  private readonly outbox: LiveOutbox;
  private subscription: HolderSubscription | null = null;
  private subscribedTo: Holders | null = null;
  private readonly plain: CallOptions;
  private readonly forGrants: CallOptions;
  private readonly forCaller: CallOptions;
  /** Called once when nothing is in flight. */
  private whenQuiet: (() => void) | null = null;

  constructor(context: LiveContext, ws: WebSocket, socket: Socket, caller: Caller, requestId: string) {
    this.context = context;
    this.ws = ws;
    this.socket = socket;
    this.caller = caller;
    this.requestId = requestId;
    this.plain = { requestId };
    this.forGrants = grantOptions(this);
    this.forCaller = { requestId, caller };
    this.outbox = new LiveOutbox(context, ws, socket, {
      isGone: this.isGone,
      resumed: () => {
        this.bytesAtPing = -1;
      },
      sent: () => {
        if (this.heldReads.length > 0) this.beginReads();
      },
    });
    ws.on('message', this.take);
    // While the connection is paused, a peer that reads nothing for this long is cut.
    socket.on('timeout', () => ws.terminate());
    this.outbox.flush();
  }

  readonly isGone = (): boolean => this.ws.readyState !== this.ws.OPEN || !this.socket.writable;

  /** Nothing may be granted to this client: its connection is closed or half-closed. */
  readonly isLeaving = (): boolean => this.isGone() || this.socket.readableEnded;

  /** How many more bytes of leased tasks may be granted. */
  get room(): number {
    return LEASED_BYTES_MAX - this.leasedBytes;
  }

  set room(bytes: number) {
    this.leasedBytes = LEASED_BYTES_MAX - bytes;
  }

  private readonly take = (data: Buffer, isBinary: boolean): void => {
    // A peer may keep sending after the close frame, for example when its token was dropped.
    if (this.isGone()) return;
    if (isBinary) return this.malformed('Frames are text.');
    let frame: unknown;
    try {
      frame = JSON.parse(data.toString());
    } catch {
      return this.malformed('A frame must be JSON.');
    }
    if (!Array.isArray(frame)) return this.malformed('A frame must be an array of items.');
    const { unsent } = this.outbox;
    for (const item of frame as unknown[]) {
      // Refusals are answered synchronously, and a refusal is longer than the item it refuses.
      if (this.outbox.unsent - unsent > REFUSED_MAX)
        return this.malformed('Too many items of this frame were refused.');
      if (!Array.isArray(item) || !this.takeItem(item)) {
        return this.malformed('An item must be [id, operation, request], ["end", id] or ["ping", n].');
      }
    }
  };

  /** False if it is not a valid item. */
  private takeItem(item: readonly unknown[]): boolean {
    const [first, second] = item;
    if (typeof first === 'number') {
      if (!Number.isSafeInteger(first) || item.length < 2 || item.length > 4) return false;
      this.begin(first, second, item[2] ?? {}, item[3]);
      return true;
    }
    // A server without tokens ignores a token.
    if (first === 'token') return item.length === 2;
    if (item.length !== 2 || !Number.isSafeInteger(second)) return false;
    if (first === 'ping') this.outbox.push(`["pong",${second}]`);
    else if (first === 'end') this.endWait(second as number);
    else return false;
    return true;
  }

  private begin(id: number, operation: unknown, request: unknown, requestId: unknown): void {
    const { service, isStopping } = this.context;
    const kind = service.kinds.get(operation);
    const refusal =
      kind === undefined ? unknownOperation(operation) : this.refusalOf(kind, request, requestId);
    if (refusal !== null) return this.refuse(id, refusal, requestId);
    if (isStopping) return this.refuse(id, STOPPING, requestId);
    if (this.inFlight >= LIVE_LIMITS.inFlight) return this.refuse(id, OVERLOADED, requestId);
    const isWait = ((request as Fields).wait_ms ?? 0) !== 0;
    if (isWait && this.waiting.has(id)) return this.refuse(id, SAME_ID, requestId);
    const options = this.optionsFor(kind!, id, request as Fields, requestId as string | undefined);
    const call = new LiveCall(this, id, kind!, request as Fields, options, isWait);
    this.inFlight += 1;
    if (isWait) this.waiting.set(id, call);
    try {
      kind!.run(call);
    } catch (fault) {
      this.fail(call, fault);
    }
  }

  private refusalOf(
    { definition, check, hasOpaque }: LiveKind,
    request: unknown,
    requestId: unknown,
  ): Refusal | null {
    const scope = refuseScope(this.caller, definition.scope);
    if (scope !== null) return scope;
    if (typeof request !== 'object' || Array.isArray(request))
      return invalid('The request must be an object.');
    if (requestId !== undefined && !isRequestId(requestId)) {
      return invalid('The id of a request must be 1 to 128 visible ASCII characters.');
    }
    const opaque = hasOpaque ? readOpaque(request as Fields) : null;
    if (opaque !== null) return opaque;
    if (!check.accepts(request)) return invalid(check.explain(request));
    return forbiddenTo(this.caller, definition, request);
  }

  private optionsFor(
    { definition: { name, grants } }: LiveKind,
    id: number,
    { writes }: Fields,
    requestId: string | undefined,
  ): CallOptions {
    const options = grants ? this.forGrants : name === 'whoami.get' ? this.forCaller : this.plain;
    if (requestId !== undefined) return { ...options, requestId };
    // Only operations that may leave a receipt need their own id; the others share one object.
    const isWrite = name === 'object.write' || name === 'object.delete' || writes !== undefined;
    return isWrite ? { ...options, requestId: this.idOf(id) } : options;
  }

  /** Distinguishes operations to which the client gave no request id. */
  private idOf(id: number): string {
    return `${this.requestId}/${id}`;
  }

  /** The client's own request id, if it gave one; the connection's id means that it gave none. */
  private knownAs(id: number, requestId: unknown): string {
    return isRequestId(requestId) && requestId !== this.requestId ? requestId : this.idOf(id);
  }

  private endWait(id: number): void {
    const call = this.waiting.get(id);
    call?.kind.end(call, new EndedWaitError('The client has ended its wait.'));
  }

  /** The authority has decided, and the decision is durable. */
  settle(call: LiveCall, answer: Answer | Refusal): void {
    if (call.isSettled) return;
    if (call.kind.definition.name === 'task.lease' && !isRefusal(answer))
      this.freeRoom(answer as GrantedTasks);
    // A grant that was given back must not be reported.
    if (call.kind.isGivenBack && this.isLeaving()) this.settled(call);
    else if (isRefusal(answer)) this.reply(call, problem(answer));
    else {
      let reply: Reply<object>;
      try {
        reply = call.kind.reply(call, answer);
      } catch (fault) {
        return this.fail(call, fault);
      }
      this.reply(call, reply);
      call.kind.note(call, answer);
    }
  }

  private freeRoom({ leases }: GrantedTasks): void {
    for (const { payload } of leases) this.leasedBytes -= LEASE_BYTES + payload.length;
  }

  private textOf(reply: object): string {
    const isHidden = this.context.hidesPayloads && !may(this.caller, 'v1:write');
    return textWithin(withoutOk(isHidden ? withoutOpaques(reply) : reply));
  }

  reply(call: LiveCall, reply: Reply<object>): void {
    if (call.isSettled) return;
    const { id, kind } = call;
    try {
      if (isProblem(reply)) this.pushProblem(id, reply, call.options.requestId);
      else this.outbox.push(`[${id},${statusOf(kind.definition, reply)},${this.textOf(reply)}]`);
    } catch (fault) {
      // A thousand payloads can exceed the maximum length of a string.
      return this.fail(call, fault);
    }
    this.settled(call);
  }

  fail(call: LiveCall, fault: unknown): void {
    if (call.isSettled) return;
    if (fault instanceof EndedWaitError) this.outbox.push(`[${call.id}]`);
    else if (!(fault instanceof GoneError)) {
      const { requestId } = call.options;
      const place = { requestId: this.knownAs(call.id, requestId), path: this.path };
      this.refuse(call.id, refusalOf(fault, place, this.context.reportFault), requestId);
    }
    this.settled(call);
  }

  private settled(call: LiveCall): void {
    call.isSettled = true;
    this.inFlight -= 1;
    if (call.isWait) this.waiting.delete(call.id);
    if (this.inFlight > 0) return;
    this.leasedBytes = 0;
    this.whenQuiet?.();
  }

  /** `requestId`: the client's own, if it gave one. */
  private refuse(id: number, refusal: Refusal, requestId: unknown): void {
    this.pushProblem(id, problem(refusal), requestId);
  }

  private pushProblem(id: number, told: Problem, requestId: unknown): void {
    this.context.counts.refused(told.code);
    const body = JSON.stringify(problemBody(told, `${LIVE_PATH}#${id}`, this.knownAs(id, requestId)));
    this.outbox.push(`[${id},${told.status},${body}]`);
  }

  holdName(name: string, leaseSeq: number): void {
    this.subscribe()?.holdName(this.subscription!, name, leaseSeq);
  }

  holdTask(leaseSeq: number): void {
    this.subscribe()?.holdTask(this.subscription!, leaseSeq);
  }

  /** Subscribes to the holders of the present service, which granted what this connection holds. */
  private subscribe(): Holders | null {
    const { holders } = this.context.service;
    if (this.isGone()) return null;
    if (this.subscribedTo !== holders) {
      this.unsubscribe();
      this.subscription = holders?.subscribe(this.notify) ?? null;
      this.subscribedTo = holders;
    }
    return holders;
  }

  private unsubscribe(): void {
    if (this.subscription !== null) this.subscribedTo?.unsubscribe(this.subscription);
    this.subscription = null;
    this.subscribedTo = null;
  }

  private readonly notify: HolderListener = (news) => {
    this.outbox.push(JSON.stringify(toldOf(news)));
    return !this.isGone();
  };

  /** Aborts a read when the connection closes or stops. Pass it to `ended` when the read is done. */
  ending(): AbortController {
    const controller = new AbortController();
    this.endings.add(controller);
    if (this.isGone()) controller.abort(new GoneError('The connection was closed.'));
    return controller;
  }

  ended(controller: AbortController): void {
    this.endings.delete(controller);
  }

  /** Begins a read once the outbox has room for its answer. */
  whenRead(read: () => Promise<void>): void {
    this.heldReads.push(read);
    this.beginReads();
  }

  private beginReads(): void {
    while (this.heldReads.length > 0 && this.openReads < READS_MAX && !this.outbox.isFull) {
      this.openReads += 1;
      void this.heldReads.shift()!().then(() => {
        this.openReads -= 1;
        this.beginReads();
      });
    }
  }

  private malformed(reason: string): void {
    this.close(CLOSES.malformed, reason);
  }

  /** Sends what is ready. If nothing is, sends a frame with the time only. */
  flush(): void {
    this.outbox.flush();
  }

  close(code: number, reason: string): void {
    this.outbox.close(code, reason);
  }

  /** Called when the connection is closed: waits end, and later grants are given back. */
  closed(): void {
    this.heldReads = [];
    this.unsubscribe();
    this.endAll(new GoneError('The connection was closed.'));
    // Held reads are dropped, and nothing else needs an answer.
    this.whenQuiet?.();
  }

  private endAll(reason: Error): void {
    for (const controller of this.endings) controller.abort(reason);
    for (const call of [...this.waiting.values()]) call.kind.end(call, reason);
  }

  /** Ends waits. Resolves when everything in flight has been answered, or the connection is closed. */
  stop(): Promise<void> {
    this.endAll(new StoppingError());
    return new Promise((resolve) => {
      if (this.inFlight === 0) resolve();
      else this.whenQuiet = resolve;
    });
  }

  /**
   * Pings the peer; false when it has sent nothing since the previous ping. A peer that sends a long frame over a slow line
   * cannot answer before the frame ends.
   */
  ping(): boolean {
    if (this.outbox.isPaused) return true;
    const { bytesRead } = this.socket;
    if (bytesRead === this.bytesAtPing) return false;
    this.bytesAtPing = bytesRead;
    this.ws.ping();
    return true;
  }

  terminate(): void {
    this.ws.terminate();
  }
}

function isRequestId(given: unknown): given is string {
  return typeof given === 'string' && REQUEST_ID.test(given);
}

function unknownOperation(operation: unknown): Refusal {
  return typeof operation === 'string'
    ? noOperation(operation)
    : invalid('The second place of an item must name an operation.');
}

/**
 * Reaches an authority over a network: by the live connection if there is one, else by one HTTP request per call, with
 * separate connections for renewals and for long polls. After a lost reply the call is sent again with the same ids,
 * where that is safe (`retries.ts`). Concurrent calls may be decided in any order.
 *
 *   call ─┬─► live connection ─┬─► outcomes ─┬─► an answer for the caller
 *         └─► wire ─► http ────┘             └─► a retry, or a fault
 */

import type { LogRequest } from '../operations/pages.ts';
import type { EntryRecord } from '../operations/records.ts';
import type { Body, Operation, Requests } from '../operations/table.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { LIMITS } from '../protocol/limits.ts';
import type { Problem, Reply } from '../protocol/problem.ts';
import type { Moment } from '../seams/deadline.ts';
import { type Http, isHttpFault, type Lane } from '../seams/http.ts';
import type { Sockets } from '../seams/sockets.ts';
import { AbortWatch } from './abort-watch.ts';
import { isWithinBytes } from './byte-lengths.ts';
import { settledByOptions } from './call-options.ts';
import { CallOutcomes, effectOf } from './call-outcomes.ts';
import { closedEntries, handleClosed } from './closed.ts';
import { ConnectionWatch } from './connection.ts';
import { LiveCarrier } from './live-carrier.ts';
import { LogReader } from './log-reader.ts';
import { OPERATION_ROWS } from './operation-table.ts';
import { OpenCalls, PendingCall } from './pending-call.ts';
import { isObject, notLeasehold, notOurs, readReply, retryAfterMs, type WireBody } from './reply-text.ts';
import { type Fields, invalid, routed, tooLarge } from './request-text.ts';
import { isSafeAgain, type Retry, retryOf } from './retries.ts';
import { type RetryLimits, RetrySchedule } from './retry-schedule.ts';
import type { EntryListing, FollowOnly, NoticeListener, Transport, TransportOptions } from './transport.ts';
import { type ServerAddress, Wire } from './wire.ts';
import type { ClientWorld } from './world.ts';

export interface HttpTransportOptions {
  readonly servers: readonly ServerAddress[];
  readonly token: string | null;
  readonly retry: RetryLimits;
  /** For live connections; null to use HTTP only. */
  readonly sockets?: Sockets | null;
}

/** How long an answer may take, on top of the call's own wait. A later answer to a renewal is useless. */
const TIMEOUT_MS: Readonly<Record<Lane, number>> = { calls: 30_000, waits: 30_000, renewals: 10_000 };
/**
 * The timeout with several servers: a paused server accepts connections and never answers. Not shorter, because a
 * standby leads only after the leader's guard has expired, and calls to a server that is merely slow would be resent
 * repeatedly.
 */
const SEVERAL_TIMEOUT_MS = 10_000;

/** How long `close` waits for answers in flight. */
const CLOSE_MS = 5_000;

/** 96 random bits, unique to each client. */
const SERIES_CHARACTERS = 16;

export class HttpTransport implements Transport {
  readonly #http: Http;
  readonly #world: ClientWorld;
  readonly #hasSeveral: boolean;
  readonly #wire: Wire;
  readonly #outcomes: CallOutcomes;
  readonly #schedule: RetrySchedule;
  readonly #log: LogReader;
  readonly #open = new OpenCalls();
  readonly #aborts = new AbortWatch();
  /** Calls in flight over HTTP. */
  readonly #sent = new Set<PendingCall>();
  readonly #live: LiveCarrier | null;
  readonly connection: ConnectionWatch;
  #closed: Promise<void> | null = null;
  /** The prefix of all ids this client generates, and how many it has generated. */
  readonly #series: string;
  #made = 0;

  constructor(
    http: Http,
    world: ClientWorld,
    { servers, token, retry, sockets = null }: HttpTransportOptions,
  ) {
    const { clock, timers } = world;
    const schedule = new RetrySchedule(clock, servers.length, retry);
    this.#http = http;
    this.#world = world;
    this.connection = new ConnectionWatch((fault) => world.onFault?.(fault));
    this.#schedule = schedule;
    this.#series = `t${world.newToken().slice(0, SERIES_CHARACTERS)}-`;
    this.#hasSeveral = servers.length > 1;
    this.#wire = new Wire(http, timers, servers, token);
    this.#outcomes = new CallOutcomes({
      timers,
      schedule,
      nowMs: () => clock.monotonicMs(),
      retrying: world.onRetry,
      ask: (operation, request) => this.call(operation, request),
      resend: (call) => this.#send(call),
      // Only a grant whose reply was lost is restarted, and its token was generated.
      restart: (call) => this.#start(call, this.#newId('token')),
    });
    this.#live =
      sockets === null
        ? null
        : new LiveCarrier(sockets, world, this.#wire, this.connection, {
            answered: (call, status, body) => this.#liveAnswered(call, status, body),
            lost: (calls, fault) => this.#outcomes.lost(calls, fault),
            byHttp: (call) => void this.#sendByHttp(call),
            timeoutMs: (call) => this.#timeoutMs(call),
          });
    this.#log = new LogReader(this.#wire, schedule, world);
  }

  call<Op extends Operation>(
    operation: Op,
    request: Requests[Op],
    options?: TransportOptions,
  ): Promise<Reply<Body<Op>>> {
    if (this.#closed !== null) return Promise.reject(handleClosed());
    const settled = options === undefined ? null : settledByOptions(options);
    if (settled !== null) return settled;
    const wrong = wrongRequest(request);
    if (wrong !== null) return Promise.resolve(wrong);
    // A copy, because the caller may change the object before the request is resent, recovered or released.
    let kept: Record<string, unknown>;
    try {
      kept = { ...request };
    } catch (fault) {
      return Promise.reject(fault);
    }
    const lane = laneOf(operation, kept, options?.isRenewal ?? false);
    const call = new PendingCall(operation, kept, lane, options?.requestId, this.#open);
    call.isTokenOwn = options?.isTokenOwn ?? false;
    const signal = options?.signal;
    if (signal !== undefined) call.endsWith(signal, this.#aborts);
    const fills = retryOf(operation)?.fills;
    if (fills !== undefined && kept[fills] === undefined) this.#start(call, this.#newId(fills));
    else this.#send(call);
    return call.answer;
  }

  /**
   * Ids appear in paths and on command lines, so they must not look like an option. They count up so that neighbours
   * share cache lines in the authority's tables. A token is a secret and fully random.
   */
  #newId(fills: Retry['fills']): string {
    return fills === 'token' ? this.#world.newToken() : this.#series + this.#made++;
  }

  /** Sends the call under a new id, by which the server recognises a retry. */
  #start(call: PendingCall, id: string): void {
    call.generatedId = id;
    call.request[retryOf(call.operation)!.fills!] = id;
    this.#send(call);
  }

  #send(call: PendingCall): void {
    if (call.isSettled || this.#live?.take(call) === true) return;
    void this.#sendByHttp(call);
  }

  #liveAnswered(call: PendingCall, status: number, body: WireBody): void {
    if (isWhole(call, status, body)) this.#outcomes.answered(call, status, body, 0);
    else call.reject(notLeasehold(this.#wire.server, effectOf(call, 'unknown')));
  }

  listen(listener: NoticeListener): () => void {
    return this.#live?.listen(listener) ?? (() => undefined);
  }

  earliestOf(reply: object): Moment | null {
    return this.#live?.earliestOf(reply) ?? null;
  }

  /** A server has answered over HTTP. */
  #reached(): void {
    if (this.#live?.isOpen !== true) this.connection.set('polling', this.#wire.server);
  }

  async #sendByHttp(call: PendingCall): Promise<void> {
    if (call.isSettled) return;
    const { operation, lane, requestId } = call;
    const { waitMs, fields } = call.fieldsAt(this.#world.clock.monotonicMs());
    const target = routed(operation, fields);
    if ('ok' in target) return call.resolve(target);
    if (target.body !== null && !isWithinBytes(target.body, LIMITS.bodyBytes))
      return call.resolve(tooLarge());
    // A change that does not wait is allowed to finish when its caller gives up, so that its grant can be released.
    const ending = lane === 'waits' || target.method === 'GET' ? new AbortController() : null;
    call.ending = ending;
    this.#sent.add(call);
    try {
      const ask = {
        ...target,
        lane,
        ...(ending === null ? {} : { signal: ending.signal }),
        ...(requestId === undefined ? {} : { requestId }),
      };
      const reply = await this.#wire.send(ask, this.#timeoutMs(call) + waitMs);
      this.#reached();
      const { server } = this.#wire;
      const body = readReply(reply, server, effectOf(call, 'unknown'));
      if (!isWhole(call, reply.status, body)) throw notOurs(reply, server, 'unknown');
      this.#outcomes.answered(call, reply.status, body, retryAfterMs(reply));
    } catch (fault) {
      this.#failed(call, fault);
    } finally {
      this.#sent.delete(call);
    }
  }

  /** A call that cannot be retried fails at its timeout, so it gets the full one. */
  #timeoutMs(call: PendingCall): number {
    const isShort = this.#hasSeveral && isSafeAgain(call.operation, call.request);
    const timeoutMs = isShort ? SEVERAL_TIMEOUT_MS : TIMEOUT_MS[call.lane];
    return call.wasLate ? Math.min(timeoutMs, this.#schedule.limitMs(call)) : timeoutMs;
  }

  /** A request was lost, aborted by its caller, or answered by something other than leasehold; or there is a bug. */
  #failed(call: PendingCall, fault: unknown): void {
    if (!isHttpFault(fault)) return call.reject(fault);
    if (this.#live?.isOpen !== true) this.connection.set('away', this.#wire.server);
    this.#outcomes.lost([call], fault);
  }

  async log(request: Omit<LogRequest, 'follow'>): Promise<Reply<EntryListing>> {
    if (this.#closed !== null) throw handleClosed();
    const wrong = wrongRequest(request);
    if (wrong !== null) return wrong;
    this.#open.began();
    try {
      return await this.#log.read(request);
    } finally {
      this.#open.ended();
    }
  }

  /** By default starts with the first entry that is not yet durable when `follow` is called. */
  follow(fromSeq: number | null, signal: AbortSignal, only: FollowOnly = {}): AsyncIterable<EntryRecord> {
    if (this.#closed !== null) return closedEntries();
    const from = Promise.resolve(fromSeq ?? (only.session ? 1 : this.#nextSeq()));
    // The fault is thrown to the caller that pulls the first entry; if none does, it does not matter.
    from.catch(() => undefined);
    return this.#log.follow(from, signal, only);
  }

  async #nextSeq(): Promise<number> {
    const status = await this.call('status.get', {});
    if (!status.ok) throw LeaseholdError.of(status);
    if (status.role !== 'standby') return status.seq + 1;
    // A standby answers `status.get` from its own state, which may lag. It refuses `queue.list` (NOT_LEADER), which
    // moves the client to the leader.
    await this.call('queue.list', {});
    return this.#nextSeq();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** Ends calls that wait; lets the others finish. */
  async #close(): Promise<void> {
    const { timers } = this.#world;
    this.#outcomes.stop();
    this.#log.stop();
    for (const call of [...this.#sent, ...(this.#live?.waits() ?? [])]) {
      if (call.lane !== 'waits') continue;
      const fault = handleClosed(call.effect);
      call.reject(fault);
      call.ending?.abort(fault);
    }
    await new Promise<void>((resolve) => {
      const timer = timers.after(CLOSE_MS, resolve);
      this.#open.whenNone(() => {
        timer.cancel();
        resolve();
      });
    });
    this.#live?.close();
    await this.#http.close();
  }
}

/** Refuses anything but an object, with the refusal the authority would give. */
function wrongRequest(request: unknown): Problem | null {
  return isObject(request) ? null : invalid('The request must be an object.');
}

function laneOf(operation: Operation, request: Fields, isRenewal: boolean): Lane {
  if ((request.wait_ms ?? 0) !== 0) return 'waits';
  return isRenewal || OPERATION_ROWS[operation].renews ? 'renewals' : 'calls';
}

/**
 * Whether a leasehold server can have sent this answer. The answer of every operation allowed in a batch has a `seq`;
 * one without it is from another server, and a lease made from it would never end.
 */
function isWhole({ operation }: PendingCall, status: number, { seq }: WireBody): boolean {
  return status >= 400 || !OPERATION_ROWS[operation].batch || typeof seq === 'number';
}

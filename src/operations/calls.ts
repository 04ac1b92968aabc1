/**
 * Every operation of the table as a call on an authority: build the command, submit it, return the body or the problem.
 * In-process calls, single HTTP requests and batches all pass through here.
 */
import type { Authority } from '../authority/authority.ts';
import { EndWatch } from '../authority/end-watch.ts';
import { RefusedReadError } from '../authority/refused-read.ts';
import type { CallOptions, Handling, Sink } from '../authority/request.ts';
import { SessionBeats } from '../authority/sessions/session-beats.ts';
import type { Standby } from '../authority/standby.ts';
import { Workers } from '../authority/workers.ts';
import type { Answer } from '../core/answers.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { LogCompactedError } from '../engines/log.ts';
import { instant } from '../protocol/instant.ts';
import { problem, type Reply } from '../protocol/problem.ts';
import type { Timers } from '../seams/clock.ts';
import type { ServingThreads } from '../seams/threads.ts';
import { CHECKS } from './checks.ts';
import type { ChangeContext, LeaderContext, ReadContext, RoleFigures } from './contexts.ts';
import { isPast } from './past-fields.ts';
import {
  type AnyChange,
  type AnyRead,
  type Body,
  CHANGES,
  type ChangeOperation,
  OPERATION_NAMES,
  type Operation,
  READS,
  type Requests,
} from './table.ts';
import { TimeMachine } from './time-machine.ts';

/** One operation of the table as a call. */
export type Call<Op extends Operation> = (
  request: Requests[Op],
  options?: CallOptions,
) => Promise<Reply<Body<Op>>>;

export type Calls = { readonly [Op in Operation]: Call<Op> };

/** A call whose request has been checked already. */
export type CheckedCall = (request: unknown, options?: CallOptions) => Promise<Reply<object>>;

/** The same operations for callers that check requests themselves, as the server does. */
export type CheckedCalls = Readonly<Record<Operation, CheckedCall>>;

export function checkedCalls(
  authority: Authority,
  context: ChangeContext,
  timers: Timers,
  newToken: () => string,
  threads: ServingThreads | null = null,
): CheckedCalls {
  const reads = leaderContext(authority, timers);
  const figures = () => leaderFigures(authority);
  const machine = new TimeMachine({ authority, threads, timers, figures });
  const past: PastCall = (read, request, options) => machine.ask(read.name, request, options);
  return Object.fromEntries([
    ...CHANGES.map((change) => [change.name, changeCall(authority, change, context, newToken)]),
    ...READS.map((read) => [read.name, readCall(read, reads, past)]),
  ]) as CheckedCalls;
}

/** The reads that a standby answers from its own copy of the state. */
export function standbyCalls(standby: Standby, timers: Timers): Partial<CheckedCalls> {
  const reads = standbyContext(standby, timers) as LeaderContext;
  const past: PastCall = async () => standby.refusal;
  return Object.fromEntries(
    READS.filter(({ onStandby }) => onStandby).map((read) => [read.name, readCall(read, reads, past)]),
  );
}

/** The same calls, each of which first checks its request. */
export function openCalls(checked: CheckedCalls): Calls {
  return Object.fromEntries(
    OPERATION_NAMES.map((operation) => {
      const check = CHECKS[operation];
      const call = checked[operation];
      const checkedCall: CheckedCall = (request, options) => {
        if (check.accepts(request)) return call(request, options);
        return Promise.resolve(problem({ refused: 'INVALID_ARGUMENT', detail: check.explain(request) }));
      };
      return [operation, checkedCall];
    }),
  ) as unknown as Calls;
}

/** A checked change whose answer goes to a sink: in a batch, or on a live connection. */
export interface Send {
  /** What has to be read before it is submitted; null for most. */
  readonly prepare: ((request: unknown) => Promise<unknown>) | null;
  /** The answer goes to its place in the sink. Returns what `reply` shows besides the answer. */
  submit(sink: Sink, place: number, request: unknown, options: CallOptions, prepared?: unknown): string;
  reply(answer: Answer | Refusal, shown: string): Reply<object>;
}

export type Sends = Readonly<Record<ChangeOperation, Send>>;

export function changeSends(authority: Authority, context: ChangeContext, newToken: () => string): Sends {
  const send = (change: AnyChange): Send => {
    const handling = handlingOf(change);
    return {
      prepare: preparation(authority, change),
      submit(sink, place, request, options, prepared) {
        const token = tokenOf(request, change, newToken);
        const command = isRefused(prepared)
          ? prepared
          : change.command(request, token, context, options.isAdmin ?? true, prepared);
        if (isRefusal(command)) sink.settle(place, command);
        else authority.submitTo(sink, place, command, handling, options);
        return shownBy(change, token, options, newToken);
      },
      reply: (answer, shown) => replyTo(answer, shown, change, context),
    };
  };
  return Object.fromEntries(CHANGES.map((change) => [change.name, send(change)])) as Sends;
}

/** What the body shows besides the answer. */
function shownBy(
  { showsRequestId }: AnyChange,
  token: string,
  options: CallOptions | undefined,
  newToken: () => string,
): string {
  return showsRequestId ? (options?.requestId ?? newToken()) : token;
}

function changeCall(
  authority: Authority,
  change: AnyChange,
  context: ChangeContext,
  newToken: () => string,
): CheckedCall {
  const handling = handlingOf(change);
  const send = (request: unknown, options?: CallOptions, prepared?: unknown): Promise<Reply<object>> => {
    if (isRefused(prepared)) return Promise.resolve(problem(prepared));
    const token = tokenOf(request, change, newToken);
    const command = change.command(request, token, context, options?.isAdmin ?? true, prepared);
    if (isRefusal(command)) return Promise.resolve(problem(command));
    const shown = shownBy(change, token, options, newToken);
    return authority
      .submit(command, handling, options)
      .then((answer) => replyTo(answer, shown, change, context));
  };
  const prepare = preparation(authority, change);
  if (prepare === null) return send;
  return async (request, options) => send(request, options, await prepare(request));
}

/** Gives what the command needs, or the refusal of a read that the authority had no room for. */
function preparation(
  authority: Authority,
  { prepare }: AnyChange,
): ((request: unknown) => Promise<unknown>) | null {
  if (prepare === undefined) return null;
  return (request) =>
    reading(() => prepare(request, authority)).catch((fault: unknown): Refusal => {
      // Without any room in the log not even a read is decided, and the change would be refused for that.
      if (!authority.hasEnded && authority.log.batchBytesMax === 0) return { refused: 'DISK_FULL' };
      throw fault;
    });
}

function isRefused(prepared: unknown): prepared is Refusal {
  return typeof prepared === 'object' && prepared !== null && isRefusal(prepared);
}

function handlingOf({ urgent, refusedWhenFull }: AnyChange): Handling {
  return { isUrgent: urgent === true, needsSpace: refusedWhenFull === true };
}

function replyTo(
  answer: Answer | Refusal,
  shown: string,
  { body }: AnyChange,
  context: ChangeContext,
): Reply<object> {
  return isRefusal(answer) ? problem(answer) : body(answer, shown, context);
}

/** The token of the request, or a generated one where a grant needs one and the request has none. */
function tokenOf(request: unknown, { needsToken }: AnyChange, newToken: () => string): string {
  return (request as { token?: string }).token ?? (needsToken ? newToken() : '');
}

/** A read of an earlier moment. */
type PastCall = (read: AnyRead, request: object, options: CallOptions) => Promise<object | Refusal>;

function readCall(read: AnyRead, context: LeaderContext, past: PastCall): CheckedCall {
  const { look } = read;
  return async (request, options = {}) => {
    const found = await (isPast(request)
      ? past(read, request as object, options)
      : reading(() => look(request, context, options)));
    return isRefusal(found) ? problem(found) : (found as Reply<object>);
  };
}

/** A read whose bytes a compaction moved in between looks them up again. */
async function reading<T>(ask: () => Promise<T>): Promise<T | Refusal> {
  try {
    return await ask().catch((fault: unknown) => {
      if (fault instanceof LogCompactedError) return ask();
      throw fault;
    });
  } catch (fault) {
    if (!(fault instanceof RefusedReadError)) throw fault;
    return fault.refusal;
  }
}

function leaderContext(authority: Authority, timers: Timers): LeaderContext {
  return {
    authority,
    source: authority,
    ends: new EndWatch(authority.feed),
    timers,
    beats: authority.soft.sessions,
    workers: authority.soft.workers,
    figures: () => leaderFigures(authority),
  };
}

function leaderFigures({ log, clock }: Authority): RoleFigures {
  const firstAtMs = log.past()?.firstAtMs ?? null;
  return {
    role: 'leader',
    first_seq: log.position.firstSeq,
    ...(firstAtMs === null ? {} : { first_at: instant(firstAtMs) }),
    epoch: log.epoch,
    log_bytes: log.size.bytes,
    disk_full: log.full,
    clock_off_ms: clock.aheadMs(),
  };
}

function standbyContext(standby: Standby, timers: Timers): ReadContext {
  return {
    source: standby,
    ends: new EndWatch(standby.feed),
    timers,
    beats: new SessionBeats(),
    workers: new Workers(),
    figures: ({ state }) => ({
      role: 'standby',
      first_seq: standby.position.firstSeq,
      epoch: state.epoch,
      log_bytes: standby.size.bytes,
      // A standby writes nothing and needs no space.
      disk_full: false,
      clock_off_ms: null,
      leader_url: standby.leaderUrl,
      log_trouble: standby.trouble,
    }),
  };
}

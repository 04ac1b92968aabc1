/** One operation over HTTP: shape in, one call, outcome out. No rules live here. */
import { RefusedReadError } from '../authority/refused-read.ts';
import type { CallOptions } from '../authority/request.ts';
import { UnavailableError } from '../authority/unavailable.ts';
import { invalid, isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { LogClosedError, LogCompactedError, LogOutOfReachError } from '../engines/log.ts';
import type { CheckedCall } from '../operations/calls.ts';
import { CHECKS } from '../operations/checks.ts';
import { isPast } from '../operations/past-fields.ts';
import { type AnyOperation, type Operation, operationOf } from '../operations/table.ts';
import type { Problem, Reply } from '../protocol/problem.ts';
import { bodyText, withoutOpaques } from './body-text.ts';
import type { Exchange } from './exchange.ts';
import { GoneError, type LongPolls, RevokedError, StoppingError, UnwatchedError } from './long-polls.ts';
import { LongReads, type ReadKind } from './long-reads.ts';
import { type Fields, readBody, readQuery, withPathFields } from './request-bytes.ts';
import { type Caller, may } from './scopes.ts';

/** A request as Fastify parsed it. */
export interface Arrival {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: Buffer | undefined;
}

/** Where a fault occurred. */
export type FaultPlace = Pick<Exchange, 'requestId' | 'path'> & Partial<Pick<Exchange, 'request'>>;

/** Reports a bug or a failing disk in the server's log. */
export type ReportFault = (fault: unknown, place: FaultPlace) => void;

/** The answer in place of a grant that was given back. */
export const HALF_CLOSED = invalid(
  'The client closed its side of the connection before the answer, so nothing was granted. Keep it open until then.',
);

export type Handle = (exchange: Exchange, arrival: Arrival) => void;

export function operationHandler(
  operation: Operation,
  call: CheckedCall,
  longPolls: LongPolls,
  longReads: LongReads,
  reportFault: ReportFault,
): Handle {
  const definition = operationOf(operation);
  const check = CHECKS[operation];
  const numbers = numberFields(operation);
  const isGet = definition.method === 'GET';
  const answer = answerer(operation, reportFault);
  const takesPast = 'past' in definition;
  const longKind = LongReads.kindOf(operation);
  const isRecord = LongReads.isRecord(operation);

  /** Histories and earlier moments scan the log, so they are aborted when the client is gone. */
  const look = (request: unknown, exchange: Exchange, kind: ReadKind): Promise<void> => {
    if (kind === 'list') return answer(call(request), exchange);
    const { signal, end } = longPolls.begin(exchange.response);
    return answer(call(request, { signal }).finally(end), exchange);
  };

  const waitFor = (
    request: unknown,
    options: CallOptions,
    { response, request: incoming, caller }: Exchange,
  ): Promise<Reply<object>> => {
    const { signal, end } = longPolls.begin(response, incoming.socket, caller.revocation);
    return call(request, { ...options, signal }).finally(end);
  };

  return (exchange, { params, query, body }) => {
    const fields = isGet ? readQuery(query, numbers) : readBody(body);
    const request = isRefusal(fields) ? fields : withPathFields(fields as Fields, params);
    if (isRefusal(request)) return exchange.refuse(request);
    if (!isGet && hasFields(query)) {
      return exchange.refuse(invalid('The query of this path takes no fields.'));
    }
    if (!check.accepts(request)) return exchange.refuse(invalid(check.explain(request)));
    // HEAD sends no body, so it does not wait for one.
    if (exchange.request.method === 'HEAD') delete (request as Fields).wait_ms;
    const forbidden = forbiddenTo(exchange.caller, definition, request);
    if (forbidden !== null) return exchange.refuse(forbidden);
    const kind = takesPast && isPast(request) ? 'past' : longKind;
    if (kind !== null) {
      longReads
        .inTurn(kind, async () => {
          if (!exchange.isGone()) await look(request, exchange, kind);
        })
        .catch((fault: unknown) => refuseFault(fault, exchange, reportFault));
      return;
    }
    const { requestId, isGone } = exchange;
    const options = optionsOf(definition, exchange);
    const isWait = ((request as Fields).wait_ms ?? 0) !== 0;
    if (!isRecord) {
      void answer(isWait ? waitFor(request, options, exchange) : call(request, options), exchange);
      return;
    }
    const room = longReads.largeRead(isGone);
    const reading: CallOptions = { requestId, room };
    const reply = isWait ? waitFor(request, reading, exchange) : call(request, reading);
    void answer(reply, exchange).then(() => room.end());
  };
}

/** A grant is given back when its caller is gone; a renewal is not. */
export function isGivenBack({ grants, renews }: AnyOperation): boolean {
  return grants === true && renews !== true;
}

/** The options of operations whose reply is a grant. */
export function grantOptions({
  requestId,
  isLeaving,
  caller,
}: Pick<Exchange, 'requestId' | 'isLeaving' | 'caller'>): CallOptions {
  return { requestId, isGone: isLeaving, isAdmin: may(caller, 'v1:admin') };
}

function optionsOf({ name, grants }: AnyOperation, exchange: Exchange): CallOptions {
  if (grants) return grantOptions(exchange);
  const { requestId, caller } = exchange;
  return name === 'whoami.get' ? { requestId, caller } : { requestId };
}

function answerer(
  operation: Operation,
  reportFault: ReportFault,
): (reply: Promise<Reply<object>>, exchange: Exchange) => Promise<void> {
  const definition = operationOf(operation);
  const isGrant = isGivenBack(definition);
  return (reply, exchange) =>
    reply.then(
      (body) => {
        try {
          if (isProblem(body)) exchange.problem(body);
          else if (isGrant && exchange.isLeaving()) exchange.refuse(HALF_CLOSED);
          else exchange.json(statusOf(definition, body), textFor(exchange, body), outcomeOf(body));
        } catch (fault) {
          // A thousand payloads can exceed the maximum length of a string.
          refuseFault(fault, exchange, reportFault);
        }
      },
      (fault: unknown) => refuseFault(fault, exchange, reportFault),
    );
}

function textFor({ hidesOpaques }: Exchange, body: object): string {
  return bodyText(hidesOpaques ? withoutOpaques(body) : body);
}

export function isProblem(reply: Reply<object>): reply is Problem {
  return (reply as Problem).ok === false;
}

/**
 * Answers a call that was not decided: its caller is gone, too much is waiting, the server is stopping, the authority is
 * dead, or there is a bug.
 */
export function refuseFault(fault: unknown, exchange: Exchange, reportFault: ReportFault): void {
  if (fault instanceof GoneError) return;
  exchange.refuse(refusalOf(fault, exchange, reportFault));
}

export function refusalOf(fault: unknown, place: FaultPlace, reportFault: ReportFault): Refusal {
  if (fault instanceof RefusedReadError) return fault.refusal;
  if (fault instanceof RevokedError) return { refused: 'UNAUTHENTICATED', detail: fault.message };
  if (fault instanceof UnwatchedError) return invalid(fault.message);
  if (fault instanceof StoppingError || isUnavailable(fault)) {
    return { refused: 'UNAVAILABLE', detail: fault.message };
  }
  reportFault(fault, place);
  return { refused: 'INTERNAL' };
}

const UNAVAILABLE = [UnavailableError, LogClosedError, LogCompactedError, LogOutOfReachError];

/**
 * The authority is dead, or bytes for an answer could not be read: the log was closed, is unreachable, or compaction moved
 * them more often than the lookup retries. Repeating the call finds them.
 */
export function isUnavailable(fault: unknown): fault is Error {
  return UNAVAILABLE.some((kind) => fault instanceof kind);
}

/** 200 instead of 201 when the call created nothing: a duplicate, or the replacement of an existing record. */
export function statusOf({ status }: AnyOperation, body: object): number {
  const { duplicate, created } = body as { duplicate?: true; created?: boolean };
  return status === 201 && (duplicate || created === false) ? 200 : status;
}

function outcomeOf(body: object): string | undefined {
  return (body as { outcome?: string }).outcome;
}

/** The refusal of a request that needs more than the scope of its operation. */
export function forbiddenTo(caller: Caller, { extraScope }: AnyOperation, request: unknown): Refusal | null {
  const extra = extraScope?.(request) ?? null;
  return extra === null || may(caller, extra.scope) ? null : { refused: 'FORBIDDEN', detail: extra.detail };
}

/** For a batch and a live connection, where a request names its operation. */
export function noOperation(named: string): Refusal {
  return invalid(`There is no operation ${named.slice(0, 100)}; GET /openapi.json lists them all.`);
}

function hasFields(query: Readonly<Record<string, unknown>>): boolean {
  for (const _ in query) return true;
  return false;
}

function numberFields(operation: Operation): ReadonlySet<string> {
  const properties = Object.entries(
    operationOf(operation).request.properties as Record<string, { type?: string }>,
  );
  return new Set(properties.filter(([, { type }]) => type === 'integer').map(([field]) => field));
}

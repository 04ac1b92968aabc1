/** Every operation of the table as a call: check the request, ask the authority, give the body or the problem. */
import type { Authority } from '../authority/authority.ts';
import { RefusedReadError } from '../authority/refused-read.ts';
import type { CallOptions, Sink } from '../authority/request.ts';
import type { Standby } from '../authority/standby.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { LogCompactedError } from '../engines/log.ts';
import { CHECKS } from '../protocol/checks.ts';
import { problem, type Reply } from '../protocol/problem.ts';
import type { Body } from '../protocol/replies.ts';
import type { Requests } from '../protocol/requests.ts';
import type { BatchOperation, Operation } from '../protocol/routes.ts';
import type { Timers } from '../seams/clock.ts';
import type { Change, ChangeOperation, Changes } from './changes.ts';
import { allReads, type ReadOperation, type Reads, standbyReads } from './reads.ts';

/** One operation of the table as a call. */
export type Call<Op extends Operation> = (
  request: Requests[Op],
  options?: CallOptions,
) => Promise<Reply<Body<Op>>>;

export type Calls = { readonly [Op in Operation]: Call<Op> };

/** A call whose request has been checked already. */
export type CheckedCall = (request: unknown, options?: CallOptions) => Promise<Reply<object>>;

/** The same operations for those who check requests themselves, as the server does. */
export type CheckedCalls = Readonly<Record<Operation, CheckedCall>>;

export function checkedCalls(
  authority: Authority,
  changes: Changes,
  timers: Timers,
  newToken: () => string,
): CheckedCalls {
  const calls: Partial<Record<Operation, CheckedCall>> = {};
  for (const operation of Object.keys(changes) as ChangeOperation[]) {
    calls[operation] = change(authority, changes[operation], newToken);
  }
  return { ...calls, ...readCalls(allReads(authority, timers)), 'whoami.get': whoami } as CheckedCalls;
}

/** The reads that a standby can answer from what it has read along, for those who want no more. */
export function standbyCalls(standby: Standby, timers: Timers): Partial<CheckedCalls> {
  return { ...readCalls(standbyReads(standby, timers)), 'whoami.get': whoami };
}

/** In the process of the authority there are no tokens, and nothing is forbidden. */
const EMBEDDED: NonNullable<CallOptions['caller']> = { name: 'embedded', granted: ['*'] };

function whoami(_request: unknown, { caller = EMBEDDED }: CallOptions = {}): Promise<Body<'whoami.get'>> {
  return Promise.resolve({ ok: true, name: caller.name, scopes: [...caller.granted] });
}

function readCalls(reads: Partial<Reads>): Partial<CheckedCalls> {
  const calls: Partial<Record<Operation, CheckedCall>> = {};
  for (const operation of Object.keys(reads) as ReadOperation[]) {
    calls[operation] = read(reads[operation] as Reads['task.get']);
  }
  return calls;
}

/** A checked change whose answer goes to its place in a batch. */
export type Send = (sink: Sink, place: number, request: unknown, options: CallOptions) => void;

export type Sends = Readonly<Record<BatchOperation, Send>>;

export function batchSends(authority: Authority, changes: Changes, newToken: () => string): Sends {
  const sends: Partial<Record<Operation, Send>> = {};
  for (const operation of Object.keys(changes) as ChangeOperation[]) {
    const { command: commandOf, present, needsToken } = changes[operation];
    sends[operation] = (sink, place, request, options) => {
      const token = tokenOf(request, needsToken, newToken);
      const command = commandOf(request, token, options.isAdmin ?? true);
      if (isRefusal(command)) sink.settle(place, problem(command));
      else authority.submitTo(sink, place, command, present, token, options);
    };
  }
  return sends as Sends;
}

export function openCalls(checked: CheckedCalls): Calls {
  const calls: Partial<Record<Operation, CheckedCall>> = {};
  for (const operation of Object.keys(checked) as Operation[]) {
    const check = CHECKS[operation];
    const call = checked[operation];
    calls[operation] = (request, options) => {
      if (check.accepts(request)) return call(request, options);
      return Promise.resolve(problem({ refused: 'INVALID_ARGUMENT', detail: check.explain(request) }));
    };
  }
  return calls as Calls;
}

/** The token of the request, or a new one where a grant needs one and the caller has chosen none. */
function tokenOf(request: unknown, isNeeded: true | undefined, newToken: () => string): string {
  return (request as { token?: string }).token ?? (isNeeded ? newToken() : '');
}

function change(
  authority: Authority,
  { command: commandOf, present, needsToken, showsRequestId }: Change,
  newToken: () => string,
): CheckedCall {
  return (request, options) => {
    const token = tokenOf(request, needsToken, newToken);
    const command = commandOf(request, token, options?.isAdmin ?? true);
    if (isRefusal(command)) return Promise.resolve(problem(command));
    const shown = showsRequestId ? (options?.requestId ?? newToken()) : token;
    return authority.submit(command, present, shown, options) as Promise<Reply<object>>;
  };
}

/** What a read finds out of date because a compaction moved bytes, it looks up again. */
function read(look: Reads['task.get']): CheckedCall {
  return async (request, options) => {
    const ask = () => look(request as never, options);
    let found: Refusal | object;
    try {
      found = await ask().catch((fault: unknown) => {
        if (fault instanceof LogCompactedError) return ask();
        throw fault;
      });
    } catch (fault) {
      if (!(fault instanceof RefusedReadError)) throw fault;
      found = fault.refusal;
    }
    return isRefusal(found) ? problem(found) : (found as Reply<object>);
  };
}

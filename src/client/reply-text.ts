/**
 * Parses the reply of a server. A reply is a JSON object, and a problem when its status is 400 or above. Anything else
 * is not from a leasehold server, and the error says so instead of quoting a web page.
 */

import { type Effect, LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Problem } from '../protocol/problem.ts';
import { JsonError, readJson } from '../protocol/read-json.ts';
import type { HttpReply } from '../seams/http.ts';

/** A body as received, before `ok` is added. */
export type WireBody = Record<string, unknown>;

/**
 * Refusals that depend on the state of the server rather than on the call, with their possible effect. An authority
 * that died may have carried the call out, unless the server says that it did not.
 */
const TRANSIENT: Readonly<Record<string, Effect>> = {
  OVERLOADED: 'none',
  NOT_LEADER: 'none',
  REQUEST_TIMEOUT: 'none',
  UNAVAILABLE: 'unknown',
};

/** The possible effect of a call that may be retried; null for a refusal that stands. */
export function transientEffect(body: WireBody): Effect | null {
  const code = String(body.code);
  if (!Object.hasOwn(TRANSIENT, code)) return null;
  return body.effect === 'none' ? 'none' : TRANSIENT[code]!;
}

/** The body; a problem when the status is 400 or above. */
export function readReply(reply: HttpReply, server: string, effect: Effect): WireBody {
  let body: unknown;
  try {
    body = readJson(reply.body);
  } catch (fault) {
    if (fault instanceof JsonError) throw notOurs(reply, server, effect, fault);
    throw fault;
  }
  if (isObject(body) && isAnswer(reply.status, body)) return body;
  throw notOurs(reply, server, effect);
}

/** A problem has a code. */
function isAnswer(status: unknown, { code }: WireBody): boolean {
  return typeof status === 'number' && (status < 400 || typeof code === 'string');
}

export function isObject(value: unknown): value is WireBody {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `effect` is the possible effect of the call. */
export function notOurs(
  reply: Pick<HttpReply, 'status' | 'header'>,
  server: string,
  effect: Effect,
  cause?: unknown,
): LeaseholdError {
  const type = reply.header('content-type')?.split(';', 1)[0] ?? 'no content type';
  return notLeasehold(server, effect, ` (status ${reply.status}, ${type})`, cause);
}

export function notLeasehold(server: string, effect: Effect, what = '', cause?: unknown): LeaseholdError {
  const message = `${server} did not answer like a leasehold server${what}.`;
  return new LeaseholdError('PROTOCOL', message, { effect, cause });
}

/** The Retry-After of the reply; 0 without one. */
export function retryAfterMs(reply: HttpReply): number {
  const seconds = Number(reply.header('retry-after') ?? 0);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : 0;
}

/** A problem from a proxy may lack a detail, and an error must have a message. */
export function asProblem(body: WireBody): Problem {
  body.ok = false;
  body.detail ||= body.title || 'The server does not say why.';
  return body as unknown as Problem;
}

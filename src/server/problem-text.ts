/** Problems on the wire: RFC 9457, always with `code` and `requestId`. */
import type { Problem } from '../protocol/problem.ts';

export const PROBLEM_TYPE = 'application/problem+json';

/** The Retry-After of 429 and 503, in seconds: their causes pass soon. */
const RETRY_AFTER_SECONDS = '1';

export function problemText(problem: Problem, instance: string, requestId: string): string {
  return JSON.stringify(problemBody(problem, instance, requestId));
}

export function problemBody(problem: Problem, instance: string, requestId: string): object {
  const { ok: _, code, status, title, detail, ...more } = problem;
  return { type: `/errors/${code}`, title, status, detail, instance, code, requestId, ...more };
}

/** The headers a problem needs besides its type. */
export function problemHeaders(problem: Problem): Record<string, string> {
  const { code, status, outcome, leader_url: leaderUrl } = problem;
  return {
    ...(code === 'LEASE_HELD' ? { 'retry-after': secondsOf(problem.remaining_ms ?? 0) } : {}),
    ...(status === 503 || status === 429 ? { 'retry-after': RETRY_AFTER_SECONDS } : {}),
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(leaderUrl === undefined ? {} : { 'leasehold-leader': leaderUrl }),
    ...(outcome === undefined ? {} : { 'leasehold-outcome': outcome }),
  };
}

function secondsOf(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1000)));
}

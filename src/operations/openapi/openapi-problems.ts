/** Refusals in the OpenAPI text: one response for each status, with its codes, and an example for each code. */
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts';
import type { PageName } from '../pages.ts';
import { PAGES } from '../pages.ts';
import { REFUSALS_OF_ALL, refusalStatus, refusalsOf } from '../refusals-of.ts';
import { isOperation, OPERATIONS, type Operation } from '../table.ts';
import { type Schema, schemaRef } from './openapi-schemas.ts';

const REJECTED = { outcome: 'REJECTED' };
const FENCE = { current_fence: 46 };

/** The additional fields of a problem with this code. */
const EXTRAS: Readonly<Partial<Record<RefusalCode, object>>> = {
  LEASE_HELD: { holder: 'host-1', remaining_ms: 9_640 },
  NOT_LEADER: { leader_url: 'https://leasehold-1.example.org:7420' },
  LOG_COMPACTED: { first_seq: 1_024 },
  LEASE_OBJECT_MISMATCH: FENCE,
  WRITE_STALE_FENCE: FENCE,
  WRITE_UNKNOWN_FENCE: FENCE,
  LEASE_HOLDER_MISMATCH: FENCE,
  WRITE_UNFENCED: FENCE,
  SESSION_STATE_CONFLICT: { session_id: 's0000000001n', state: 'NEW' },
  SESSION_TERMINAL: {
    session_id: 's0000000001n',
    state: 'FAILED',
    reason: 'R_PROCESS_ENDED',
    reason_detail: 'exit code 1',
  },
};

/** A session may be in the way of these; then the problem has a `Retry-After`. */
const BEHIND_SESSIONS: ReadonlySet<string> = new Set<Operation>(['intent.accept', 'session.start']);
const SESSION_IN_THE_WAY = { holder: 's0000000000c', session_id: 's0000000000c' };

/** On a verdict these have `outcome: "REJECTED"`: nothing was recorded. */
const REJECTING: ReadonlySet<RefusalCode> = new Set(['TASK_NOT_FOUND', 'LEASE_UNKNOWN', 'LEASE_NOT_CURRENT']);
const VERDICTS: ReadonlySet<string> = new Set<Operation>(['task.complete', 'task.fail', 'task.release']);

interface Place {
  readonly name: Operation | PageName;
  readonly path: string;
}

function problemExample(code: RefusalCode, status: number, { name, path }: Place): object {
  const { says } = REFUSALS[code];
  return {
    type: `/errors/${code}`,
    title: says,
    status,
    detail: says,
    instance: path,
    code,
    requestId: 'f3b0c1d2-1k',
    ...EXTRAS[code],
    ...(code === 'LEASE_HELD' && BEHIND_SESSIONS.has(name) ? SESSION_IN_THE_WAY : {}),
    ...(code === 'LEASE_EXPIRED' && status === 412 ? FENCE : {}),
    ...(VERDICTS.has(name) && REJECTING.has(code) ? REJECTED : {}),
  };
}

function problemResponse(status: number, codes: readonly RefusalCode[], place: Place): Schema {
  const isVerdict = VERDICTS.has(place.name) && codes.some((code) => REJECTING.has(code));
  const headers = [
    'X-Request-Id',
    ...(isVerdict ? ['Leasehold-Outcome'] : []),
    ...(status === 503 || (status === 409 && BEHIND_SESSIONS.has(place.name)) ? ['Retry-After'] : []),
    ...(codes.includes('NOT_LEADER') ? ['Leasehold-Leader'] : []),
    ...(status === 401 ? ['WWW-Authenticate'] : []),
  ];
  return {
    description: codes.map((code) => `\`${code}\`: ${REFUSALS[code].says}`).join('\n\n'),
    headers: Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    content: {
      'application/problem+json': {
        schema: { allOf: [schemaRef('Problem'), { properties: { code: { enum: codes } } }] },
        examples: Object.fromEntries(
          codes.map((code) => [code, { value: problemExample(code, status, place) }]),
        ),
      },
    },
  };
}

/** `['OVERLOADED', 'UNAVAILABLE']` → `OverloadedOrUnavailable`. */
function responseName(codes: readonly RefusalCode[]): string {
  const words = codes.map((code) =>
    code.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase()),
  );
  return words.join('Or');
}

function byStatus(name: Operation | PageName): Map<number, RefusalCode[]> {
  const found = new Map<number, RefusalCode[]>();
  for (const code of refusalsOf(name)) {
    const status = refusalStatus(name, code);
    found.set(status, [...(found.get(status) ?? []), code]);
  }
  return found;
}

/** Refusals of every operation are described once, below `#/components/responses`. */
const isShared = (codes: readonly RefusalCode[]): boolean =>
  codes.every((code) => REFUSALS_OF_ALL.includes(code));

/** The path with example values. */
function examplePath(name: Operation | PageName): string {
  const { path } = isOperation(name) ? OPERATIONS[name] : PAGES[name];
  const fields: Readonly<Record<string, unknown>> = isOperation(name)
    ? OPERATIONS[name].example.request
    : { code: 'NO_SUCH_CODE', session_id: 's0000000001n' };
  return path.replaceAll(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(String(fields[field])));
}

export function problemResponses(name: Operation | PageName): Record<string, Schema> {
  const path = examplePath(name);
  return Object.fromEntries(
    [...byStatus(name)].map(([status, codes]) => [
      status,
      isShared(codes)
        ? { $ref: `#/components/responses/${responseName(codes)}` }
        : problemResponse(status, codes, { name, path }),
    ]),
  );
}

export function sharedResponses(): Record<string, Schema> {
  const found: Record<string, Schema> = {};
  for (const name of [...Object.keys(OPERATIONS), ...Object.keys(PAGES)] as (Operation | PageName)[]) {
    for (const [status, codes] of byStatus(name)) {
      if (!isShared(codes)) continue;
      found[responseName(codes)] ??= problemResponse(status, codes, {
        name: 'status.get',
        path: '/v1/status',
      });
    }
  }
  return found;
}

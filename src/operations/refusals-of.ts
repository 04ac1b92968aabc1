/**
 * All refusals of an operation or a page: its own, and those of every request. In the order of the table of refusals, each
 * with the status it has there.
 */
import { REFUSALS, type RefusalCode } from '../core/refusals.ts';
import { PAGES, type PageName } from './pages.ts';
import { isOperation, type Operation, operationOf } from './table.ts';

const ANY_REQUEST: readonly RefusalCode[] = [
  'INVALID_ARGUMENT',
  'FORBIDDEN',
  'REQUEST_TIMEOUT',
  'HEADERS_TOO_LARGE',
  'INTERNAL',
  'UNAVAILABLE',
];
const WITH_TOKEN: readonly RefusalCode[] = ['UNAUTHENTICATED'];
const WITH_BODY: readonly RefusalCode[] = ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'];
/** Reads are queued in the authority too. */
const ANY_OPERATION: readonly RefusalCode[] = ['OVERLOADED', 'NOT_LEADER'];
/** An earlier moment may be gone. */
const ANY_PAST: readonly RefusalCode[] = ['LOG_COMPACTED'];
/** Some changes are refused as soon as the disk is full, all of them when the reserve is used up too. */
const ANY_CHANGE: readonly RefusalCode[] = ['DISK_FULL'];

/** The refusals of every operation, or of every change; the docs list them once. */
export const REFUSALS_OF_ALL: readonly RefusalCode[] = inOrder([
  ...ANY_REQUEST,
  ...WITH_TOKEN,
  ...WITH_BODY,
  ...ANY_OPERATION,
  ...ANY_CHANGE,
]);

export function refusalsOf(name: Operation | PageName): RefusalCode[] {
  const { method, scope, refusals, past } = lineOf(name);
  return inOrder([
    ...refusals,
    ...ANY_REQUEST,
    ...(scope === null ? [] : WITH_TOKEN),
    ...(method === 'GET' ? [] : WITH_BODY),
    ...(isOperation(name) ? ANY_OPERATION : []),
    ...(isOperation(name) && method !== 'GET' ? ANY_CHANGE : []),
    ...(past ? ANY_PAST : []),
  ]);
}

/** A lease that is over is a failed precondition of a write, and a conflict for a renewal. */
export function refusalStatus(name: Operation | PageName, code: RefusalCode): number {
  const isWrite = lineOf(name).refusals.includes('WRITE_UNFENCED');
  return code === 'LEASE_EXPIRED' && isWrite ? 412 : REFUSALS[code].status;
}

interface Line {
  readonly method: string;
  readonly scope: string | null;
  readonly refusals: readonly RefusalCode[];
  readonly past?: true;
}

function lineOf(name: Operation | PageName): Line {
  return isOperation(name) ? operationOf(name) : PAGES[name];
}

function inOrder(codes: readonly RefusalCode[]): RefusalCode[] {
  return (Object.keys(REFUSALS) as RefusalCode[]).filter((code) => codes.includes(code));
}

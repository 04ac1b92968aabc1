/**
 * The errors of leases and runs, by code; each is a `LeaseholdError`. Errors of the database itself are thrown as the
 * driver reports them, or are the `cause` of one of these.
 *
 *   INVALID_ARGUMENT      a name, a holder or a TTL outside its limits; the database was not asked
 *   LEASE_HELD            another holder has the lease: do not run
 *   LEASE_LOST            the lease expired, was granted again to its holder, or could not be renewed in time
 *   COMMAND_NOT_GOVERNED  a command that is not registered, or whose name does not begin with `dot_iu_`
 *   GATE_NOT_FOUND        `dot_config` has no such gate
 *   GATES_NOT_CLOSED      the run could not close its gates; the next run under the lease closes them
 */
import { type ErrorMore, LeaseholdError } from '../protocol/leasehold-error.ts';

export type RuntimeLeaseCode = 'INVALID_ARGUMENT' | 'LEASE_HELD' | 'LEASE_LOST';
export type OperatorRuntimeCode = 'COMMAND_NOT_GOVERNED' | 'GATE_NOT_FOUND' | 'GATES_NOT_CLOSED';

export class RuntimeLeaseError extends LeaseholdError {
  override readonly name: string = 'RuntimeLeaseError';
  declare readonly code: RuntimeLeaseCode;
  /** The holder of the lease, when another one holds it and the row was still there to be read. */
  readonly holder: string | null;

  constructor(
    code: RuntimeLeaseCode,
    message: string,
    more: Pick<ErrorMore, 'cause' | 'details'> & { readonly holder?: string | null } = {},
  ) {
    const { holder = null, ...rest } = more;
    const details = holder === null ? {} : { details: { holder } };
    super(code, message, { retryable: code === 'LEASE_HELD', ...details, ...rest });
    this.holder = holder;
  }
}

export class OperatorRuntimeError extends LeaseholdError {
  override readonly name: string = 'OperatorRuntimeError';
  declare readonly code: OperatorRuntimeCode;
  /** The error of the run itself, when closing its gates failed as well. */
  readonly fault: unknown;

  constructor(
    code: OperatorRuntimeCode,
    message: string,
    more: { readonly cause?: unknown; readonly fault?: unknown } = {},
  ) {
    super(code, message, { cause: more.cause });
    this.fault = more.fault;
  }
}

/** Classes of SQLSTATE that a retry does not change: bad values, wrong names, missing rights, no such database. */
const LASTING = /^(22|28|3D|3F|42)...$/;

/** Whether a retry may succeed: the connection was cut, or the server is restarting. */
export function isTransient(fault: unknown): boolean {
  const { code } = Object(fault) as { readonly code?: unknown };
  return !(typeof code === 'string' && LASTING.test(code));
}

export function isTableMissing(fault: unknown): boolean {
  return (Object(fault) as { readonly code?: unknown }).code === '42P01';
}

/** Serialization failure and deadlock: nothing was done, and the statement may be sent again at once. */
const LOST_RACE = ['40001', '40P01'];

export function isLostRace(fault: unknown): boolean {
  return LOST_RACE.includes(String((Object(fault) as { readonly code?: unknown }).code));
}

/**
 * The errors of leases and runs, by code. An error of the database is thrown as the driver gave it, or is the `cause`
 * of one of these.
 *
 *   INVALID_ARGUMENT      a name, a holder or a TTL outside its limits; the database was not asked
 *   LEASE_HELD            another holder has the lease: do not run
 *   LEASE_LOST            the lease expired, was granted again to its holder, or could not be renewed in time
 *   COMMAND_NOT_GOVERNED  a command that is not registered, or whose name does not begin with `dot_iu_`
 *   GATE_NOT_FOUND        `dot_config` has no such gate
 *   GATES_NOT_CLOSED      the run could not close its gates; the next run under the lease closes them
 */
export type RuntimeLeaseCode = 'INVALID_ARGUMENT' | 'LEASE_HELD' | 'LEASE_LOST';
export type OperatorRuntimeCode = 'COMMAND_NOT_GOVERNED' | 'GATE_NOT_FOUND' | 'GATES_NOT_CLOSED';

export class RuntimeLeaseError extends Error {
  override readonly name = 'RuntimeLeaseError';
  readonly code: RuntimeLeaseCode;
  /** The current holder, when another one has the lease and was still there when asked. */
  readonly holder: string | null;

  constructor(
    code: RuntimeLeaseCode,
    message: string,
    more: { readonly holder?: string | null; readonly cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? {} : { cause: more.cause });
    this.code = code;
    this.holder = more.holder ?? null;
  }
}

export class OperatorRuntimeError extends Error {
  override readonly name = 'OperatorRuntimeError';
  readonly code: OperatorRuntimeCode;
  /** The error of the run itself, when closing its gates failed as well. */
  readonly fault: unknown;

  constructor(
    code: OperatorRuntimeCode,
    message: string,
    more: { readonly cause?: unknown; readonly fault?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? {} : { cause: more.cause });
    this.code = code;
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

/** Checks the operation and the options of a call, in one place for all transports. */
import type { Problem } from '../protocol/problem.ts';
import { OPERATION_ROWS } from './operation-table.ts';
import { isObject } from './reply-text.ts';
import { invalid } from './request-text.ts';
import type { CallOptions, TransportOptions } from './transport.ts';

const KNOWN: readonly string[] = [
  'signal',
  'requestId',
  'isRenewal',
  'isTokenOwn',
] satisfies (keyof TransportOptions)[];

/**
 * The answer to a call whose options are invalid; null when the call may be sent. An unknown option is refused like an
 * unknown field, because its caller relies on it. An option of the wrong type is a bug of the caller and throws.
 */
export function settledByOptions(options: TransportOptions): Promise<Problem> | null {
  if (!isObject(options)) return Promise.resolve(invalid('The options must be an object.'));
  // Own fields only: callers often pass an AbortController itself, which has an inherited `signal`.
  for (const option of Object.keys(options)) {
    if (!KNOWN.includes(option)) return Promise.resolve(invalid(`The option ${option} is unknown.`));
  }
  const { signal, requestId } = options as TransportOptions;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    return Promise.reject(new TypeError('The option signal must be an AbortSignal.'));
  }
  if (requestId !== undefined && (typeof requestId !== 'string' || !/^[!-~]{1,128}$/.test(requestId))) {
    return Promise.reject(new TypeError('The option requestId must be 1 to 128 visible ASCII characters.'));
  }
  return signal?.aborted ? Promise.reject(signal.reason) : null;
}

/** Options that only the handle itself may set: a refusal when a caller sets one, else null. */
export function unknownToCallers(options: CallOptions | undefined): Problem | null {
  if (!isObject(options)) return null;
  const own = ['isRenewal', 'isTokenOwn'].find((name) => name in options);
  return own === undefined ? null : invalid(`The option ${own} is unknown.`);
}

/** The compiler knows the names; a program without it is told as over the wire. */
export function unknownOperation(operation: unknown): Problem | null {
  const isKnown = typeof operation === 'string' && Object.hasOwn(OPERATION_ROWS, operation);
  return isKnown ? null : invalid(`There is no operation ${String(operation)}; docs/http.md lists them all.`);
}

/** The second argument of a call, judged in one place whichever way the call takes. */
import type { Problem } from '../protocol/problem.ts';
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
 * The answer to a call that its options keep from being made; null when it may be made. Like an unknown field, an
 * unknown option is refused: its caller relies on it. One of the wrong kind is a bug of the caller.
 */
export function settledByOptions(options: TransportOptions): Promise<Problem> | null {
  if (!isObject(options)) return Promise.resolve(invalid('The options must be an object.'));
  // Its own fields alone: an AbortController has a signal, and is often given as it is.
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

/** What the handle says itself with a call is unknown to its callers: a refusal then, else null. */
export function unknownToCallers(options: CallOptions | undefined): Problem | null {
  if (!isObject(options)) return null;
  const own = ['isRenewal', 'isTokenOwn'].find((name) => name in options);
  return own === undefined ? null : invalid(`The option ${own} is unknown.`);
}

/** The error of every call on a closed handle, whatever its transport was. */
import type { EntryRecord } from '../operations/records.ts';
import { type Effect, LeaseholdError } from '../protocol/leasehold-error.ts';

/** `effect` is the possible effect of a call that was in flight; a later call has none. */
export function handleClosed(effect: Effect = 'none', cause?: unknown): LeaseholdError {
  return new LeaseholdError('UNAVAILABLE', 'The handle has been closed.', { effect, cause });
}

/** For a caller that starts to follow: an empty stream would look like a log in which nothing happens. */
export function closedEntries(): AsyncIterable<EntryRecord> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(handleClosed()) }) };
}

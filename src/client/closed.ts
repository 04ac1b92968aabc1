/** What a handle says that has been closed, whatever it is asked for and however it had reached its authority. */
import type { EntryRecord } from '../operations/records.ts';
import { type Effect, LeaseholdError } from '../protocol/leasehold-error.ts';

/** `effect` is what may have become of a call that was under way; one that comes later does nothing. */
export function handleClosed(effect: Effect = 'none', cause?: unknown): LeaseholdError {
  return new LeaseholdError('UNAVAILABLE', 'The handle has been closed.', { effect, cause });
}

/** For a caller that begins to follow: ending silently would look like a log in which nothing happens. */
export function closedEntries(): AsyncIterable<EntryRecord> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(handleClosed()) }) };
}

/** Sessions as a process sees them: the operations of the wire, and the life of one session as it happens. */
import type { EntryRecord } from '../operations/records.ts';
import { type Operations, operationsOf, type Run, run } from './operation-methods.ts';
import type { FollowOnly, Transport } from './transport.ts';

export interface SessionFollowOptions {
  /** The first position; without one, that of its intent. */
  readonly from?: number;
  readonly signal?: AbortSignal;
}

/** `start`, `change` and `renew` are for the orchestrator: they need its guard. */
export interface SessionHandle extends Operations<'session'> {
  /** Asks for a session; the same intent again gives the existing one, while that can be shared. */
  readonly request: Run<'intent.accept'>;
  /**
   * What happens to a session, from its intent on as far back as the log reaches; ends with the entry that ends it.
   * Throws SESSION_NOT_FOUND, and SESSION_TERMINAL when there is nothing left to hear.
   */
  follow(sessionId: string, options?: SessionFollowOptions): AsyncIterable<EntryRecord>;
}

/** How the handle follows the log: with an end of its own. */
type Follow = (options: FollowOnly & SessionFollowOptions) => AsyncIterable<EntryRecord>;

const TERMINAL: ReadonlySet<unknown> = new Set(['STOPPED', 'FAILED', 'CANCELLED']);

export function sessionHandle(transport: Transport, follow: Follow): SessionHandle {
  return {
    ...operationsOf(transport, 'session'),
    request: run(transport, 'intent.accept'),
    follow(id, options = {}) {
      // Where that is over HTTP is said here, because a browser loads what the transport knows.
      const path = `/api/v3/sessions/${encodeURIComponent(id)}/events`;
      return untilEnd(follow({ ...options, session: { id, path } }));
    },
  };
}

async function* untilEnd(entries: AsyncIterable<EntryRecord>): AsyncGenerator<EntryRecord, void, undefined> {
  for await (const entry of entries) {
    yield entry;
    if (TERMINAL.has(entry.state)) return;
  }
}

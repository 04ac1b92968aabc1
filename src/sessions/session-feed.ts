/**
 * The log entries about sessions, as they become durable: a stop reaches the orchestrator without polling. After a
 * broken connection the feed continues after its last entry. Entries that were compacted away meanwhile are covered
 * by the next renewal.
 */

import { sleep } from '../client/sleep.ts';
import type { EntryOf } from '../protocol/entry-shapes.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { SessionState } from './session-run.ts';
import type { OrchestratorWorld } from './world.ts';

export interface FeedEvents {
  changed(sessionId: string, state: SessionState): void;
  /** A named lease was ended early by another client. */
  broken(name: string): void;
}

const AGAIN_MS = 500;

/** Runs until the signal aborts. */
export async function followSessions(
  { client, timers, say }: OrchestratorWorld,
  fromSeq: number,
  signal: AbortSignal,
  events: FeedEvents,
): Promise<void> {
  let from: number | undefined = fromSeq;
  while (!signal.aborted) {
    try {
      const types = ['SessionChanged', 'NameBroken'] as const;
      for await (const entry of client.follow({ types, signal, ...(from === undefined ? {} : { from }) })) {
        from = entry.seq + 1;
        dispatch(entry, events);
      }
    } catch (fault) {
      if (signal.aborted) return;
      if (!(fault instanceof LeaseholdError)) throw fault;
      say('warn', 'following the log failed', { code: fault.code, message: fault.message });
      if (fault.code === 'LOG_COMPACTED') from = undefined;
    }
    if (!signal.aborted) await sleep(timers, AGAIN_MS);
  }
}

function dispatch(entry: EntryOf<'SessionChanged' | 'NameBroken'>, { changed, broken }: FeedEvents): void {
  if (entry.type === 'SessionChanged') changed(entry.sessionId, entry.state);
  else broken(entry.name);
}

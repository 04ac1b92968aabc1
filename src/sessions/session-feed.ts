/**
 * What the authority writes down about sessions, as it becomes durable: this is how a stop reaches the orchestrator
 * without anybody having to ask. A feed that breaks goes on behind the last entry it gave; what it might miss when the
 * log no longer reaches back comes with the next renewal.
 */
import { LeaseholdError } from '../client/error.ts';
import { pause } from '../client/pause.ts';
import type { EntryOf } from '../protocol/entry-shapes.ts';
import type { SessionState } from './session-run.ts';
import type { OrchestratorWorld } from './world.ts';

export interface FeedEvents {
  changed(sessionId: string, state: SessionState): void;
  /** Somebody ended a named lease before its time. */
  broken(name: string): void;
}

const AGAIN_MS = 500;

/** Until the signal aborts. */
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
        tell(entry, events);
      }
    } catch (fault) {
      if (signal.aborted) return;
      if (!(fault instanceof LeaseholdError)) throw fault;
      say('warn', 'the log cannot be followed', { code: fault.code, message: fault.message });
      if (fault.code === 'LOG_COMPACTED') from = undefined;
    }
    if (!signal.aborted) await pause(timers, AGAIN_MS);
  }
}

function tell(entry: EntryOf<'SessionChanged' | 'NameBroken'>, { changed, broken }: FeedEvents): void {
  if (entry.type === 'SessionChanged') changed(entry.sessionId, entry.state);
  else broken(entry.name);
}

/**
 * The last heartbeat of each session. Soft state: it starts empty and is not in the log, so after a restart no session
 * counts as idle for longer than the server has been up.
 */
import type { SessionView } from '../../core/answers.ts';

/** Far more than ever run at a time. Beyond it the session that was idle longest is evicted, most likely an ended one. */
const SESSIONS_MAX = 100_000;

export class SessionBeats {
  /** Newest last. */
  private readonly heardMs = new Map<string, number>();

  note(sessionId: string, nowMs: number): void {
    this.heardMs.delete(sessionId);
    this.heardMs.set(sessionId, nowMs);
    if (this.heardMs.size > SESSIONS_MAX) this.heardMs.delete(this.heardMs.keys().next().value!);
  }

  /** Null when there was no heartbeat since this server started. */
  lastMs(sessionId: string): number | null {
    return this.heardMs.get(sessionId) ?? null;
  }

  /** The time since the newest of: the heartbeat, the creation of the session, the start of the server. */
  idleMs({ sessionId, createdAtMs }: SessionView, nowMs: number, startedAtMs: number): number {
    return Math.max(0, nowMs - Math.max(this.lastMs(sessionId) ?? 0, createdAtMs, startedAtMs));
  }
}

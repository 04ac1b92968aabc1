/**
 * When a client last said that a session is still watched. Soft state: it starts empty and is not in the log, so
 * after a restart no client counts as silent for longer than the server has been up.
 */
import type { SessionView } from '../../core/answers.ts';

/** Far more than ever run at a time. Beyond it the one that was silent longest is dropped, most likely an ended one. */
const SESSIONS_MAX = 100_000;

export class SessionBeats {
  /** The newest at the end. */
  private readonly heardMs = new Map<string, number>();

  note(sessionId: string, nowMs: number): void {
    this.heardMs.delete(sessionId);
    this.heardMs.set(sessionId, nowMs);
    if (this.heardMs.size > SESSIONS_MAX) this.heardMs.delete(this.heardMs.keys().next().value!);
  }

  /** Null when no heartbeat came since this server began. */
  lastMs(sessionId: string): number | null {
    return this.heardMs.get(sessionId) ?? null;
  }

  /** For how long no client has asked for the session, sent a heartbeat, or been able to. */
  idleMs({ sessionId, createdAtMs }: SessionView, nowMs: number, startedAtMs: number): number {
    return Math.max(0, nowMs - Math.max(this.lastMs(sessionId) ?? 0, createdAtMs, startedAtMs));
  }
}

/**
 * The worker registry of seed 002: who was heard of lately. Soft state; it starts empty, decides nothing,
 * and forgets whoever has been silent for ten minutes.
 */
const SILENT_MS = 10 * 60_000;
const WORKERS_MAX = 100_000;

export interface WorkerRecord {
  readonly workerId: string;
  readonly lastHeartbeatMs: number;
  readonly activeLeases: number;
}

interface Seen {
  lastHeartbeatMs: number;
  activeLeases: number;
}

export class Workers {
  private readonly seen = new Map<string, Seen>();

  /** `activeLeases` is what the worker itself says it has; null leaves it as it was. */
  heard(workerId: string, nowMs: number, activeLeases: number | null): void {
    const known = this.seen.get(workerId);
    if (known !== undefined) {
      known.lastHeartbeatMs = nowMs;
      if (activeLeases !== null) known.activeLeases = activeLeases;
      return;
    }
    if (this.seen.size >= WORKERS_MAX) this.prune(nowMs);
    if (this.seen.size >= WORKERS_MAX) return;
    this.seen.set(workerId, { lastHeartbeatMs: nowMs, activeLeases: activeLeases ?? 0 });
  }

  list(nowMs: number): WorkerRecord[] {
    this.prune(nowMs);
    return [...this.seen].map(([workerId, worker]) => ({ workerId, ...worker }));
  }

  private prune(nowMs: number): void {
    for (const [workerId, { lastHeartbeatMs }] of this.seen) {
      if (lastHeartbeatMs + SILENT_MS <= nowMs) this.seen.delete(workerId);
    }
  }
}

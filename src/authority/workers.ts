/**
 * The worker registry of seed 002: who was heard of lately. Soft state; it starts empty, decides nothing,
 * and forgets whoever has been silent for ten minutes.
 */
const SILENT_MS = 10 * 60_000;
const WORKERS_MAX = 100_000;

export interface SeenWorker {
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

  /** A heartbeat: `activeLeases` is how many of the leases it named it still has. */
  heard(workerId: string, nowMs: number, activeLeases: number): void {
    const worker = this.seenAt(workerId, nowMs);
    if (worker !== null) worker.activeLeases = activeLeases;
  }

  /** It was given more; how many of the earlier ones it still has, the next heartbeat tells. */
  leased(workerId: string, nowMs: number, granted: number): void {
    const worker = this.seenAt(workerId, nowMs);
    if (worker !== null) worker.activeLeases += granted;
  }

  private seenAt(workerId: string, nowMs: number): Seen | null {
    let worker = this.seen.get(workerId);
    if (worker === undefined) {
      if (this.seen.size >= WORKERS_MAX) this.prune(nowMs);
      if (this.seen.size >= WORKERS_MAX) return null;
      worker = { lastHeartbeatMs: nowMs, activeLeases: 0 };
      this.seen.set(workerId, worker);
    }
    worker.lastHeartbeatMs = nowMs;
    return worker;
  }

  list(nowMs: number): SeenWorker[] {
    this.prune(nowMs);
    return [...this.seen].map(([workerId, worker]) => ({ workerId, ...worker }));
  }

  private prune(nowMs: number): void {
    for (const [workerId, { lastHeartbeatMs }] of this.seen) {
      if (lastHeartbeatMs + SILENT_MS <= nowMs) this.seen.delete(workerId);
    }
  }
}

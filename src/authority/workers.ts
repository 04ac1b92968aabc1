/**
 * The worker registry of seed 002: who was heard of lately, be it by a heartbeat or by asking for tasks. Soft
 * state; it starts empty, decides nothing, and forgets whoever has been silent for ten minutes. How many leases a
 * worker has is not kept here: the state knows.
 */
const SILENT_MS = 10 * 60_000;
const WORKERS_MAX = 100_000;

export interface SeenWorker {
  readonly workerId: string;
  readonly lastHeartbeatMs: number;
  readonly activeLeases: number;
}

export class Workers {
  /** When each was last heard of, the newest at the end. */
  private readonly seen = new Map<string, number>();

  /** Who was silent longest makes room: looking for those to forget at every call would cost more than the call. */
  heard(workerId: string, nowMs: number): void {
    this.seen.delete(workerId);
    this.seen.set(workerId, nowMs);
    if (this.seen.size > WORKERS_MAX) this.seen.delete(this.seen.keys().next().value!);
  }

  list(nowMs: number, leases: ReadonlyMap<string, number>): SeenWorker[] {
    this.prune(nowMs);
    return [...this.seen].map(([workerId, lastHeartbeatMs]) => ({
      workerId,
      lastHeartbeatMs,
      activeLeases: leases.get(workerId) ?? 0,
    }));
  }

  private prune(nowMs: number): void {
    for (const [workerId, lastMs] of this.seen) {
      if (lastMs + SILENT_MS > nowMs) return;
      this.seen.delete(workerId);
    }
  }
}

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

interface Heard {
  lastMs: number;
  /** When it went to the end of the line. */
  readonly placedMs: number;
}

/** Who is heard of again within this time keeps its place: to move it at every call would cost more than the call. */
const PLACE_MS = 1_000;

export class Workers {
  /** When each was last heard of; those who were silent longest stand first. */
  private readonly seen = new Map<string, Heard>();

  heard(workerId: string, nowMs: number): void {
    const heard = this.seen.get(workerId);
    if (heard !== undefined && nowMs - heard.placedMs < PLACE_MS) {
      heard.lastMs = nowMs;
      return;
    }
    if (heard !== undefined) this.seen.delete(workerId);
    this.seen.set(workerId, { lastMs: nowMs, placedMs: nowMs });
    // Who was silent longest makes room; looking for all to forget would cost more than the call, too.
    if (this.seen.size > WORKERS_MAX) this.seen.delete(this.seen.keys().next().value!);
  }

  list(nowMs: number, leases: ReadonlyMap<string, number>): SeenWorker[] {
    this.prune(nowMs);
    return [...this.seen].map(([workerId, { lastMs }]) => ({
      workerId,
      lastHeartbeatMs: lastMs,
      activeLeases: leases.get(workerId) ?? 0,
    }));
  }

  private prune(nowMs: number): void {
    for (const [workerId, { lastMs, placedMs }] of this.seen) {
      if (placedMs + SILENT_MS > nowMs) return;
      if (lastMs + SILENT_MS <= nowMs) this.seen.delete(workerId);
    }
  }
}

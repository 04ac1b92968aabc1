/**
 * The worker registry of seed 002: who was heard of lately, be it by a heartbeat or by asking for tasks. Soft
 * state; it starts empty, decides nothing, and forgets whoever has been silent for ten minutes. How many leases a
 * worker has is not kept here: the state knows.
 */
const SILENT_MS = 10 * 60_000;
const WORKERS_MAX = 100_000;
const NO_QUEUES: readonly string[] = [];

export interface SeenWorker {
  readonly workerId: string;
  readonly lastHeartbeatMs: number;
  readonly activeLeases: number;
  /** The queues it last asked for tasks; empty when it has not asked yet. */
  readonly queues: readonly string[];
}

/** A worker that asks a queue for tasks. */
export interface Poller {
  readonly workerId: string;
  readonly polledMs: number;
}

interface Heard {
  lastMs: number;
  /** When it last asked for tasks, and which queues; 0 when it has not asked yet. */
  polledMs: number;
  queues: readonly string[];
  /** When it went to the end of the line. */
  readonly placedMs: number;
}

/** Who is heard of again within this time keeps its place: to move it at every call would cost more than the call. */
const PLACE_MS = 1_000;

export class Workers {
  /** When each was last heard of; those who were silent longest stand first. */
  private readonly seen = new Map<string, Heard>();

  /** `queues`: those it asks for tasks; null for a heartbeat. */
  heard(workerId: string, nowMs: number, queues: readonly string[] | null = null): void {
    let heard = this.seen.get(workerId);
    if (heard === undefined || nowMs - heard.placedMs >= PLACE_MS) {
      const { polledMs = 0, queues: before = NO_QUEUES } = heard ?? {};
      if (heard !== undefined) this.seen.delete(workerId);
      heard = { lastMs: nowMs, placedMs: nowMs, polledMs, queues: before };
      this.seen.set(workerId, heard);
    }
    heard.lastMs = nowMs;
    if (queues !== null) {
      heard.polledMs = nowMs;
      heard.queues = queues;
    }
    // Who was silent longest makes room; looking for all to forget would cost more than the call, too.
    if (this.seen.size > WORKERS_MAX) this.seen.delete(this.seen.keys().next().value!);
  }

  list(nowMs: number, leases: ReadonlyMap<string, number>): SeenWorker[] {
    this.prune(nowMs);
    return [...this.seen].map(([workerId, { lastMs, queues }]) => ({
      workerId,
      lastHeartbeatMs: lastMs,
      activeLeases: leases.get(workerId) ?? 0,
      queues,
    }));
  }

  /** The workers that asked a queue for tasks in the last ten minutes, those that asked last first. */
  pollersOf(queue: string, nowMs: number): Poller[] {
    this.prune(nowMs);
    const pollers: Poller[] = [];
    for (const [workerId, { queues, polledMs }] of this.seen) {
      if (queues.includes(queue) && polledMs + SILENT_MS > nowMs) pollers.push({ workerId, polledMs });
    }
    return pollers.sort((a, b) => b.polledMs - a.polledMs);
  }

  private prune(nowMs: number): void {
    for (const [workerId, { lastMs, placedMs }] of this.seen) {
      if (placedMs + SILENT_MS > nowMs) return;
      if (lastMs + SILENT_MS <= nowMs) this.seen.delete(workerId);
    }
  }
}

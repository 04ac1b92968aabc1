/**
 * The worker registry of seed 002: workers that recently sent a heartbeat or asked for tasks. Soft
 * state; it starts empty, decides nothing, and forgets workers that were silent for ten minutes. The number of leases of a
 * worker is not kept here: the state has it.
 */
export const SILENT_MS = 10 * 60_000;
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

/** The workers that ask a queue for tasks. */
export interface QueuePollers {
  readonly workers: number;
  /** When the last of them asked. */
  readonly polledMs: number;
}

interface Contact {
  lastMs: number;
  /** When it last asked for tasks, and which queues; 0 when it has not asked yet. */
  polledMs: number;
  queues: readonly string[];
  /** When it was last moved to the end of the map. */
  readonly placedMs: number;
}

/** A worker that calls again within this time keeps its place in the map: moving it at every call would cost more than the call. */
const PLACE_MS = 1_000;

export class Workers {
  /** The newest contact of each worker, longest silent first. */
  private readonly seen = new Map<string, Contact>();

  /** `queues`: those it asks for tasks; null for a heartbeat. */
  note(workerId: string, nowMs: number, queues: readonly string[] | null = null): void {
    let contact = this.seen.get(workerId);
    if (contact === undefined || nowMs - contact.placedMs >= PLACE_MS) {
      const { polledMs = 0, queues: before = NO_QUEUES } = contact ?? {};
      if (contact !== undefined) this.seen.delete(workerId);
      contact = { lastMs: nowMs, placedMs: nowMs, polledMs, queues: before };
      this.seen.set(workerId, contact);
    }
    contact.lastMs = nowMs;
    if (queues !== null) {
      contact.polledMs = nowMs;
      contact.queues = queues;
    }
    // Evicts only the worker that was silent longest: a search for all expired ones would cost more than the call.
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

  /** How many workers asked each queue for tasks in the last ten minutes, and when the last of them did. */
  byQueue(nowMs: number): Map<string, QueuePollers> {
    this.prune(nowMs);
    const found = new Map<string, QueuePollers>();
    for (const { queues, polledMs } of this.seen.values()) {
      if (polledMs + SILENT_MS <= nowMs) continue;
      for (const queue of queues) {
        const { workers = 0, polledMs: before = 0 } = found.get(queue) ?? {};
        found.set(queue, { workers: workers + 1, polledMs: Math.max(before, polledMs) });
      }
    }
    return found;
  }

  private prune(nowMs: number): void {
    for (const [workerId, { lastMs, placedMs }] of this.seen) {
      if (placedMs + SILENT_MS > nowMs) return;
      if (lastMs + SILENT_MS <= nowMs) this.seen.delete(workerId);
    }
  }
}

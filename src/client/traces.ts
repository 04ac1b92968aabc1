/**
 * What the client tells a tracing system: tasks that are sent, tasks that are handled, leases that are held. The client
 * works without one. On Node `src/world/open-telemetry.ts` has the real one, if the program has OpenTelemetry.
 */
import type { TraceContext } from './task-request.ts';

export interface Traces {
  /** Runs `send` in a span of a producer, with the context that goes along with the task. */
  sending<T>(
    task: { readonly queue: string; readonly taskId?: string | undefined },
    send: (trace: TraceContext | undefined) => Promise<T>,
  ): Promise<T>;
  /** Runs `handle` in a span of a consumer: a child of the sender's at the first attempt, linked to it later. */
  handling<End extends { readonly verb: string; readonly error?: unknown }>(
    task: HandledTask,
    handle: () => Promise<End>,
  ): Promise<End>;
  /** Begins the span of a lease that was granted. */
  holding(lease: { readonly names: readonly string[]; readonly leaseSeq: number }): LeaseSpan;
}

export interface HandledTask {
  readonly task_id: string;
  readonly queue: string;
  readonly attempt: number;
  readonly lease_seq: number;
  readonly trace?: TraceContext | undefined;
}

export interface LeaseSpan {
  /** Runs what is done under the lease as a part of its span. */
  run<T>(work: () => T): T;
  /** How the lease ended; `released` is no loss. */
  end(loss: string): void;
}

/**
 * The tracing hooks of the client: tasks sent, tasks handled, leases held. Optional. On Node
 * `src/world/open-telemetry.ts` implements them if the program has OpenTelemetry.
 */
import type { TraceContext } from './task-request.ts';

export interface Traces {
  /** Runs `send` in a producer span, with the context to send with the task. */
  sending<T>(
    task: { readonly queue: string; readonly taskId?: string | undefined },
    send: (trace: TraceContext | undefined) => Promise<T>,
  ): Promise<T>;
  /** Runs `handle` in a consumer span: on the first attempt a child of the producer span, later linked to it. */
  handling<End extends { readonly verb: string; readonly error?: unknown }>(
    task: HandledTask,
    handle: () => Promise<End>,
  ): Promise<End>;
  /** Begins the span of a granted lease. */
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
  /** Runs work under the lease within its span. */
  run<T>(work: () => T): T;
  /** Ends the span; `released` is not a loss. */
  end(loss: string): void;
}

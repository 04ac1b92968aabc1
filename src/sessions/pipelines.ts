/**
 * Pipelines, as the orchestrator sees them: a seam. Each is one program. It ends by itself, when told to, or when its
 * deadline passes without having been extended; it never outlives the deadline, whatever happens to the orchestrator.
 * `kept-pipelines.ts` has the real ones, each under a keeper; a simulation has its own.
 */
import type { Limits } from '../keeper/keeper.ts';

export interface PipelinePlan {
  readonly sessionId: string;
  readonly command: readonly string[];
  /** Added to the environment of the orchestrator. */
  readonly env: Readonly<Record<string, string>>;
  /** The part of `env` that no other pipeline has: it identifies its processes. */
  readonly mark: Readonly<Record<string, string>>;
  /** A regular expression for the output line that means ready; null: ready as soon as it runs. */
  readonly ready: string | null;
  readonly limits: Limits;
}

export interface PipelineEvents {
  running(pid: number): void;
  /** At most once, after `running`. */
  ready(): void;
  /** Exactly once, as the last event: no process of it is left. */
  ended(end: PipelineEnd): void;
  /** A problem for the operator of the machine. */
  warned(says: string): void;
}

export type PipelineEnd =
  | { readonly is: 'not-started'; readonly says: string }
  /** By its own code or a signal. `isKept`: its keeper ended it, on request or at its deadline. */
  | {
      readonly is: 'ended';
      readonly code: number | null;
      readonly signal: string | null;
      readonly isKept: boolean;
    };

export interface Pipeline {
  limit(limits: Limits): void;
  /** SIGTERM now, SIGKILL after the grace. A second call can only make it earlier. */
  stop(graceMs: number): void;
}

export interface Pipelines {
  start(plan: PipelinePlan, events: PipelineEvents): Pipeline;
}

/** How it ended, for people: `exit code 1`, `SIGKILL`. */
export function endText(end: PipelineEnd): string {
  if (end.is === 'not-started') return end.says;
  return end.signal ?? `exit code ${end.code ?? 'unknown'}`;
}

/**
 * Pipelines, as the orchestrator sees them: a seam. Each is one program, which ends by itself, when it is told to, or
 * when its limits have come without having been moved on; whatever happens to the orchestrator, it never outlives
 * them. `kept-pipelines.ts` has the real ones, each under a keeper; a simulation brings its own.
 */
import type { Limits } from '../keeper/keeper.ts';

export interface PipelinePlan {
  readonly sessionId: string;
  readonly command: readonly string[];
  /** On top of the environment of the orchestrator. */
  readonly env: Readonly<Record<string, string>>;
  /** The part of it that no other pipeline has: what its processes are known by. */
  readonly mark: Readonly<Record<string, string>>;
  /** A regular expression that says of a line of the output that it is ready; null: it is once it runs. */
  readonly ready: string | null;
  readonly limits: Limits;
}

export interface PipelineEvents {
  running(pid: number): void;
  /** At most once, after `running`. */
  ready(): void;
  /** Exactly once, and nothing after it: nothing of it is left. */
  ended(end: PipelineEnd): void;
  /** Something that whoever looks after the machine may want to know. */
  warned(says: string): void;
}

export type PipelineEnd =
  | { readonly is: 'not-started'; readonly says: string }
  /** By its own code or a signal. `isKept`: its keeper ended it, because it was told to or its time was up. */
  | {
      readonly is: 'ended';
      readonly code: number | null;
      readonly signal: string | null;
      readonly isKept: boolean;
    };

export interface Pipeline {
  limit(limits: Limits): void;
  /** SIGTERM now, SIGKILL after the grace; again, it can only come sooner. */
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

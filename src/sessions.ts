/**
 * leasehold/sessions: the orchestrator of sessions on scarce slots, in a process of your own. `leasehold orchestrate` is
 * this and a command line around it.
 */
import type { Leasehold } from './client/leasehold.ts';
import type { OrchestratorConfig } from './sessions/config.ts';
import { KeptPipelines } from './sessions/kept-pipelines.ts';
import { Orchestrator, type Outcome } from './sessions/orchestrator.ts';
import type { Timing } from './sessions/timing.ts';
import type { OrchestratorWorld } from './sessions/world.ts';
import { machineClock } from './world/machine-clock.ts';
import { nodeLogFiles } from './world/node-log-files.ts';
import { nodeProcessTable } from './world/node-process-table.ts';
import { nodeProcesses } from './world/node-processes.ts';
import { systemTimers } from './world/system-clock.ts';
import { systemIds } from './world/system-ids.ts';

export interface OrchestratorOptions {
  readonly config: OrchestratorConfig;
  readonly timing: Timing;
  /** The directory for the output of pipelines; it must exist. */
  readonly logDir: string;
  /** The environment of pipelines, besides what each is given. That of this process by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Told of every meaningful event. */
  readonly say?: OrchestratorWorld['say'];
}

export interface RunningOrchestrator {
  /** Resolves when it has ended, with the exit code it would have as a process: 0 asked, 3 not started, 4 guard lost. */
  readonly done: Promise<Outcome>;
  /** Asks it to end its sessions, give back the guard and end. */
  shutdown(): void;
}

/**
 * Starts the orchestrator. The client must try each call once (`connect(url, { retry: { tries: 1 } })`): an orchestrator may
 * continue only while it is answered. A process whose orchestrator ended with 4 must exit at once.
 */
export function startOrchestrator(client: Leasehold, options: OrchestratorOptions): RunningOrchestrator {
  const { config, timing, logDir, env = process.env, say = () => undefined } = options;
  const world = { clock: machineClock, timers: systemTimers, processTable: nodeProcessTable };
  const kept = { ...world, processes: nodeProcesses, files: nodeLogFiles, env };
  const orchestrator = new Orchestrator(
    { ...world, newToken: systemIds.token, client, pipelines: new KeptPipelines(kept, logDir), say },
    { config, timing },
  );
  return { done: orchestrator.run(), shutdown: () => orchestrator.shutdown() };
}

export { ConfigError, type OrchestratorConfig, type PipelineProfile, readConfig } from './sessions/config.ts';
export type { Outcome } from './sessions/orchestrator.ts';
export { type Timing, wrongTiming } from './sessions/timing.ts';

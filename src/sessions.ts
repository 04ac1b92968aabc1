/**
 * leasehold/sessions: the orchestrator of sessions on scarce slots, in your own process. `leasehold orchestrate`
 * wraps it in a command line.
 */
import type { Leasehold } from './client/leasehold.ts';
import type { OrchestratorConfig } from './sessions/config.ts';
import { KeptPipelines } from './sessions/kept-pipelines.ts';
import { Orchestrator, type Outcome } from './sessions/orchestrator.ts';
import type { Timing } from './sessions/timing.ts';
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
  /** The environment of pipelines, besides their own variables. That of this process by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Receives every significant event. */
  readonly say?: (
    level: 'info' | 'warn' | 'error',
    event: string,
    fields?: Readonly<Record<string, unknown>>,
  ) => void;
}

export interface RunningOrchestrator {
  /** Resolves when it has ended, with its exit code: 0 on request, 3 not started, 4 guard lost. */
  readonly done: Promise<Outcome>;
  /** Requests a graceful shutdown: it ends its sessions, releases the guard and ends. */
  shutdown(): void;
}

/**
 * Starts the orchestrator. The client must not retry (`connect(url, { retry: { tries: 1 } })`): an orchestrator may
 * continue only while its calls are answered. A process whose orchestrator ended with 4 must exit at once.
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

export {
  ConfigError,
  type ConfigFile,
  type OrchestratorConfig,
  type PipelineProfile,
  readConfig,
} from './sessions/config.ts';
export type { Outcome } from './sessions/orchestrator.ts';
export { type Timing, wrongTiming } from './sessions/timing.ts';

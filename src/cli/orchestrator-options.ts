/** The common options of `orchestrate` and `up`, and the plan that follows from them. */
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { ConfigError, literal, type OrchestratorConfig, readConfig } from '../sessions/config.ts';
import { type Timing, wrongTiming } from '../sessions/timing.ts';
import { nodeLogFiles } from '../world/node-log-files.ts';
import { defaulted, directory, durationMs } from './arguments.ts';
import { wrongUsage } from './failure.ts';
import type { Shell } from './shell.ts';

export interface OrchestratorFlags {
  readonly config?: string;
  readonly guardTtl: number;
  readonly heartbeat: number;
  readonly leaseTtl?: number;
  readonly grace: number;
  readonly logDir?: string;
}

const LEASE_TTL_MS = 30_000;

/** In the environment of an orchestrator that belongs to another process: the pid of that one. */
export const PARENT = 'LEASEHOLD_PARENT';

/** Built, this file and the other one end in .js; run from source, on a Node that can, both end in .ts. */
const DEMO = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './demo-pipeline.ts' : './demo-pipeline.js', import.meta.url),
);

export function withOrchestratorOptions(command: Command, logDir: string): Command {
  return command
    .option('--config <file>', 'slots and profiles (JSON; without it slots 0 to 3 and the profile demo)')
    .addOption(
      defaulted(
        '--guard-ttl <duration>',
        'how long the guard lasts without renewal',
        durationMs,
        15_000,
        '15s',
      ),
    )
    .addOption(
      defaulted(
        '--heartbeat <duration>',
        'how often the guard and all leases are renewed',
        durationMs,
        5_000,
        '5s',
      ),
    )
    .option(
      '--lease-ttl <duration>',
      'how long the leases of a session last without renewal (default 30s, or three heartbeats)',
      durationMs,
    )
    .addOption(
      defaulted(
        '--grace <duration>',
        'the time between SIGTERM and SIGKILL for a pipeline',
        durationMs,
        5_000,
        '5s',
      ),
    )
    .option('--log-dir <dir>', `where the output of pipelines goes (default ${logDir})`, directory);
}

export interface OrchestratorPlan {
  readonly config: OrchestratorConfig;
  readonly timing: Timing;
}

/** A fault in the plan is a usage error; nothing has been changed yet. */
export async function planOf(shell: Shell, flags: OrchestratorFlags): Promise<OrchestratorPlan> {
  const timing = {
    guardTtlMs: flags.guardTtl,
    heartbeatMs: flags.heartbeat,
    leaseTtlMs: flags.leaseTtl ?? Math.max(LEASE_TTL_MS, 3 * flags.heartbeat),
    graceMs: flags.grace,
  };
  const wrong = wrongTiming(timing);
  if (wrong !== null) throw wrongUsage(wrong);
  return { config: flags.config === undefined ? demoConfig() : await readFile(shell, flags.config), timing };
}

/** Creates it before anything is started: an orchestrator that cannot write there would end at once. */
export async function makeLogDirectory(dir: string): Promise<void> {
  try {
    await nodeLogFiles.makeDirectory(dir);
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException;
    if (code === undefined) throw fault;
    const why = code === 'EEXIST' || code === 'ENOTDIR' ? 'a file is in the way' : code;
    throw wrongUsage(`The output of pipelines cannot be written to ${dir} (--log-dir): ${why}.`);
  }
}

async function readFile({ files }: Shell, path: string): Promise<OrchestratorConfig> {
  let text: string;
  try {
    text = await files.read(path);
  } catch (fault) {
    throw wrongUsage(`${path} cannot be read: ${(fault as Error).message}`);
  }
  try {
    return readConfig(text);
  } catch (fault) {
    if (!(fault instanceof ConfigError)) throw fault;
    throw wrongUsage(`${path}: ${fault.message}`);
  }
}

function demoConfig(): OrchestratorConfig {
  const command = [process.execPath, literal(DEMO), '{serviceRef}{recordingID}'];
  return { slots: ['0', '1', '2', '3'], profiles: { demo: { command, ready: { stdout: '^ready' } } } };
}

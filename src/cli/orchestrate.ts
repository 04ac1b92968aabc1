/** `leasehold orchestrate`: the one process that runs the pipelines of sessions. When it loses its guard, it ends at once. */
import type { Command } from 'commander';
import type { OrchestratorWorld } from '../sessions/world.ts';
import { startOrchestrator } from '../sessions.ts';
import { examples, probeCommand, type ServerOptions, serverOf } from './connection.ts';
import { lastLine } from './ending.ts';
import { onEndingSignals } from './ending-signals.ts';
import { tellEvent, tellEventAsJson } from './event-lines.ts';
import { EXIT, Failure } from './failure.ts';
import {
  makeLogDirectory,
  type OrchestratorFlags,
  PARENT,
  planOf,
  withOrchestratorOptions,
} from './orchestrator-options.ts';
import type { Shell } from './shell.ts';

const DEFAULT_LOG_DIR = './leasehold-sessions';
const PARENT_LOOK_MS = 250;

type OrchestrateOptions = ServerOptions & OrchestratorFlags;

export function orchestrateCommand(shell: Shell): Command {
  return withOrchestratorOptions(
    probeCommand('orchestrate').description(
      'Run the pipelines of sessions. Only one orchestrator runs at a time.',
    ),
    DEFAULT_LOG_DIR,
  )
    .addHelpText(
      'after',
      `${examples(
        'leasehold orchestrate',
        'leasehold orchestrate --config slots.json --log-dir /var/log/leasehold',
      )}

The configuration:
  {"slots": ["gpu-0", "gpu-1"], "profiles": {"train": {"command": ["./train", "{serviceRef}", "{slot}"],
   "ready": {"stdout": "regular expression"}}}, "session_idle_ms": 60000}

Placeholders in arguments: {serviceRef} {recordingID} {start_ms} {slot} {session_id}. A pipeline finds in its
environment LEASEHOLD_SESSION_ID, LEASEHOLD_SLOT and LEASEHOLD_LEASE_SEQ. The token needs the scope *.

Exit codes: 0 it was asked to end and every pipeline has ended; 2 wrong usage, nothing was touched; 3 the token lacks
the scope *, another orchestrator holds the guard or the start failed, nothing was started; 4 the guard was lost and every
pipeline was stopped, or it was asked to end and a pipeline could not be killed.`,
    )
    .action((options: OrchestrateOptions) => run(shell, options));
}

async function run(shell: Shell, options: OrchestrateOptions): Promise<void> {
  const plan = await planOf(shell, options);
  const server = serverOf(shell, { ...options, isLive: true });
  const logDir = options.logDir ?? DEFAULT_LOG_DIR;
  await makeLogDirectory(logDir);
  // An orchestrator may continue only while the server answers, so it must see the first failure.
  const client = await shell.connect(server, { forMs: 0 });
  const say = sayer(shell, options.json ?? false);
  const orchestrator = startOrchestrator(client, { ...plan, logDir, env: shell.env, say });
  onEndingSignals(shell, options, { asked: () => orchestrator.shutdown() });
  const unwatch = watchParent(shell, () => orchestrator.shutdown());
  const { code, says } = await orchestrator.done;
  unwatch();
  if (code !== EXIT.done) leave(shell, options, code, says ?? '');
  // All work is done. A server that does not answer must not keep the client from closing.
  shell.endWhenDone();
}

/** An orchestrator that `up` started ends with it: left behind, it would keep the guard from the next one. */
function watchParent({ env, timers }: Shell, gone: () => void): () => void {
  const parent = Number(env[PARENT] ?? 0);
  if (parent === 0) return () => undefined;
  const look = (): void => {
    if (process.ppid === parent) timer = timers.after(PARENT_LOOK_MS, look);
    else gone();
  };
  let timer = timers.after(PARENT_LOOK_MS, look);
  return () => timer.cancel();
}

/** Ends the process at once, whatever is still open: keepers end their pipelines when it is gone. */
function leave({ ending }: Shell, options: OrchestrateOptions, exitCode: number, sentence: string): void {
  const code = exitCode === EXIT.guardLost ? 'GUARD_LOST' : 'NOT_STARTED';
  ending?.endProcess(exitCode, lastLine(options, { exitCode, code, sentence }));
  throw new Failure(sentence, exitCode, code);
}

/** Startup steps that `up` does not print: the event after them says that the orchestrator runs. */
const STEPS: readonly string[] = ['the guard is held', 'leases of earlier sessions are wiped'];

/** One line per event on stderr, as text or JSON. */
function sayer(shell: Shell, isJson: boolean): OrchestratorWorld['say'] {
  if (isJson) return (...event) => tellEventAsJson(shell, ...event);
  const isPartOfUp = shell.env[PARENT] !== undefined;
  return (level, event, fields) => {
    if (!(isPartOfUp && STEPS.includes(event))) tellEvent(shell, level, event, fields);
  };
}

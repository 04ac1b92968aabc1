/** `open(dir)`: runs the authority of a data directory in this process. */
import type { Authority } from './authority/authority.ts';
import { openAuthority } from './authority/open-authority.ts';
import { type Duration, durationMs } from './client/durations.ts';
import { Leasehold } from './client/leasehold.ts';
import type { ClientWorld } from './client/world.ts';
import { type Retention, type RetentionFigures, retentionFrom } from './core/retention.ts';
import { fileEngine } from './engines/file/file-engine.ts';
import { HISTORY_BYTES_MAX, type HistoryLimits } from './engines/file/kept-history.ts';
import type { Engine } from './engines/log.ts';
import { type CheckedCalls, changeSends, checkedCalls, openCalls, type Sends } from './operations/calls.ts';
import type { ChangeContext, IntentPolicy } from './operations/contexts.ts';
import { localTransport } from './operations/local-transport.ts';
import { OPEN_OPTIONS } from './operations/open-options.ts';
import type { UptimeClock } from './seams/clock.ts';
import type { ServingThreads } from './seams/threads.ts';
import { nodeFiles } from './world/node-files.ts';
import { nodeThreads } from './world/node-threads.ts';
import { openTelemetry } from './world/open-telemetry.ts';
import { systemClock, systemTimers } from './world/system-clock.ts';
import { systemIds } from './world/system-ids.ts';
import { thisProcess } from './world/this-process.ts';

export interface OpenOptions {
  /** How long and how many ended tasks, sessions and idle names are kept. */
  readonly retention?: RetentionOptions;
  /** How much of the old log is kept for reads of earlier moments; nothing by default. */
  readonly history?: HistoryOptions;
  /** Called once when the log can no longer be written; the handle is unusable from then on. */
  readonly onDeath?: (fault: Error) => void;
  /** Called each time a compaction fails. It is retried; until it succeeds the log only grows. */
  readonly onCompactionFault?: (fault: unknown) => void;
  /** Called when the log ended in bytes that no whole write left, and they were cut: after a crash, or a file was cut. */
  readonly onTornTail?: (tail: { readonly file: string; readonly offset: number }) => void;
  /** Allows a directory on a network file system, where locks are unreliable. */
  readonly allowNetworkFileSystem?: boolean;
  /** How repeated session intents are recognised, and whether an intent acquires its service lease. */
  readonly intents?: IntentOptions;
}

/** How long records are kept, and how many at most. */
export interface Keeping {
  readonly for?: Duration;
  readonly max?: number;
}

export interface HistoryOptions {
  /** How long segments of the log are kept after a checkpoint has replaced them. */
  readonly for: Duration;
  /** The maximum disk space for them in bytes; 10 GB by default. */
  readonly bytesMax?: number;
}

export interface RetentionOptions {
  /** COMPLETED tasks, cancelled ones and start tasks: '1d' and 1 000 000 by default. */
  readonly completedTasks?: Keeping;
  /** FAILED tasks and other DEAD ones: '30d' and 1 000 000 by default. Completed tasks never evict them. */
  readonly failedTasks?: Keeping;
  /** Both kinds of tasks, for a kind that is not set separately. */
  readonly endedTasks?: Keeping;
  /** Sessions that have ended: '1d' and 100 000 by default. */
  readonly endedSessions?: Keeping;
  /** Names without lease and object: '10m' and 65 536 by default. */
  readonly idleNames?: Keeping;
  /** @deprecated since 0.2, gone in 0.3: `endedTasks: { for }`. */
  readonly endedTasksMs?: number;
  /** @deprecated since 0.2, gone in 0.3: `endedTasks: { max }`. */
  readonly endedTasksMax?: number;
  /** @deprecated since 0.2, gone in 0.3: `idleNames: { for }`. */
  readonly idleNamesMs?: number;
  /** @deprecated since 0.2, gone in 0.3: `idleNames: { max }`. */
  readonly idleNamesMax?: number;
  /** @deprecated since 0.2, gone in 0.3: `endedSessions: { for }`. */
  readonly endedSessionsMs?: number;
  /** @deprecated since 0.2, gone in 0.3: `endedSessions: { max }`. */
  readonly endedSessionsMax?: number;
}

export interface IntentOptions {
  /** Derives the idempotency keys. Without it a random secret is generated, and intents are not recognised after a restart. */
  readonly secret?: string;
  /** The previous secret: sessions created under it are still found. */
  readonly previousSecret?: string;
  /** Makes each intent acquire the lease of its service itself; a second intent is refused with LEASE_HELD. */
  readonly takeLeases?: boolean;
}

/** The environment of a handle; tests supply their own. */
export interface World extends ClientWorld {
  readonly clock: UptimeClock;
  readonly hashSeed: number;
  /** Called when the first intent finds no configured secret, and a random one is generated. */
  readonly onSecretMade?: () => void;
  /** The threads that replay earlier moments; without them, such reads are refused. */
  readonly servingThreads?: ServingThreads;
}

/** Opens a data directory, creating it if needed. Only one handle at a time can have it open. */
export async function open(dir: string, options: OpenOptions = {}): Promise<Leasehold> {
  if (typeof dir !== 'string' || dir === '') throw new TypeError('The data directory must be named.');
  if (/^[a-z]+:\/\//i.test(dir)) {
    throw new TypeError(
      `${dir.split('://', 1)[0]}://… is not a data directory; \`connect\` takes the URL of a server.`,
    );
  }
  assertOptions(options);
  const { allowNetworkFileSystem = false, onTornTail } = options;
  const engine = fileEngine({
    dir,
    files: nodeFiles,
    threads: nodeThreads,
    ...historyOf(options),
    ...(onTornTail === undefined ? {} : { onTornTail }),
    allowNetworkFileSystem,
  });
  const world = {
    clock: systemClock,
    timers: systemTimers,
    newToken: systemIds.token,
    hashSeed: systemIds.seed(),
    servingThreads: nodeThreads,
    ...thisProcess,
    get traces() {
      return openTelemetry();
    },
  };
  return openWith(engine, world, options).catch((fault: NodeJS.ErrnoException) => {
    // The system's message without the file name, which this message names already.
    if (fault.syscall === undefined) throw fault;
    throw new Error(`${dir} cannot be used as a data directory: ${fault.message}.`, { cause: fault });
  });
}

export async function openWith(engine: Engine, world: World, options: OpenOptions = {}): Promise<Leasehold> {
  const { authority, calls } = await openCore(engine, world, options);
  return new Leasehold(localTransport(authority, openCalls(calls), world.timers), world);
}

/** The authority and its operations without a handle, for servers. */
export interface OpenCore {
  readonly authority: Authority;
  readonly calls: CheckedCalls;
  readonly sends: Sends;
}

export async function openCore(engine: Engine, world: World, options: OpenOptions = {}): Promise<OpenCore> {
  assertOptions(options);
  const authority = await openAuthority(engine, {
    clock: world.clock,
    timers: world.timers,
    hashSeed: world.hashSeed,
    retention: retentionOf(options),
    onDeath: options.onDeath ?? (() => undefined),
    onCompactionFault: options.onCompactionFault ?? (() => undefined),
  });
  return coreOf(authority, world, options);
}

function assertOptions(options: OpenOptions): void {
  if (!OPEN_OPTIONS.accepts(options)) throw new TypeError(OPEN_OPTIONS.explain(options));
}

/** The operations of an open authority. */
export function coreOf(
  authority: Authority,
  world: Pick<World, 'timers' | 'newToken' | 'onSecretMade' | 'servingThreads'>,
  options: Pick<OpenOptions, 'intents'>,
): OpenCore {
  const { timers, newToken, servingThreads } = world;
  const context: ChangeContext = {
    intents: intentPolicy(options, world),
    watch: () => ({
      beats: authority.soft.sessions,
      nowMs: authority.clock.nowMs(),
      startedAtMs: authority.state.epochStartedAtMs,
    }),
  };
  return {
    authority,
    calls: checkedCalls(authority, context, timers, newToken, servingThreads),
    sends: changeSends(authority, context, newToken),
  };
}

function intentPolicy(
  { intents = {} }: OpenOptions,
  { newToken, onSecretMade }: Pick<World, 'newToken' | 'onSecretMade'>,
): IntentPolicy {
  let { secret } = intents;
  const { previousSecret = null, takeLeases: takesLease = false } = intents;
  return {
    // Generated with the first intent; most embedding programs never send one.
    get secret() {
      if (secret === undefined) {
        secret = newToken();
        onSecretMade?.();
      }
      return secret;
    },
    previousSecret,
    takesLease,
  };
}

function historyOf({ history }: OpenOptions): { readonly history?: HistoryLimits } {
  if (history === undefined) return {};
  const { for: kept, bytesMax = HISTORY_BYTES_MAX } = history;
  return { history: { forMs: durationMs(kept, 'history'), bytesMax } };
}

export function retentionOf({ retention = {} }: Pick<OpenOptions, 'retention'>): Retention {
  const {
    completedTasks = {},
    failedTasks = {},
    endedTasks = {},
    idleNames = {},
    endedSessions = {},
  } = retention;
  return retentionFrom({
    ...kept('completedTasksMs', completedTasks.for),
    ...kept('completedTasksMax', completedTasks.max),
    ...kept('failedTasksMs', failedTasks.for),
    ...kept('failedTasksMax', failedTasks.max),
    ...kept('endedTasksMs', endedTasks.for ?? retention.endedTasksMs),
    ...kept('endedTasksMax', endedTasks.max ?? retention.endedTasksMax),
    ...kept('idleNamesMs', idleNames.for ?? retention.idleNamesMs),
    ...kept('idleNamesMax', idleNames.max ?? retention.idleNamesMax),
    ...kept('endedSessionsMs', endedSessions.for ?? retention.endedSessionsMs),
    ...kept('endedSessionsMax', endedSessions.max ?? retention.endedSessionsMax),
  });
}

function kept(name: keyof RetentionFigures, value: Duration | undefined): RetentionFigures {
  return value === undefined ? {} : { [name]: durationMs(value, 'retention') };
}

/**
 * Pipelines as real processes, each in a group of its own under a keeper of its own. The keeper writes down their
 * output, a bounded file for each session; of the files of old sessions only the newest are kept.
 */
import { join } from 'node:path';
import type { Timers } from '../authority/seams.ts';
import type { FromKeeper, ToKeeper } from './keeper.ts';
import type { Pipeline, PipelineEnd, PipelineEvents, PipelinePlan, Pipelines } from './pipelines.ts';
import type { KeeperChannel, Processes } from './processes.ts';

export interface LogDirectory {
  /** The names of the files in it. */
  list(dir: string): Promise<readonly string[]>;
  remove(path: string): Promise<void>;
}

export interface KeptPipelinesWorld {
  readonly timers: Timers;
  readonly processes: Pick<Processes, 'startKeeper' | 'signalGroup'>;
  readonly files: LogDirectory;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const LOG_BYTES_MAX = 1024 * 1024;
const LOG_SESSIONS_MAX = 200;
/** How long and how often somebody looks whether a program that lost its keeper is gone. */
const GONE_MS = 2_000;
const GONE_LOOK_MS = 20;

/** What the orchestrator knows and its pipelines must not. */
const SECRETS: ReadonlySet<string> = new Set([
  'LEASEHOLD_TOKEN',
  'LEASEHOLD_TOKENS',
  'LEASEHOLD_ENGINE',
  'XG2G_IDEM_SECRET',
  'XG2G_IDEM_SECRET_PREVIOUS',
]);

export class KeptPipelines implements Pipelines {
  private readonly world: KeptPipelinesWorld;
  private readonly dir: string;
  private readonly env: Readonly<Record<string, string | undefined>>;
  private readonly live = new Set<string>();

  constructor(world: KeptPipelinesWorld, dir: string) {
    this.world = world;
    this.dir = dir;
    this.env = Object.fromEntries(Object.entries(world.env).filter(([name]) => !SECRETS.has(name)));
  }

  start(plan: PipelinePlan, events: PipelineEvents): Pipeline {
    const { sessionId, command, limits, ready } = plan;
    const file = join(this.dir, `${sessionId}.log`);
    this.live.add(sessionId);
    const ended = (end: PipelineEnd): void => {
      this.live.delete(sessionId);
      events.ended(end);
    };
    const pipeline = new KeptPipeline(this.world, { ...events, ended }, ready === null);
    const output = { file, bytesMax: LOG_BYTES_MAX, ready };
    const env = { ...this.env, ...plan.env };
    pipeline.tell({ do: 'start', id: KEPT, command, env, limits, scratch: null, output });
    void this.prune(events);
    return pipeline;
  }

  /** Ids of sessions sort by age, and so do their files. */
  private async prune({ warned }: PipelineEvents): Promise<void> {
    try {
      const names = await this.world.files.list(this.dir);
      const logs = names.filter((name) => /^s[0-9a-v]{11}\.log(\.1)?$/.test(name));
      const sessions = [...new Set(logs.map((name) => name.slice(0, 12)))].sort();
      const old = new Set(sessions.slice(0, -LOG_SESSIONS_MAX).filter((id) => !this.live.has(id)));
      for (const name of logs)
        if (old.has(name.slice(0, 12))) await this.world.files.remove(join(this.dir, name));
    } catch (fault) {
      if (!(fault instanceof Error && 'code' in fault)) throw fault;
      warned(`Old logs of sessions cannot be removed: ${fault.message}`);
    }
  }
}

/** A keeper has one program here, so the name does not matter. */
const KEPT = 'pipeline';

class KeptPipeline implements Pipeline {
  private readonly world: KeptPipelinesWorld;
  private readonly events: PipelineEvents;
  private readonly isReadyAtOnce: boolean;
  private readonly keeper: KeeperChannel;
  private pid = 0;
  private hasEnded = false;

  constructor(world: KeptPipelinesWorld, events: PipelineEvents, isReadyAtOnce: boolean) {
    this.world = world;
    this.events = events;
    this.isReadyAtOnce = isReadyAtOnce;
    this.keeper = world.processes.startKeeper({
      sharesInput: false,
      heard: (message) => this.hear(message as FromKeeper),
      gone: () => this.orphaned(),
    });
  }

  tell(message: ToKeeper): void {
    this.keeper.send(message);
  }

  limit(limits: PipelinePlan['limits']): void {
    this.tell({ do: 'limit', id: KEPT, limits });
  }

  stop(graceMs: number): void {
    this.tell({ do: 'stop', id: KEPT, graceMs });
  }

  private hear(message: FromKeeper): void {
    switch (message.is) {
      case 'started':
        this.pid = message.pid;
        this.events.running(message.pid);
        if (this.isReadyAtOnce) this.events.ready();
        return;
      case 'ready':
        return this.events.ready();
      case 'unlogged':
        return this.events.warned(`Its output cannot be written down: ${message.message}`);
      case 'not-started':
        return this.end({ is: 'not-started', says: message.message });
      case 'ended':
        return this.end({ is: 'ended', ...message.end, isKept: message.isStopped });
    }
  }

  /** Without a keeper nobody would end the program in time if we were paused, so it ends now. */
  private orphaned(): void {
    if (this.hasEnded) return;
    this.events.warned('The keeper of the pipeline has ended, so the pipeline is ended too.');
    this.waitUntilGone(GONE_MS);
  }

  private waitUntilGone(leftMs: number): void {
    const isThere = this.pid !== 0 && this.world.processes.signalGroup(this.pid, 'SIGKILL');
    if (isThere && leftMs > 0) {
      this.world.timers.after(GONE_LOOK_MS, () => this.waitUntilGone(leftMs - GONE_LOOK_MS));
    } else if (this.pid === 0) this.end({ is: 'not-started', says: 'The keeper of the pipeline has ended.' });
    else this.end({ is: 'ended', code: null, signal: 'SIGKILL', isKept: false });
  }

  private end(end: PipelineEnd): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.events.ended(end);
    this.keeper.close();
  }
}

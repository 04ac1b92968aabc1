/**
 * Pipelines as real processes, each in its own group under its own keeper. The keeper writes their output to a
 * bounded file per session. Only the newest files are kept.
 */
import { join } from 'node:path';
import { sleep } from '../client/sleep.ts';
import type { FromKeeper, ToKeeper } from '../keeper/keeper.ts';
import type { Clock, Timers } from '../seams/clock.ts';
import type { Moment } from '../seams/deadline.ts';
import type { LogDirectory } from '../seams/log-files.ts';
import type { ProcessTable } from '../seams/process-table.ts';
import type { KeeperChannel, Processes } from '../seams/processes.ts';
import type { Pipeline, PipelineEnd, PipelineEvents, PipelinePlan, Pipelines } from './pipelines.ts';
import { endStrays, restOf } from './stray-pipelines.ts';

export interface KeptPipelinesWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly processes: Pick<Processes, 'startKeeper' | 'signalGroup'>;
  readonly processTable: Pick<ProcessTable, 'living' | 'killGroupOf'>;
  readonly files: LogDirectory;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const LOG_BYTES_MAX = 1024 * 1024;
const LOG_SESSIONS_MAX = 200;
/** After the grace, a keeper that has answered gets this long to deliver the last output. */
const LAST_OUTPUT_MS = 3_000;
/** Without a process table: how long and how often a group that lost its keeper is killed. */
const GONE_MS = 2_000;
const GONE_LOOK_MS = 20;

/** Variables of a server that its orchestrator must not get, nor its pipelines. */
const SECRETS: ReadonlySet<string> = new Set([
  'LEASEHOLD_TOKEN',
  'LEASEHOLD_TOKENS',
  'LEASEHOLD_ENGINE',
  'LEASEHOLD_IDEM_SECRET',
  'LEASEHOLD_IDEM_SECRET_PREVIOUS',
  'XG2G_IDEM_SECRET',
  'XG2G_IDEM_SECRET_PREVIOUS',
]);

type Environment = Readonly<Record<string, string | undefined>>;

export function withoutSecrets(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !SECRETS.has(name)));
}

export class KeptPipelines implements Pipelines {
  private readonly world: KeptPipelinesWorld;
  private readonly dir: string;
  private readonly env: Readonly<Record<string, string | undefined>>;
  private readonly live = new Set<string>();

  constructor(world: KeptPipelinesWorld, dir: string) {
    this.world = world;
    this.dir = dir;
    this.env = withoutSecrets(world.env);
  }

  start(plan: PipelinePlan, events: PipelineEvents): Pipeline {
    const { sessionId, command, limits, ready } = plan;
    const file = join(this.dir, `${sessionId}.log`);
    this.live.add(sessionId);
    const ended = (end: PipelineEnd): void => {
      this.live.delete(sessionId);
      events.ended(end);
    };
    const pipeline = new KeptPipeline(this.world, plan, { ...events, ended });
    const output = { file, bytesMax: LOG_BYTES_MAX, ready };
    const env = { ...this.env, ...plan.env };
    pipeline.send({ do: 'start', id: KEPT, command, env, limits, scratch: null, output });
    void this.prune(events);
    return pipeline;
  }

  /** Session ids sort by age, and so do their files. */
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

/** A keeper has one program here, so the id does not matter. */
const KEPT = 'pipeline';

class KeptPipeline implements Pipeline {
  private readonly world: KeptPipelinesWorld;
  private readonly events: PipelineEvents;
  private readonly plan: PipelinePlan;
  private readonly keeper: KeeperChannel;
  private pid = 0;
  private startTime: string | null = null;
  private killBy: Moment;
  /** Stop requests without an answer. */
  private unanswered = 0;
  private hasEnded = false;

  constructor(world: KeptPipelinesWorld, plan: PipelinePlan, events: PipelineEvents) {
    this.world = world;
    this.plan = plan;
    this.killBy = plan.limits.killBy;
    this.events = events;
    this.keeper = world.processes.startKeeper({
      sharesInput: false,
      received: (message) => this.receive(message as FromKeeper),
      gone: () => this.orphaned(),
    });
  }

  send(message: ToKeeper): void {
    this.keeper.send(message);
  }

  limit(limits: PipelinePlan['limits']): void {
    this.killBy = limits.killBy;
    this.send({ do: 'limit', id: KEPT, limits });
  }

  stop(graceMs: number): void {
    const { timers } = this.world;
    this.send({ do: 'stop', id: KEPT, graceMs });
    this.unanswered += 1;
    // An answer may be unread if this event loop was blocked, so it gets one turn.
    timers.after(Math.min(graceMs, this.leftMs()), () => timers.soon(() => this.overdue()));
  }

  /** The time until its keeper kills it in any case. */
  private leftMs(): number {
    const { clock } = this.world;
    const { monotonicMs, wallMs } = this.killBy;
    return Math.max(0, Math.min(monotonicMs - clock.monotonicMs(), wallMs - clock.wallMs()));
  }

  private receive(message: FromKeeper): void {
    switch (message.is) {
      case 'started':
        this.pid = message.pid;
        this.startTime = message.startTime;
        this.events.running(message.pid);
        if (this.plan.ready === null) this.events.ready();
        return;
      case 'stopping':
        this.unanswered -= 1;
        return;
      case 'ready':
        return this.events.ready();
      case 'unlogged':
        return this.events.warned(`Its output cannot be written: ${message.message}`);
      case 'not-started':
        return this.end({ is: 'not-started', says: message.message });
      case 'ended':
        return this.end({ is: 'ended', ...message.end, isKept: message.isStopped });
    }
  }

  /** The grace is over. A keeper that has answered may have been stopped since, so the program is killed here too. */
  private overdue(): void {
    if (this.hasEnded) return;
    if (this.unanswered > 0) return this.giveUpKeeper();
    void this.killRest();
    this.world.timers.after(LAST_OUTPUT_MS, () => this.giveUpKeeper());
  }

  /** A stopped keeper ends nothing. Once it is gone, this process can. */
  private giveUpKeeper(): void {
    if (this.hasEnded) return;
    this.events.warned('The keeper of the pipeline does not answer, so it is killed.');
    this.keeper.kill();
  }

  /** Without a keeper no process would end the program in time if we were paused, so it ends now. */
  private orphaned(): void {
    if (this.hasEnded) return;
    this.events.warned('The keeper of the pipeline has ended, so the pipeline is stopped.');
    // Rejects only on a bug, which ends the process.
    void this.endRest();
  }

  /** Also ends a program that its keeper had no time to report. */
  private async endRest(): Promise<void> {
    const isKnown = await this.killRest();
    const { pid } = this;
    if (!isKnown && pid !== 0) await this.killBlindly(pid);
    if (pid === 0) this.end({ is: 'not-started', says: 'The keeper of the pipeline has ended.' });
    else this.end({ is: 'ended', code: null, signal: 'SIGKILL', isKept: false });
  }

  private killRest(): Promise<boolean> {
    const { world, plan, pid, startTime } = this;
    const choose = restOf(pid, startTime);
    return endStrays(world, { mark: plan.mark, choose, isOver: () => this.hasEnded });
  }

  /** A zombie that is never reaped still counts as a process, so polling has to end at some point. */
  private async killBlindly(pid: number): Promise<void> {
    const { timers, processes } = this.world;
    for (let leftMs = GONE_MS; leftMs > 0 && !this.hasEnded; leftMs -= GONE_LOOK_MS) {
      if (!processes.signalGroup(pid, 'SIGKILL')) return;
      await sleep(timers, GONE_LOOK_MS);
    }
  }

  private end(end: PipelineEnd): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.events.ended(end);
    this.keeper.close();
  }
}

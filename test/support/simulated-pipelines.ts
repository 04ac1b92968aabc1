// Pipelines without processes: they run, say that they are ready, end, and are held to their limits by a model of the
// keeper, all in the time of a manual world. Two that ever run on one slot at the same time are a violation.

import type { Limits } from '../../src/keeper/keeper.ts';
import type { Timer } from '../../src/seams/clock.ts';
import type { Moment } from '../../src/seams/deadline.ts';
import type {
  Pipeline,
  PipelineEnd,
  PipelineEvents,
  PipelinePlan,
  Pipelines,
} from '../../src/sessions/pipelines.ts';
import type { ManualWorld } from './manual-world.ts';

export class SimulatedPipelines implements Pipelines {
  readonly started: SimulatedPipeline[] = [];
  readonly violations: string[] = [];
  /** The next ones do not heed SIGTERM. */
  areStubborn = false;
  /** The next ones cannot be killed, as those that hang in the kernel. */
  areImmortal = false;
  /** The next ones cannot be started. */
  areMissing = false;
  private readonly world: ManualWorld;

  constructor(world: ManualWorld) {
    this.world = world;
  }

  get alive(): SimulatedPipeline[] {
    return this.started.filter(({ isAlive }) => isAlive);
  }

  of(sessionId: string): SimulatedPipeline {
    const found = this.started.find(({ plan }) => plan.sessionId === sessionId);
    if (found === undefined) throw new Error(`The session ${sessionId} has no pipeline.`);
    return found;
  }

  start(plan: PipelinePlan, events: PipelineEvents): Pipeline {
    const slot = plan.env.LEASEHOLD_SLOT!;
    for (const other of this.alive)
      if (other.slot === slot)
        this.violations.push(`${plan.sessionId} and ${other.plan.sessionId} on ${slot}`);
    const pipeline = new SimulatedPipeline(this.world, plan, events, this.areStubborn || this.areImmortal);
    pipeline.isImmortal = this.areImmortal;
    this.started.push(pipeline);
    this.world.timers.soon(() => (this.areMissing ? pipeline.fail() : pipeline.begin(this.started.length)));
    return pipeline;
  }
}

export class SimulatedPipeline implements Pipeline {
  readonly plan: PipelinePlan;
  /** What it was sent: SIGTERM, SIGKILL. */
  readonly signals: string[] = [];
  isAlive = true;
  isImmortal = false;
  endedAtMs = 0;
  limits: Limits;
  private readonly world: ManualWorld;
  private readonly events: PipelineEvents;
  private readonly isStubborn: boolean;
  private isStopped = false;
  private timer: Timer | null = null;

  constructor(world: ManualWorld, plan: PipelinePlan, events: PipelineEvents, isStubborn: boolean) {
    this.world = world;
    this.plan = plan;
    this.events = events;
    this.isStubborn = isStubborn;
    this.limits = plan.limits;
    this.look();
  }

  get slot(): string {
    return this.plan.env.LEASEHOLD_SLOT!;
  }

  begin(pid: number): void {
    if (!this.isAlive) return;
    this.events.running(pid);
    if (this.plan.ready === null) this.events.ready();
  }

  fail(): void {
    if (this.isAlive) this.end({ is: 'not-started', says: 'no such program' });
  }

  /** It says that it is ready. */
  sayReady(): void {
    this.events.ready();
  }

  /** By itself. */
  leave(code: number): void {
    this.end({ is: 'ended', code, signal: null, isKept: this.isStopped });
  }

  limit(limits: Limits): void {
    if (this.isStopped) return;
    this.limits = limits;
    this.look();
  }

  stop(graceMs: number): void {
    if (!this.isAlive) return;
    const { monotonicMs, wallMs } = this.world;
    const killBy = {
      monotonicMs: Math.min(this.limits.killBy.monotonicMs, monotonicMs + graceMs),
      wallMs: Math.min(this.limits.killBy.wallMs, wallMs + graceMs),
    };
    this.limits = { ...this.limits, killBy };
    if (!this.isStopped) {
      this.isStopped = true;
      this.signals.push('SIGTERM');
      if (!this.isStubborn)
        this.world.timers.soon(() => this.end({ is: 'ended', code: 0, signal: null, isKept: true }));
    }
    this.look();
  }

  private look(): void {
    this.timer?.cancel();
    if (!this.isAlive) return;
    if (!this.isStopped && this.leftMs(this.limits.terminateBy) <= 0) return this.stop(this.limits.graceMs);
    const leftMs = this.leftMs(this.isStopped ? this.limits.killBy : this.limits.terminateBy);
    if (this.isStopped && leftMs <= 0) {
      this.signals.push('SIGKILL');
      if (this.isImmortal) return;
      this.world.timers.soon(() => this.end({ is: 'ended', code: null, signal: 'SIGKILL', isKept: true }));
    } else this.timer = this.world.timers.after(leftMs, () => this.look());
  }

  private leftMs({ monotonicMs, wallMs }: Moment): number {
    return Math.min(monotonicMs - this.world.monotonicMs, wallMs - this.world.wallMs);
  }

  private end(end: PipelineEnd): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.endedAtMs = this.world.monotonicMs;
    this.timer?.cancel();
    this.events.ended(end);
  }
}

// An orchestrator on a stage: an authority in memory whose time the test moves, pipelines without processes, and a way
// between the two that can be cut, held up or made to fail, one operation at a time.

import { Leasehold } from '../../src/client/leasehold.ts';
import type { Transport } from '../../src/client/transport.ts';
import { MemoryDisk } from '../../src/engines/memory/memory-disk.ts';
import { memoryEngine } from '../../src/engines/memory/memory-engine.ts';
import { type OpenOptions, openCore } from '../../src/open.ts';
import { openCalls } from '../../src/operations/calls.ts';
import { localTransport } from '../../src/operations/local-transport.ts';
import { LeaseholdError } from '../../src/protocol/leasehold-error.ts';
import { problem } from '../../src/protocol/problem.ts';
import type { Timers } from '../../src/seams/clock.ts';
import type { ProcessIdentity, ProcessTable } from '../../src/seams/process-table.ts';
import { type OrchestratorConfig, readConfig } from '../../src/sessions/config.ts';
import { Orchestrator, type Outcome } from '../../src/sessions/orchestrator.ts';
import type { Timing } from '../../src/sessions/timing.ts';
import { LivingProcesses } from './living-processes.ts';
import { ManualWorld } from './manual-world.ts';
import { SimulatedPipelines } from './simulated-pipelines.ts';

export const TIMING: Timing = { guardTtlMs: 15_000, heartbeatMs: 5_000, leaseTtlMs: 30_000, graceMs: 5_000 };
export const GUARD = 'system:orchestrator:guard_lock';

const CONFIG = JSON.stringify({
  slots: ['0', '1'],
  profiles: {
    plain: { command: ['play', '{serviceRef}'] },
    slow: { command: ['play'], ready: { stdout: 'go' } },
  },
});

/** What becomes of a call. `dies`: it is carried out, and its answer never comes; `is late`: it comes after `LATE_MS`. */
export type Fate =
  | 'passes'
  | 'is unreachable'
  | 'fails with 500'
  | 'is forbidden'
  | 'hangs'
  | 'dies'
  | 'is late';
export const LATE_MS = 4_000;

/** The way to the authority. */
class Line {
  /** By operation, and `follow`; what is not named passes. */
  readonly fates = new Map<string, Fate>();
  readonly sent: string[] = [];
  /** How many calls hang and were not aborted. */
  hanging = 0;
  /** By operation: what happens on the other side right before it gets there. */
  readonly meanwhile = new Map<string, () => Promise<unknown>>();
  /** What `whoami.get` says of the token, where that is not everything. */
  scopes: readonly string[] | null = null;
  private readonly inner: Transport;
  private readonly timers: Timers;

  constructor(inner: Transport, timers: Timers) {
    this.inner = inner;
    this.timers = timers;
  }

  get transport(): Transport {
    const { inner } = this;
    return {
      log: (request) => inner.log(request),
      follow: (from, signal, only) =>
        this.fates.get('follow') === 'hangs' ? silence(signal) : inner.follow(from, signal, only),
      close: async () => undefined,
      call: (operation, request, options) => {
        const fate = this.fates.get(operation) ?? 'passes';
        this.sent.push(operation);
        if (fate === 'hangs') return this.hang(options?.signal);
        if (fate === 'is unreachable') {
          const says = 'no answer';
          return Promise.reject(new LeaseholdError('UNREACHABLE', says, { retryable: true }));
        }
        if (fate === 'fails with 500') {
          return Promise.reject(new LeaseholdError('INTERNAL', 'a fault', { effect: 'unknown' }));
        }
        if (fate === 'is forbidden') return Promise.resolve(problem({ refused: 'FORBIDDEN' }));
        if (operation === 'whoami.get' && this.scopes !== null) {
          return Promise.resolve({ ok: true, name: 'tuner-host', scopes: this.scopes } as never);
        }
        const before = this.meanwhile.get(operation) ?? (async () => undefined);
        const reply = before().then(() => inner.call(operation, request, options));
        if (fate === 'is late') return reply.then((body) => this.later(body));
        return fate === 'dies' ? reply.then(() => new Promise<never>(() => undefined)) : reply;
      },
    };
  }

  private hang(signal: AbortSignal | undefined): Promise<never> {
    this.hanging += 1;
    return new Promise((_, reject) => {
      signal?.addEventListener('abort', () => {
        this.hanging -= 1;
        reject(signal.reason);
      });
    });
  }

  private later<T>(body: T): Promise<T> {
    return new Promise((resolve) => {
      this.timers.after(LATE_MS, () => resolve(body));
    });
  }
}

/** A log that never delivers anything. */
async function* silence(signal: AbortSignal): AsyncGenerator<never> {
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
}

/** The processes of one machine, as far as orchestrators look at them. */
class Machine {
  readonly living = new LivingProcesses();
  readonly processes = new Map<number, string>();
  bootId = 'boot-1';
  pidNs = 'pid:[1]';

  table(pid: number, startTime: string): ProcessTable {
    this.processes.set(pid, startTime);
    const { bootId: boot_id, pidNs: pid_ns } = this;
    const self: ProcessIdentity = { boot_id, pid_ns, pid, start_time: startTime, hostname: 'host' };
    return {
      pid,
      hostname: 'host',
      self: async () => self,
      startTimeOf: async (other) => this.processes.get(other) ?? 'none',
      living: this.living.living,
      killGroupOf: this.living.killGroupOf,
    };
  }
}

/** One orchestrator and everything of its own. */
export interface Actor {
  readonly orchestrator: Orchestrator;
  readonly line: Line;
  readonly pipelines: SimulatedPipelines;
  readonly said: string[];
  readonly table: ProcessTable;
  outcome: Outcome | null;
}

export interface ActorOptions {
  readonly config?: string;
  readonly timing?: Partial<Timing>;
  readonly pid?: number;
  readonly fates?: Readonly<Record<string, Fate>>;
  readonly meanwhile?: Readonly<Record<string, () => Promise<unknown>>>;
  /** Of its token; everything unless given. */
  readonly scopes?: readonly string[];
  /** It is asked to end in the very moment in which it says this. */
  readonly endsWhenItSays?: string;
}

export class OrchestratorStage {
  readonly world: ManualWorld;
  readonly machine = new Machine();
  /** The test's own handle; nothing goes wrong with it. */
  readonly lh: Leasehold;
  private readonly transport: Transport;
  private pids = 100;

  private constructor(world: ManualWorld, transport: Transport) {
    this.world = world;
    this.transport = transport;
    this.lh = new Leasehold(transport, world);
  }

  static async open(options: OpenOptions = {}): Promise<OrchestratorStage> {
    const world = new ManualWorld();
    const core = await world.finish(openCore(memoryEngine(new MemoryDisk()), world, options));
    return new OrchestratorStage(world, localTransport(core.authority, openCalls(core.calls), world.timers));
  }

  /** Starts an orchestrator, and lets run what can while time stands still. */
  async orchestrate(options: ActorOptions = {}): Promise<Actor> {
    const { config = CONFIG, timing = {}, fates = {}, meanwhile = {} } = options;
    const { world } = this;
    this.pids += 1;
    const line = new Line(this.transport, world.timers);
    line.scopes = options.scopes ?? null;
    for (const [operation, fate] of Object.entries(fates)) line.fates.set(operation, fate);
    for (const [operation, happens] of Object.entries(meanwhile)) line.meanwhile.set(operation, happens);
    const said: string[] = [];
    const pipelines = new SimulatedPipelines(world);
    const table = this.machine.table(options.pid ?? this.pids, `${world.monotonicMs}`);
    const orchestrator: Orchestrator = new Orchestrator(
      {
        clock: world.clock,
        timers: world.timers,
        newToken: world.newToken,
        client: new Leasehold(line.transport, world),
        processTable: table,
        pipelines,
        say: (level, event, fields) => {
          said.push(`${level} ${event} ${JSON.stringify(fields ?? {})}`);
          if (event === options.endsWhenItSays) orchestrator.shutdown();
        },
      },
      { config: readConfig(config) as OrchestratorConfig, timing: { ...TIMING, ...timing } },
    );
    const actor: Actor = { orchestrator, line, pipelines, said, table, outcome: null };
    void orchestrator.run().then((outcome) => {
      actor.outcome = outcome;
    });
    await world.settle();
    return actor;
  }

  async intent(serviceRef: string, profileID = 'plain'): Promise<string> {
    const reply = await this.world.finish(
      this.lh.call('intent.accept', { type: 'live', serviceRef, profileID }),
    );
    if (!reply.ok) throw new Error(reply.detail);
    await this.world.settle();
    return reply.session_id;
  }

  async stop(session_id: string): Promise<void> {
    await this.world.finish(this.lh.call('session.stop', { session_id }));
    await this.world.settle();
  }

  /** `READY`, or `FAILED R_NO_TUNER REJECTED_NO_TUNER`. */
  async stateOf(session_id: string): Promise<string> {
    const reply = await this.world.finish(this.lh.call('session.get', { session_id }));
    const { state, reason, reason_detail } = reply;
    return [state, reason, reason_detail].filter(Boolean).join(' ');
  }

  /** The names that are held, guards left out. */
  async leases(): Promise<string[]> {
    const reply = await this.world.finish(this.lh.call('lease.list', { prefix: 'lease:' }));
    if (!reply.ok) throw new Error(reply.detail);
    return reply.leases.map(({ name }) => name);
  }

  async guardHolder(): Promise<string | null> {
    const reply = await this.world.finish(this.lh.call('lease.get', { name: GUARD }));
    return reply.ok ? reply.holder : null;
  }

  async seq(): Promise<number> {
    return (await this.world.finish(this.lh.status())).seq;
  }

  advance(ms: number): Promise<void> {
    return this.world.advance(ms);
  }
}

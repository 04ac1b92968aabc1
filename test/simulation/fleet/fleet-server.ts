/**
 * One of several servers on a database: a machine with clocks of its own, and one process after the other on it, each running
 * the product's own leadership, standby, guard and authority behind the product's own handlers.
 */
import type { Authority } from '../../../src/authority/authority.ts';
import { Leadership } from '../../../src/authority/leadership.ts';
import { DEFAULT_RETENTION } from '../../../src/core/retention.ts';
import type { Engine, LoggedEntry } from '../../../src/engines/log.ts';
import { postgresEngine } from '../../../src/engines/postgres/postgres-engine.ts';
import { coreOf } from '../../../src/open.ts';
import { noteEntry } from '../world/authority-node.ts';
import type { Kernel } from '../world/kernel.ts';
import { Random } from '../world/random.ts';
import type { Recorder } from '../world/recorder.ts';
import { SimClock } from '../world/sim-clock.ts';
import { SimProcess } from '../world/sim-process.ts';
import { WireServer } from '../world/wire-server.ts';
import type { FleetWorld } from './fleet-world.ts';

export class FleetServer {
  readonly name: string;
  readonly clock: SimClock;
  process: SimProcess | null = null;
  /** What serves while it leads. */
  leading: { readonly server: WireServer; readonly epoch: number } | null = null;
  readonly #world: FleetWorld;
  readonly #kernel: Kernel;
  readonly #recorder: Recorder;
  readonly #random: Random;
  #processes = 0;
  #leadership: Leadership | null = null;
  #hasLed = false;
  /** No process runs on the machine before this time. */
  #asleepUntilMs = 0;

  constructor(name: string, world: FleetWorld) {
    const { plan, kernel, recorder } = world;
    this.name = name;
    this.#world = world;
    this.#kernel = kernel;
    this.#recorder = recorder;
    this.#random = new Random(plan.seed, name);
    this.clock = new SimClock(kernel, this.#random.span(0, plan.skewMs), this.#random.span(0, 1_000_000));
  }

  boot(): void {
    if (this.process !== null) return;
    if (this.#isAsleep) {
      this.#kernel.at(this.#asleepUntilMs, null, () => this.boot());
      return;
    }
    this.#processes += 1;
    const process = new SimProcess(this.#kernel, `${this.name}.${this.#processes}`, this.clock, this.#random);
    this.process = process;
    this.#hasLed = false;
    const heard: LoggedEntry[] = [];
    const leadership = new Leadership(this.#engine(process, heard), {
      clock: process.clock,
      timers: process.timers,
      hashSeed: this.#world.plan.seed >>> 0,
      retention: DEFAULT_RETENTION,
      onStandby: () => this.#standsBy(process),
      onLead: (authority) => this.#leads(process, authority, heard),
      onOutOfReach: () => undefined,
      onEnd: (fault) => this.#recorder.broken(process.name, String(fault)),
      onCompactionFault: () => undefined,
    });
    this.#leadership = leadership;
    leadership.start().catch(() => this.#restart(process));
  }

  /** Ends the process without a farewell, and starts another one in its place. */
  kill(downMs: number): void {
    this.#end('kill');
    this.#kernel.after(downMs, null, () => this.boot());
  }

  /** The machine sleeps: its process stands still, and so does its monotonic clock. */
  suspend(forMs: number): void {
    this.#asleepUntilMs = Math.max(this.#asleepUntilMs, this.#kernel.nowMs + forMs);
    this.clock.suspend(forMs);
    this.process?.pause(forMs);
    this.#forgetTime();
    this.#kernel.after(forMs, null, () => this.#forgetTime());
  }

  /** Ends whatever is wrong with it. */
  heal(): void {
    if (this.#isAsleep) this.#forgetTime();
    this.#asleepUntilMs = 0;
    this.clock.heal();
    this.process?.resume();
    this.boot();
  }

  /** After a sleep it knows the time no better than after a cold start. */
  #forgetTime(): void {
    this.#hasLed = false;
    if (this.process !== null) this.#world.database.forgetRenewals(this.process);
  }

  get #isAsleep(): boolean {
    return this.#kernel.nowMs < this.#asleepUntilMs;
  }

  /** Stops it as an operator does: the guard is given back. */
  async stop(downMs: number): Promise<void> {
    const { process } = this;
    const leadership = this.#leadership;
    if (process === null || leadership === null || this.#isAsleep) return;
    await leadership.stop();
    if (this.process !== process) return;
    this.#end('close');
    this.#kernel.after(downMs, null, () => this.boot());
  }

  /** A server that does not reach its database when it starts ends, and a supervisor starts it again. */
  #restart(process: SimProcess): void {
    if (this.process !== process) return;
    this.#end('fault');
    this.#kernel.after(500, null, () => this.boot());
  }

  #end(cause: 'kill' | 'close' | 'fault'): void {
    const { process } = this;
    if (process === null) return;
    process.die();
    this.process = null;
    this.leading = null;
    this.#recorder.note({ kind: 'death', node: process.name, cause, why: cause, lastSeq: 0 });
  }

  #standsBy(process: SimProcess): void {
    if (this.process === process) this.leading = null;
  }

  #leads(process: SimProcess, authority: Authority, heard: readonly LoggedEntry[]): void {
    const { database } = this.#world;
    const { epoch, position } = authority.log;
    const { lastSeq, lastAtMs } = position;
    const isWarm = this.#hasLed || database.hasSeenRenewal(process);
    this.#hasLed = true;
    this.#recorder.note({ kind: 'boot', node: process.name, epoch, lastSeq, lastAtMs, isWarm });
    for (const logged of heard) this.#show('replay', process, logged);
    authority.feed.follow((entries) => {
      if (!process.isDead) for (const logged of entries) this.#show('feed', process, logged);
    });
    const core = coreOf(authority, process, { intents: { secret: 'kept' } });
    const server = new WireServer(core, process, (fault) =>
      this.#recorder.broken(process.name, String(fault)),
    );
    this.leading = { server, epoch };
  }

  #show(source: 'feed' | 'replay', process: SimProcess, logged: LoggedEntry): void {
    const { shown } = this.#world;
    if (source === 'replay' && shown.has(logged.seq)) return;
    shown.add(logged.seq);
    noteEntry(this.#recorder, source, process.name, logged);
  }

  /** The engine, with an ear at what it replays. */
  #engine(process: SimProcess, heard: LoggedEntry[]): Engine {
    const { database, guardTtlMs } = this.#world;
    const engine = postgresEngine({
      connections: database.connectionsFor(process, this.name),
      world: process,
      holder: process.name,
      guardTtlMs,
    });
    return {
      open: (replay) => engine.open(replay),
      follow: (replay, signal) => {
        heard.length = 0;
        const entry: typeof replay.entry = (each, seq, atMs) => {
          heard.push({ seq, atMs, entry: each });
          replay.entry(each, seq, atMs);
        };
        return engine.follow({ image: (record) => replay.image(record), entry }, signal);
      },
    };
  }
}

/**
 * The machine of the authority: its clocks, its disk, and one process after the other on it, each running the product's
 * own authority behind the product's own handlers. Beside it stand its keepers: a supervisor that starts it again
 * whenever it has ended, and an operator who puts right what a start was refused for.
 */
import type { Authority } from '../../../src/authority/authority.ts';
import { UnavailableError } from '../../../src/authority/unavailable.ts';
import { entryToJson } from '../../../src/core/entry-to-json.ts';
import { run as runCompaction } from '../../../src/engines/file/compaction-thread.ts';
import { fileEngine } from '../../../src/engines/file/file-engine.ts';
import { type Engine, LogDamagedError, type LoggedEntry, LogHeldError } from '../../../src/engines/log.ts';
import { MemoryDisk } from '../../../src/engines/memory/memory-disk.ts';
import { memoryEngine } from '../../../src/engines/memory/memory-engine.ts';
import { type OpenCore, openCore } from '../../../src/open.ts';
import { instant } from '../../../src/protocol/instant.ts';
import type { Threads } from '../../../src/seams/threads.ts';
import type { DeathEvent, EntryEvent } from '../history.ts';
import type { Json, Plan } from '../plan.ts';
import { KilledError } from './disk-trouble.ts';
import type { Kernel } from './kernel.ts';
import { Random } from './random.ts';
import type { Recorder } from './recorder.ts';
import { noteState } from './replay.ts';
import { SimClock } from './sim-clock.ts';
import { DATA_DIR, SimDisk } from './sim-disk.ts';
import type { SimNetwork } from './sim-network.ts';
import { SimProcess } from './sim-process.ts';
import { WireServer } from './wire-server.ts';

/** What a running authority is made of. */
interface Running {
  readonly process: SimProcess;
  readonly core: OpenCore;
  readonly server: WireServer;
}

export class AuthorityNode {
  readonly clock: SimClock;
  readonly disk: SimDisk;
  readonly memory = new MemoryDisk();
  readonly kernel: Kernel;
  readonly recorder: Recorder;
  readonly network: SimNetwork;
  readonly plan: Plan;
  readonly random: Random;
  /** Started or about to be. */
  process: SimProcess | null = null;
  running: Running | null = null;
  /** It is not started before this time. */
  downUntilMs = 0;
  /** Kills the process this long after each start, this many times. */
  crashLoop: { times: number; readonly afterMs: number } | null = null;
  /** The operator is at the disk; nothing else happens to the machine meanwhile. */
  isBeingRestored = false;
  /** Other processes that are trying to open the log, or closing it. */
  rivals = 0;
  /** How often a backup was restored. */
  restores = 0;
  /** A backup of a log that had just been restored was restored in its turn, so that numbers are ahead of the clock. */
  isAheadOfClock = false;
  /** The highest position that any client has seen. */
  newestSeq = 0;
  /** How many there have been so far. */
  processes = 0;
  #isWaiting = false;
  /** What clients have seen at each position, and what each process replayed before it served. */
  readonly #shown = new Map<number, string>();
  #restoresShown = 0;
  readonly #replayed = new Map<SimProcess, LoggedEntry[]>();

  constructor(plan: Plan, kernel: Kernel, recorder: Recorder, network: SimNetwork) {
    this.plan = plan;
    this.kernel = kernel;
    this.recorder = recorder;
    this.network = network;
    this.random = new Random(plan.seed, 'authority');
    this.clock = new SimClock(kernel, this.random.span(-plan.skewMs, plan.skewMs), 5_000);
    this.disk = new SimDisk(kernel, new Random(plan.seed, 'disk'));
    const latency = new Random(plan.seed, 'memory-disk');
    this.memory.sync = () =>
      new Promise((resolve) => {
        kernel.after(latency.span(0.05, 1), null, resolve);
      });
  }

  /** Starts a process unless there is one, or one will be started anyway. */
  boot(): void {
    if (this.process !== null || this.#isWaiting || this.downUntilMs === Number.POSITIVE_INFINITY) return;
    this.#isWaiting = true;
    this.kernel.at(this.downUntilMs, null, () => {
      this.#isWaiting = false;
      if (this.process !== null) return;
      if (this.downUntilMs > this.kernel.nowMs) this.boot();
      else void this.#start();
    });
  }

  /** Ends the process at once. `power` takes the machine's memory with it, without notice to any peer. */
  kill(cause: DeathEvent['cause'], downMs: number, why = ''): void {
    const { process, running } = this;
    if (process === null && this.isBeingRestored) return;
    this.downUntilMs = Math.max(this.downUntilMs, this.kernel.nowMs + downMs);
    if (cause === 'power') {
      this.network.isDark = true;
      this.disk.cutPower(() => this.disk.random.chance(0.5));
    }
    if (process !== null) {
      const lastSeq = running?.core.authority.log.position.lastSeq ?? 0;
      this.process = null;
      this.running = null;
      process.die();
      if (cause !== 'power') this.network.resetFrom('The server ended.');
      this.recorder.note({ kind: 'death', node: process.name, cause, why, lastSeq });
    }
    this.boot();
  }

  /** Pauses it and starts another one meanwhile, as an operator would who takes it for dead. */
  depose(forMs: number): void {
    const { running, process } = this;
    if (running === null || process === null) return;
    this.process = null;
    this.running = null;
    process.pause(forMs);
    this.network.unlisten();
    this.network.resetFrom('The server is thought to be dead.');
    this.boot();
    this.kernel.after(forMs, process, () => void this.#tryAsDeposed(running));
  }

  /** Whatever an older writer appends must be refused, however late it wakes up. */
  async #tryAsDeposed({ process, core }: Running): Promise<void> {
    if (process.isDead || this.running === null) return;
    try {
      const reply = await core.calls['queue.pause']({ queue: 'deposed' });
      if (!('ok' in reply && reply.ok === false)) {
        this.recorder.broken(process.name, 'A deposed writer appended to the log.');
      }
    } catch (fault) {
      if (!(fault instanceof UnavailableError)) throw fault;
    }
  }

  /** Ends it in order: what waits is decided, the log is closed. */
  async close(downMs: number): Promise<void> {
    const { running } = this;
    if (running === null) return;
    running.server.stop();
    await running.core.authority.close();
    if (this.running === running) this.kill('close', downMs);
  }

  engineFor(process: SimProcess): Engine {
    if (this.plan.engine === 'memory') return memoryEngine(this.memory);
    const files = this.disk.filesFor(process);
    const { segmentBytes, compactionBytes } = this.plan;
    return fileEngine({
      dir: DATA_DIR,
      files,
      segmentBytes,
      compactionBytesMin: compactionBytes,
      recentBytesMax: segmentBytes,
      cacheBytesMax: segmentBytes,
      threads: this.#threads(process),
    });
  }

  newProcess(name: string): SimProcess {
    this.processes += 1;
    return new SimProcess(
      this.kernel,
      name,
      this.clock,
      new Random(this.plan.seed, `${name}-${this.processes}`),
    );
  }

  get #keeps(): { completedMs: number; failedMs: number; max: number } {
    return { completedMs: this.plan.forgetMs, failedMs: 2 * this.plan.forgetMs, max: 500 };
  }

  /** Opens the log in a process of its own; null when it could not be opened. */
  async open(process: SimProcess): Promise<OpenCore | null> {
    const { recorder, plan } = this;
    const { clock, timers, newToken } = process;
    const world = { clock, timers, newToken, hashSeed: plan.seed >>> 0 };
    const { completedMs, failedMs, max } = this.#keeps;
    const retention = {
      completedTasks: { for: completedMs, max },
      failedTasks: { for: failedMs, max },
      idleNames: { for: plan.forgetMs, max: 500 },
    };
    const onDeath = (fault: Error): void => this.#died(process, fault);
    try {
      return await openCore(this.#heard(process), world, { retention, onDeath, intents: { secret: 'kept' } });
    } catch (fault) {
      if (process.isDead || fault instanceof KilledError) return null;
      const { error, message } = refusalOf(fault);
      recorder.note({ kind: 'refused-boot', node: process.name, error, message });
      if (fault instanceof LogDamagedError) this.#repair();
      return null;
    }
  }

  /** Notes what an authority shows, as it shows it. */
  watch(process: SimProcess, authority: Authority): void {
    const { recorder } = this;
    const { epoch, position } = authority.log;
    const { lastSeq, lastAtMs } = position;
    recorder.note({ kind: 'boot', node: process.name, epoch, lastSeq, lastAtMs, keeps: this.#keeps });
    // What was durable and never shown, because its writer died in between, becomes known now; of a backup, everything.
    if (this.#restoresShown !== this.restores) this.#shown.clear();
    this.#restoresShown = this.restores;
    for (const logged of this.#replayed.get(process) ?? []) this.#show('replay', process, logged);
    this.#replayed.delete(process);
    authority.feed.follow((entries) => {
      if (process.isDead) return;
      for (const logged of entries) this.#show('feed', process, logged);
    });
  }

  #show(source: 'feed' | 'replay', process: SimProcess, logged: LoggedEntry): void {
    const { seq, atMs, entry } = logged;
    this.newestSeq = Math.max(this.newestSeq, seq);
    const content = `${atMs} ${entry.type}`;
    if (source === 'replay' && this.#shown.get(seq) === content) return;
    this.#shown.set(seq, content);
    noteEntry(this.recorder, source, process.name, logged);
  }

  /** The engine, with an ear at what it replays. */
  #heard(process: SimProcess): Engine {
    const engine = this.engineFor(process);
    const replayed: LoggedEntry[] = [];
    this.#replayed.set(process, replayed);
    return {
      open: (replay) =>
        engine.open({
          image: (record) => replay.image(record),
          entry(entry, seq, atMs) {
            replayed.push({ seq, atMs, entry });
            replay.entry(entry, seq, atMs);
          },
        }),
    };
  }

  async #start(): Promise<void> {
    const process = this.newProcess(`authority.${this.processes + 1}`);
    this.process = process;
    const { damages } = this.disk;
    const core = await this.open(process);
    if (process.isDead) return;
    if (core === null) {
      process.die();
      this.process = null;
      this.downUntilMs = this.kernel.nowMs + this.random.span(200, 1_500);
      this.boot();
      return;
    }
    this.disk.forgetDamage(damages);
    const server = new WireServer(core, process, (fault) => {
      // Damage done while it runs is found by the next read of that part of the log.
      const isDamage = fault instanceof LogDamagedError && this.disk.damages > 0;
      if (!isDamage && !isInjected(fault)) this.recorder.broken('server', String(fault));
    });
    this.running = { process, core, server };
    const { clock, log } = core.authority;
    this.recorder.authorityNow = () => (process.isDead ? null : { atMs: clock.nowMs(), epoch: log.epoch });
    this.watch(process, core.authority);
    this.network.listen({ process, server });
    this.#keepCrashing(process);
  }

  #keepCrashing(process: SimProcess): void {
    const { crashLoop } = this;
    if (crashLoop === null || crashLoop.times <= 0) return;
    crashLoop.times -= 1;
    this.kernel.after(crashLoop.afterMs, process, () => {
      if (this.crashLoop === crashLoop) this.kill('kill', 50, 'crash loop');
    });
  }

  /** It died by its own doing, as the server does when the log cannot be written any more. */
  #died(process: SimProcess, fault: Error): void {
    if (process.isDead || process !== this.process) {
      if (!process.isDead) this.#deposed(process, fault);
      return;
    }
    const cause = fault.cause instanceof Error ? fault.cause : fault;
    if (!isInjected(cause) && cause.name !== 'LogClosedError') {
      this.recorder.broken('authority', `${cause.name}: ${cause.message}`);
      this.kill('bug', 200, cause.message);
    } else this.kill('fault', this.random.span(50, 1_000), cause.message);
  }

  /** An older writer found out that a newer one has the log. */
  #deposed(process: SimProcess, fault: Error): void {
    process.die();
    this.recorder.note({ kind: 'death', node: process.name, cause: 'fault', why: fault.message, lastSeq: 0 });
  }

  /** The operator puts back the bytes that were damaged, from a mirror. */
  #repair(): void {
    const repaired = this.disk.repair();
    this.recorder.note({
      kind: 'fault',
      fault: 'repair',
      target: 'authority',
      detail: { files: repaired },
      allows: [],
    });
  }

  /** Compares the live state with a replay of what is durable; false while there is no live state. */
  async noteState(): Promise<boolean> {
    const { running } = this;
    return running !== null && (await noteState(this, running.process, running.core.authority));
  }

  /** The thread that compacts, as a process of its own that dies with its parent. */
  #threads(parent: SimProcess): Threads {
    return {
      start: (_module, input) => {
        const process = this.newProcess('compaction');
        parent.whenDead(() => process.die());
        let fail = (_fault: Error): void => {};
        const stopped = new Promise<never>((_resolve, reject) => {
          fail = reject;
        });
        const world = { files: this.disk.filesFor(process), databases: NO_DATABASES, pause: () => undefined };
        const output = runCompaction(structuredClone(input), world);
        const result = Promise.race([output.then(({ value }) => value), stopped]);
        result.catch(() => undefined);
        return {
          result,
          stop: async () => {
            process.die();
            fail(new Error('The thread was stopped.'));
          },
        };
      },
    };
  }
}

const NO_DATABASES = (): never => {
  throw new Error('There are no databases in this world.');
};

/** Whether a fault is one of the disk's, and no bug. */
function isInjected(fault: unknown): boolean {
  return fault instanceof KilledError || (fault instanceof Error && 'code' in fault);
}

/** Opaque bytes are shown by what identifies them. */
export function noteEntry(
  recorder: Recorder,
  source: EntryEvent['source'],
  node: string,
  { seq, atMs, entry }: LoggedEntry,
): void {
  const json = entryToJson(entry, seq, atMs, {
    instant,
    open: ({ length, crc }) => ({ bytes: length, crc }),
  }) as Record<string, Json> & { type: string };
  recorder.note({ kind: 'entry', source, node, seq, atMs, entry: json });
}

function refusalOf(fault: unknown): { error: string; message: string } {
  if (fault instanceof LogHeldError) return { error: fault.name, message: 'The log is in use.' };
  return fault instanceof Error
    ? { error: fault.name, message: fault.message }
    : { error: 'unknown', message: String(fault) };
}

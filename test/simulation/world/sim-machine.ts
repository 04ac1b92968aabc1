/**
 * The processes of a machine beside its main ones: their pids, as orchestrators look them up, and pipelines under the
 * product's own keepers. A killed process leaves its keepers at the end of their channel; a power failure takes
 * everything with it. Pids are reused soon, so that no code can take a pid for a process.
 */
import type { ProcessIdentity, ProcessTable } from '../../../src/seams/process-table.ts';
import type { ClientNode } from './client-node.ts';
import type { Kernel } from './kernel.ts';
import type { Random } from './random.ts';
import type { Recorder } from './recorder.ts';
import { SimProcess } from './sim-process.ts';
import type { SimProgram } from './sim-programs.ts';

/** The lowest number, and how many there are. */
const FIRST_PID = 100;
const PIDS = 7;

/** A process beside an orchestrator, and what it keeps. */
export interface SimKeeper {
  readonly client: string;
  readonly parent: SimProcess;
  readonly process: SimProcess;
  program: SimProgram | null;
  /** Its parent has disconnected. */
  isLetGo: boolean;
}

export class SimMachine {
  readonly name: string;
  readonly kernel: Kernel;
  readonly recorder: Recorder;
  readonly random: Random;
  /** Those that run on it. */
  readonly nodes: ClientNode[] = [];
  /** Of pipelines, by number. */
  readonly programs = new Map<number, SimProgram>();
  #keepers: SimKeeper[] = [];
  /** How long the next keeper lives, from its own start or that of its pipeline; null when it is not to be killed. */
  doom: { readonly from: 'start' | 'begin'; readonly afterMs: number } | null = null;
  readonly #startTimes = new Map<number, string>();
  #boots = 1;
  #starts = 0;
  #programs = 10_000;

  constructor(name: string, kernel: Kernel, recorder: Recorder, random: Random) {
    this.name = name;
    this.kernel = kernel;
    this.recorder = recorder;
    this.random = random;
  }

  /** What a process that starts now can find out about itself and others. */
  tableFor(process: SimProcess): ProcessTable {
    const pid = this.#freePid();
    const startTime = String(this.#starts);
    this.#startTimes.set(pid, startTime);
    process.whenDead(() => {
      if (this.#startTimes.get(pid) === startTime) this.#startTimes.delete(pid);
    });
    const self: ProcessIdentity = {
      boot_id: `${this.name}-${this.#boots}`,
      pid_ns: 'pid:[1]',
      pid,
      start_time: startTime,
      hostname: this.name,
    };
    return {
      hostname: this.name,
      pid,
      self: async () => self,
      startTimeOf: async (other) => this.#startTimes.get(other) ?? 'none',
      // What is read first is old when the last is read.
      living: (mark) =>
        new Promise((resolve) => {
          const found = [...this.programs.values()].map((program) => ({
            pid: program.pid,
            startTime: program.startTime,
            group: program.pid,
            isMarked: program.carries(mark),
          }));
          this.kernel.after(this.random.span(0.5, 30), process, () => resolve(found));
        }),
      killGroupOf: ({ group }) => this.programs.get(group)?.signal('SIGKILL'),
    };
  }

  #freePid(): number {
    do this.#starts += 1;
    while (this.#startTimes.has(FIRST_PID + (this.#starts % PIDS)));
    return FIRST_PID + (this.#starts % PIDS);
  }

  newKeeper(client: string, parent: SimProcess): SimKeeper {
    this.#keepers = this.#keepers.filter(({ process }) => !process.isDead);
    const process = new SimProcess(this.kernel, `${this.name}-keeper`, parent.clock, this.random);
    const keeper: SimKeeper = { client, parent, process, program: null, isLetGo: false };
    this.#keepers.push(keeper);
    this.#doomed(keeper, 'start');
    return keeper;
  }

  /** The keeper has begun its pipeline, and is about to say so. */
  begun(keeper: SimKeeper, program: SimProgram): void {
    keeper.program = program;
    this.#doomed(keeper, 'begin');
  }

  #doomed(keeper: SimKeeper, from: 'start' | 'begin'): void {
    const { doom } = this;
    if (doom?.from !== from) return;
    this.doom = null;
    this.kernel.after(doom.afterMs, null, () => this.#kill(keeper));
  }

  /** One keeper dies, and nothing with it; which one, `chosen` says, from 0 to 1. */
  killKeeper(chosen: number): void {
    const living = this.#keepers.filter(isKeeping);
    const keeper = living[Math.floor(chosen * living.length)];
    if (keeper !== undefined) this.#kill(keeper);
  }

  /** One keeper stands still, and nothing with it. */
  pauseKeeper(chosen: number, forMs: number): void {
    const living = this.#keepers.filter(isKeeping);
    const keeper = living[Math.floor(chosen * living.length)];
    if (keeper === undefined || this.nodes.some(({ isQuiet }) => isQuiet)) return;
    const { client, process, program } = keeper;
    this.recorder.note({ kind: 'keeper-pause', node: client, pid: program?.pid ?? 0, forMs });
    process.pause(forMs);
  }

  /** All keepers of one orchestrator; it dies with them. */
  killKeepersOf(client: string): void {
    for (const keeper of this.#keepers) if (keeper.client === client) this.#kill(keeper);
  }

  #kill(keeper: SimKeeper): void {
    if (!isKeeping(keeper) || this.nodes.some(({ isQuiet }) => isQuiet)) return;
    this.keeperDies(keeper);
  }

  keeperDies({ client, process, program }: SimKeeper): void {
    if (process.isDead) return;
    this.recorder.note({ kind: 'keeper-death', node: client, pid: program?.pid ?? 0 });
    process.die();
  }

  newProgramPid(): number {
    this.#programs += 1;
    return this.#programs;
  }

  /** Everything is gone at once, and after the next start it looks like another machine. */
  cutPower(): void {
    this.#boots += 1;
    for (const { process } of this.#keepers.splice(0)) process.die();
    for (const program of [...this.programs.values()]) program.end(null, 'SIGKILL');
  }
}

/** Whether its parent still listens: killing a keeper without a parent would leave no process to act. */
function isKeeping({ parent, process, isLetGo }: SimKeeper): boolean {
  return !process.isDead && !parent.isDead && !isLetGo;
}

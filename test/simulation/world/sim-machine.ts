/**
 * The processes of a machine beside its main ones: their numbers, as orchestrators look them up, and pipelines under the
 * product's own keepers. A killed process leaves its keepers alone at the end of their channel; a power cut takes
 * everything with it. Numbers come again soon, so that nobody takes a number for a process.
 */
import type { ProcessIdentity, ProcessTable } from '../../../src/orchestrator/process-identity.ts';
import type { ClientNode } from './client-node.ts';
import type { Kernel } from './kernel.ts';
import type { Random } from './random.ts';
import type { Recorder } from './recorder.ts';
import type { SimClock } from './sim-clock.ts';
import { SimProcess } from './sim-process.ts';
import type { SimProgram } from './sim-programs.ts';

/** The lowest number, and how many there are. */
const FIRST_PID = 100;
const PIDS = 7;

export class SimMachine {
  readonly name: string;
  readonly kernel: Kernel;
  readonly recorder: Recorder;
  readonly random: Random;
  /** Those that run on it. */
  readonly nodes: ClientNode[] = [];
  /** Of pipelines, by number. */
  readonly programs = new Map<number, SimProgram>();
  #keepers: SimProcess[] = [];
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
    };
  }

  #freePid(): number {
    do this.#starts += 1;
    while (this.#startTimes.has(FIRST_PID + (this.#starts % PIDS)));
    return FIRST_PID + (this.#starts % PIDS);
  }

  newKeeper(clock: SimClock): SimProcess {
    this.#keepers = this.#keepers.filter(({ isDead }) => !isDead);
    const keeper = new SimProcess(this.kernel, `${this.name}-keeper`, clock, this.random);
    this.#keepers.push(keeper);
    return keeper;
  }

  newProgramPid(): number {
    this.#programs += 1;
    return this.#programs;
  }

  /** Everything is gone at once, and after the next start it is another machine as far as anybody can tell. */
  cutPower(): void {
    this.#boots += 1;
    for (const keeper of this.#keepers.splice(0)) keeper.die();
    for (const program of [...this.programs.values()]) program.end(null, 'SIGKILL');
  }
}

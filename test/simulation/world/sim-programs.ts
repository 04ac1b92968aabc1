/**
 * Pipelines without processes. The product's own keeper runs here, each in a process of its own beside the orchestrator,
 * and what it starts are programs that come up slowly, say a word, fail, leave by themselves, or do not heed SIGTERM.
 * When each of them begins and ends is noted in the one true time of the world.
 */
import { type FromKeeper, Keeper, type ToKeeper } from '../../../src/keeper/keeper.ts';
import type {
  Child,
  Ended,
  KeeperChannel,
  KeeperOptions,
  Processes,
  StartOptions,
} from '../../../src/seams/processes.ts';
import type { SimKeeper, SimMachine } from './sim-machine.ts';
import type { SimProcess } from './sim-process.ts';

/** On behalf of which guard an orchestrator starts pipelines; known once it has one. */
export interface Commission {
  guardSeq: number;
}

const NOTHING_IS_WRITTEN = {
  append: async () => undefined,
  rename: async () => undefined,
  remove: async () => undefined,
};

/** The processes that an orchestrator on this machine can start. */
export function processesFor(
  machine: SimMachine,
  client: string,
  parent: SimProcess,
  commission: Commission,
): Pick<Processes, 'startKeeper' | 'signalGroup'> {
  const signalGroup = signalsOn(machine);
  return {
    signalGroup,
    startKeeper: (options) => {
      const keeper = machine.newKeeper(client, parent);
      const start = starterOn(machine, keeper, commission);
      return keptBy(machine, keeper, options, { start, signalGroup });
    },
  };
}

type KeeperProcesses = Pick<Processes, 'start' | 'signalGroup'>;

/** A keeper and the channel to it, of which both ends read in order, and the end of the other side last. */
function keptBy(
  machine: SimMachine,
  kept: SimKeeper,
  { received, gone }: KeeperOptions,
  processes: KeeperProcesses,
): KeeperChannel {
  const { kernel, random } = machine;
  const { parent, process } = kept;
  const toParent = pipe(machine, parent, received);
  const keeper = new Keeper(
    { clock: process.clock, timers: process.timers, processes, files: NOTHING_IS_WRITTEN },
    (message: FromKeeper) => toParent.write(message),
  );
  const toKeeper = pipe(machine, process, (message) => {
    if (message === END) keeper.abandon();
    else keeper.receive(message as ToKeeper);
  });
  let isOpen = true;
  const close = (): void => {
    if (isOpen) toKeeper.write(END);
    isOpen = false;
    kept.isLetGo = true;
  };
  // Until it has started it reads nothing, but messages are queued for it.
  process.pause(random.span(5, 80));
  parent.whenDead(close);
  process.whenDead(() => toParent.whenRead(() => kernel.after(0, parent, gone)));
  return {
    send: (message) => {
      if (isOpen) toKeeper.write(message);
    },
    close,
    kill: () => machine.keeperDies(kept),
  };
}

const END = Symbol('end');

interface Pipe {
  write(message: unknown): void;
  /** Once everything has been read that was written up to now; at once if that is so already. */
  whenRead(call: () => void): void;
}

/** One way: everything arrives, in order, after a little while. */
function pipe({ kernel, random }: SimMachine, reader: SimProcess, read: (message: unknown) => void): Pipe {
  const waiting: unknown[] = [];
  let empty = (): void => {};
  return {
    write(message) {
      waiting.push(typeof message === 'symbol' ? message : structuredClone(message));
      kernel.after(random.span(0.05, 4), reader, () => {
        read(waiting.shift());
        if (waiting.length === 0) empty();
      });
    },
    whenRead(call) {
      if (waiting.length === 0) call();
      else empty = call;
    },
  };
}

function signalsOn({ programs }: SimMachine): Processes['signalGroup'] {
  return (pid, signal) => {
    const program = programs.get(pid);
    if (program === undefined) return false;
    program.signal(signal);
    return true;
  };
}

function starterOn(machine: SimMachine, keeper: SimKeeper, { guardSeq }: Commission): Processes['start'] {
  const { kernel, random } = machine;
  return (_command, options) =>
    new Promise<Child>((resolve, reject) => {
      const isMissing = random.chance(0.04);
      // It runs before its keeper is notified, and also if its keeper never is.
      const program = isMissing
        ? null
        : new SimProgram(machine, keeper.client, keeper.process, options, guardSeq);
      if (program !== null) machine.begun(keeper, program);
      kernel.after(random.span(0.5, 40), keeper.process, () => {
        if (program === null) reject(Object.assign(new Error('no such program'), { code: 'ENOENT' }));
        else resolve(program);
      });
    });
}

/** One pipeline, from its first moment to its last. */
export class SimProgram {
  readonly pid: number;
  /** Numbers of programs are not given again here. */
  readonly startTime = '1';
  readonly ended: Promise<Ended>;
  readonly #env: StartOptions['env'];
  readonly #machine: SimMachine;
  readonly #about: {
    readonly node: string;
    readonly machine: string;
    readonly pid: number;
    readonly session: string;
    readonly slot: string;
    readonly leaseSeq: number;
    readonly guardSeq: number;
  };
  readonly #isStubborn: boolean;
  #isAlive = true;
  #isLeaving = false;
  #tellEnd: (ended: Ended) => void = () => undefined;

  constructor(
    machine: SimMachine,
    client: string,
    keeper: SimProcess,
    { env, pipes }: StartOptions,
    guardSeq: number,
  ) {
    const { kernel, random, recorder } = machine;
    this.#machine = machine;
    this.#env = env;
    this.pid = machine.newProgramPid();
    this.#about = {
      node: client,
      machine: machine.name,
      pid: this.pid,
      session: env.LEASEHOLD_SESSION_ID ?? '',
      slot: env.LEASEHOLD_SLOT ?? '',
      leaseSeq: Number(env.LEASEHOLD_LEASE_SEQ),
      guardSeq,
    };
    this.#isStubborn = random.chance(0.2);
    this.ended = new Promise((resolve) => {
      this.#tellEnd = (ended) => void kernel.after(random.span(0.1, 5), keeper, () => resolve(ended));
    });
    machine.programs.set(this.pid, this);
    recorder.note({ kind: 'pipeline', is: 'begun', ...this.#about });
    const word = new TextEncoder().encode('warming up\ngo\n');
    kernel.after(random.magnitude(5, random.chance(0.9) ? 4_000 : 25_000), keeper, () => {
      if (this.#isAlive) pipes?.output(word);
    });
    if (random.chance(0.3)) this.#endAfter(random.magnitude(5, 30_000), random.between(0, 2), null);
  }

  /** As a process table shows it. */
  carries(mark: Readonly<Record<string, string>>): boolean {
    return Object.entries(mark).every(([name, value]) => this.#env[name] === value);
  }

  signal(signal: string | 0): void {
    const { random } = this.#machine;
    if (signal === 'SIGKILL') this.#endAfter(random.span(0.05, 3), null, 'SIGKILL');
    else if (signal === 'SIGTERM' && !this.#isStubborn && !this.#isLeaving) {
      this.#isLeaving = true;
      this.#endAfter(random.magnitude(0.5, 2_000), 0, null);
    }
  }

  end(code: number | null, signal: Ended['signal']): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    this.#machine.programs.delete(this.pid);
    this.#machine.recorder.note({ kind: 'pipeline', is: 'ended', ...this.#about });
    this.#tellEnd({ code, signal });
  }

  #endAfter(ms: number, code: number | null, signal: Ended['signal']): void {
    this.#machine.kernel.after(ms, null, () => this.end(code, signal));
  }
}

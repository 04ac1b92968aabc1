/**
 * A machine with a program on it that uses the product's own client. The program is a workload; when its process is
 * killed it is started again after a while and goes on where the count of its rounds stands, knowing nothing else.
 */
import { type ConnectOptions, connectWith } from '../../../src/client/connect.ts';
import { Leasehold } from '../../../src/client/leasehold.ts';
import type { Transport } from '../../../src/client/transport.ts';
import type { ClientWorld } from '../../../src/client/world.ts';
import type { Http } from '../../../src/seams/http.ts';
import type { ProcessEnding } from '../../../src/seams/process-ending.ts';
import type { Plan } from '../plan.ts';
import { ClientProgram, type Program } from './client-program.ts';
import type { Kernel } from './kernel.ts';
import { Random } from './random.ts';
import { recordedTransport } from './recorded-transport.ts';
import type { Recorder } from './recorder.ts';
import { SimClock } from './sim-clock.ts';
import { SimMachine } from './sim-machine.ts';
import type { SimNetwork } from './sim-network.ts';
import { SimProcess } from './sim-process.ts';

export class ClientNode {
  readonly name: string;
  readonly clock: SimClock;
  /** Twins share one. */
  readonly machine: SimMachine;
  process: SimProcess | null = null;
  /** Its program has come to its end. */
  isDone = false;
  /** What it is doing now, and since when. */
  doing = 'starting';
  doingSinceMs = 0;
  roundsLeft: number;
  /** How many of it wait at once, in a crowd. */
  waiters = 0;
  /** Set when no more faults come: programs finish what they have begun. */
  isQuiet = false;
  /** It serves the others, and its work is over when theirs is. */
  isServing = false;
  /** Whether any program that it could serve has work left. */
  isNeeded: () => boolean = () => false;
  readonly #plan: Plan;
  readonly #kernel: Kernel;
  readonly #recorder: Recorder;
  readonly #network: SimNetwork;
  readonly #program: Program;
  readonly #random: Random;
  #boots = 0;

  constructor(
    name: string,
    rounds: number,
    program: Program,
    plan: Plan,
    kernel: Kernel,
    recorder: Recorder,
    network: SimNetwork,
    twin: ClientNode | null = null,
  ) {
    this.name = name;
    this.roundsLeft = rounds;
    this.#program = program;
    this.#plan = plan;
    this.#kernel = kernel;
    this.#recorder = recorder;
    this.#network = network;
    this.#random = new Random(plan.seed, `client-${name}`);
    this.clock = new SimClock(
      kernel,
      this.#random.span(-plan.skewMs, plan.skewMs),
      this.#random.span(1, 9_000),
    );
    const programs = new Random(plan.seed, `programs-${name}`);
    this.machine = twin?.machine ?? new SimMachine(`host-${name}`, kernel, recorder, programs);
    this.machine.nodes.push(this);
  }

  boot(): void {
    if (this.process !== null || this.isDone) return;
    this.#boots += 1;
    const random = new Random(this.#plan.seed, `${this.name}-${this.#boots}`);
    const process = new SimProcess(this.#kernel, this.name, this.clock, random);
    this.process = process;
    this.#recorder.note({ kind: 'boot', node: this.name, epoch: 0, lastSeq: 0, lastAtMs: 0 });
    void this.#run(process, random);
  }

  /** `isSilent`: the machine is gone too, and the server gets no notice that the connections are. */
  kill(downMs: number, isSilent: boolean, why: string): void {
    const { process } = this;
    if (process === null) return;
    this.process = null;
    if (isSilent) this.machine.cutPower();
    process.die();
    if (!isSilent) this.#network.clientDied(process);
    this.#recorder.note({
      kind: 'death',
      node: this.name,
      cause: isSilent ? 'power' : 'kill',
      why,
      lastSeq: 0,
    });
    this.#kernel.after(downMs, null, () => this.boot());
    if (isSilent) for (const twin of this.machine.nodes) twin.kill(downMs, true, why);
  }

  async #run(process: SimProcess, random: Random): Promise<void> {
    const recorder = this.#recorder;
    const leasehold = this.connect(process);
    const program = new ClientProgram(this, process, leasehold, random, recorder, this.#boots);
    try {
      await this.#program(program);
    } catch (fault) {
      if (process.isDead) return;
      recorder.broken(this.name, fault instanceof Error ? `${fault.name}: ${fault.message}` : String(fault));
    }
    if (process.isDead) return;
    this.isDone = true;
    this.process = null;
    await leasehold.close();
  }

  /** For programs that do not use the client. */
  http(process: SimProcess): Http {
    return this.#network.httpFor(process);
  }

  /** A client of a process, which need not be the one that runs here now. */
  connect(process: SimProcess, options: ConnectOptions = {}): Leasehold {
    const recorder = this.#recorder;
    class Recorded extends Leasehold {
      constructor(transport: Transport, own: ClientWorld) {
        super(recordedTransport(transport, recorder, process), own);
      }
    }
    const http = () => this.#network.httpFor(process);
    return connectWith(
      Recorded,
      { http, sockets: () => this.#network.socketsFor(process) },
      this.#world(process),
      'http://authority:7420',
      options,
    );
  }

  #world(process: SimProcess): ClientWorld {
    const { clock, timers, newToken } = process;
    const end = (why: string): void => {
      if (!process.isDead && this.process === process) this.kill(this.#random.span(100, 2_000), false, why);
    };
    return { clock, timers, newToken, label: this.name, ending: this.#ending(process, end) };
  }

  /** The watchdog of a guard is a thread of the same process: a blocked loop does not stop it, SIGSTOP does. */
  #ending(process: SimProcess, end: (why: string) => void): ProcessEnding {
    return {
      startWatchdog: async () => {
        let watch = { cancel: () => {} };
        let isStopped = false;
        return {
          moveTo: ({ monotonicMs, wallMs }) => {
            watch.cancel();
            if (isStopped) return;
            const { clock } = process;
            const leftMs = Math.min(monotonicMs - clock.monotonicMs(), wallMs - clock.wallMs());
            watch = this.#kernel.at(clock.simMsIn(Math.max(0, leftMs)) + 20, process.threads, () => {
              if (!isStopped) end('watchdog');
            });
          },
          stop: () => {
            isStopped = true;
            watch.cancel();
          },
        };
      },
      endProcess: (code, says) => end(`${code}: ${says}`),
    };
  }
}

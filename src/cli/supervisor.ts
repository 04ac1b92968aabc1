/**
 * Keeps one program running: when it ends unasked, it is restarted after a pause that doubles while it keeps ending soon.
 * It gives up when the program reports wrong usage, which a restart cannot cure. A program that may run only at times
 * (`turn`) is started when its turn comes. It runs in its own process group: a Ctrl-C in the terminal reaches only the
 * supervisor, which decides the order in which processes end.
 */

import { atMost } from '../keeper/at-most.ts';
import type { Timers } from '../seams/clock.ts';
import type { Child, Processes } from '../seams/processes.ts';
import { EXIT } from './failure.ts';

export interface SupervisorWorld {
  readonly clock: { monotonicMs(): number };
  readonly timers: Timers;
  readonly processes: Pick<Processes, 'start' | 'signalGroup'>;
  say(line: string): void;
}

export interface SupervisedProgram {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How long it may take to end when asked to. */
  readonly endsWithinMs: number;
  /** When it may run; always, without this. */
  readonly turn?: { isHere(): boolean; comes(): Promise<void> };
}

const FIRST_PAUSE_MS = 500;
const PAUSE_MAX_MS = 5_000;
/** A program that ran this long had started well; its end begins a new series. */
const GOOD_MS = 60_000;
/** How long to wait for the end of a killed program. */
const KILLED_MS = 2_000;

export class Supervisor {
  private readonly world: SupervisorWorld;
  private readonly program: SupervisedProgram;
  private child: Child | null = null;
  private isStopping = false;
  private wake: () => void = () => undefined;
  private readonly running: Promise<number | null>;

  constructor(world: SupervisorWorld, program: SupervisedProgram) {
    this.world = world;
    this.program = program;
    this.running = this.run();
  }

  /** Settles with the exit code when it gives up; otherwise only after `stop`. */
  get gaveUp(): Promise<number> {
    return this.running.then((code) => code ?? new Promise<number>(() => undefined));
  }

  /** Asks it to end, waits for it, and kills it when that takes too long. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.wake();
    this.signal('SIGTERM');
    const { timers } = this.world;
    const ended = await atMost(timers, this.program.endsWithinMs, this.done());
    if (ended === true) return;
    this.signal('SIGKILL');
    await atMost(timers, KILLED_MS, this.done());
  }

  /** Kills it at once. */
  kill(): void {
    this.isStopping = true;
    this.signal('SIGKILL');
  }

  private async done(): Promise<true> {
    await this.running;
    return true;
  }

  private signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    if (this.child !== null) this.world.processes.signalGroup(this.child.pid, signal);
  }

  private async run(): Promise<number | null> {
    const { clock, say } = this.world;
    const { name, turn } = this.program;
    let pauseMs = FIRST_PAUSE_MS;
    while (!this.isStopping) {
      if (turn?.isHere() === false) {
        await Promise.race([turn.comes(), this.woken()]);
        pauseMs = FIRST_PAUSE_MS;
        // The turn may have ended meanwhile.
        continue;
      }
      const fromMs = clock.monotonicMs();
      const { code, says } = await this.runOnce();
      if (this.isStopping) return null;
      if (code === EXIT.usage) return code;
      if (clock.monotonicMs() - fromMs >= GOOD_MS) pauseMs = FIRST_PAUSE_MS;
      if (turn?.isHere() === false) {
        say(`The ${name} ${says}.`);
        continue;
      }
      say(`The ${name} ${says}; it is started again in ${pauseMs} ms.`);
      await this.pause(pauseMs);
      pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS);
    }
    return null;
  }

  private async runOnce(): Promise<{ code: number | null; says: string }> {
    const { command, env } = this.program;
    try {
      this.child = await this.world.processes.start(command, { env, pipes: null });
    } catch (fault) {
      // The system may be out of processes or memory for a while.
      return { code: null, says: `could not be started (${(fault as NodeJS.ErrnoException).code ?? fault})` };
    }
    // `stop` may have been called while it was starting.
    if (this.isStopping) this.signal('SIGTERM');
    const { code, signal } = await this.child.ended;
    this.child = null;
    return { code, says: `has ended (${signal ?? `exit code ${code}`})` };
  }

  private async pause(ms: number): Promise<void> {
    await atMost(this.world.timers, ms, this.woken());
  }

  private woken(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
}

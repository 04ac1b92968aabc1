// A shell for commands without a process: screens to read, files in a map, signals sent by hand, and an authority in
// memory whose time the test moves. Every connection reaches the same authority.

import { createInterface } from 'node:readline';
import { type PassThrough, Readable } from 'node:stream';
import { asksForJson, endingOf, lastLine } from '../../src/cli/ending.ts';
import { runProgram } from '../../src/cli/program.ts';
import type { Screen, Server, Shell } from '../../src/cli/shell.ts';
import { Leasehold } from '../../src/client/leasehold.ts';
import type { Engine } from '../../src/engines/log.ts';
import { MemoryDisk } from '../../src/engines/memory/memory-disk.ts';
import { memoryEngine } from '../../src/engines/memory/memory-engine.ts';
import { openCore, type World } from '../../src/open.ts';
import { openCalls } from '../../src/operations/calls.ts';
import { localTransport } from '../../src/operations/local-transport.ts';
import type { Processes, SignalName } from '../../src/seams/processes.ts';
import { ManualWorld } from './manual-world.ts';

class TestScreen implements Screen {
  text = '';
  isTerminal = false;
  columns = 100;
  rows = 40;

  write(text: string): void {
    this.text += text;
  }

  /** What has been written since the last time. */
  take(): string {
    const { text } = this;
    this.text = '';
    return text;
  }
}

export interface CommandRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export class TestShell {
  readonly world = new ManualWorld();
  readonly env: Record<string, string | undefined> = {};
  readonly files = new Map<string, string>();
  readonly out = new TestScreen();
  readonly err = new TestScreen();
  /** Where commands have connected to, newest last. */
  readonly servers: Server[] = [];
  input = '';
  /** Instead of `input`: lines that a person types while the command waits. */
  typed: PassThrough | null = null;
  /** Whether a command has asked not to be kept by what it left open. */
  endsWhenDone = false;
  press: (key: string) => void = () => undefined;
  signal: (signal: SignalName) => void = () => undefined;
  private readonly handles: () => Leasehold;
  private code = 0;

  private constructor(handles: (world: ManualWorld) => Leasehold) {
    this.handles = () => handles(this.world);
  }

  /** With `servingThreads` the authority shows earlier moments, if its engine has any. */
  static async open(
    engine: Engine = memoryEngine(new MemoryDisk()),
    more: Pick<World, 'servingThreads'> = {},
  ): Promise<TestShell> {
    let connect = (): Leasehold => {
      throw new Error('The shell is not open yet.');
    };
    const shell = new TestShell(() => connect());
    const world = Object.assign(shell.world, more);
    const core = await world.finish(openCore(engine, world));
    const transport = localTransport(core.authority, openCalls(core.calls), world.timers);
    // A command closes its connection; the authority outlives it.
    connect = () => new Leasehold({ ...transport, close: async () => undefined }, shell.world);
    return shell;
  }

  /** A handle of the test's own. */
  get lh(): Leasehold {
    return this.handles();
  }

  /** Runs a command to its end while time stands still. */
  run(...args: string[]): Promise<CommandRun> {
    return this.world.finish(this.start(...args));
  }

  /** Starts a command that ends only when something happens. */
  async start(...args: string[]): Promise<CommandRun> {
    this.code = 0;
    this.out.take();
    this.err.take();
    try {
      await runProgram(this.shell(), args);
    } catch (fault) {
      const ending = endingOf(fault);
      this.code = ending.exitCode;
      if (ending.sentence !== null) this.err.write(`${lastLine({ json: asksForJson(args) }, ending)}\n`);
    }
    return { code: this.code, out: this.out.take(), err: this.err.take() };
  }

  shell(): Shell {
    const { world, files } = this;
    return {
      env: this.env,
      out: this.out,
      err: this.err,
      input: async () => this.input,
      inputLines: (signal) => this.linesUntil(signal),
      keys: (pressed) => {
        this.press = pressed;
        return () => undefined;
      },
      connect: async (server) => {
        this.servers.push(server);
        return this.handles();
      },
      clock: world.clock,
      machineClock: world.clock,
      timers: world.timers,
      newToken: world.newToken,
      files: {
        async read(path) {
          const text = files.get(path);
          if (text === undefined) throw new Error(`There is no ${path}.`);
          return text;
        },
        async write(path, text) {
          files.set(path, text);
        },
        makeTemporary: async (prefix) => `/tmp/${prefix}1`,
        openReplaceable: async () => ({
          replacement: async () => null,
          text: async () => '',
          close: async () => undefined,
        }),
        async remove(path) {
          for (const name of files.keys()) if (name.startsWith(path)) files.delete(name);
        },
      },
      processes: this.processes(),
      endWhenDone: () => {
        this.endsWhenDone = true;
      },
      outliveReaders: () => undefined,
      exitWith: (code) => {
        this.code = code;
      },
    };
  }

  private linesUntil(signal: AbortSignal): AsyncIterable<string> {
    return createInterface({ input: this.typed ?? Readable.from([this.input]), signal });
  }

  private processes(): Processes {
    const none = (): never => {
      throw new Error('There are no processes in this shell.');
    };
    return {
      start: none,
      lookFor: none,
      startKeeper: none,
      signalGroup: none,
      onSignals: (_signals, call) => {
        this.signal = call;
        return () => undefined;
      },
    };
  }
}

/** One JSON value a line. */
export function ndjson({ out }: CommandRun): Record<string, unknown>[] {
  return out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

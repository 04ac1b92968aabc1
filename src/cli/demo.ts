/**
 * `leasehold demo`: what fencing is for, with nothing staged. A real server on a scratch directory, two real
 * processes that want the same lease; the first is stopped with SIGSTOP, the second takes over when the
 * lease has run out, the first wakes up, believes it still holds it, and its write is refused.
 */
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { sleep } from '../client/sleep.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { type Child, exitCodeOf } from '../seams/processes.ts';
import { makeLogger } from '../server/make-logger.ts';
import { type Served, serve } from '../server/serve.ts';
import { nodeFiles } from '../world/node-files.ts';
import { loopLag } from '../world/node-loop-lag.ts';
import { nodeThreads } from '../world/node-threads.ts';
import { systemIds } from '../world/system-ids.ts';
import { examples } from './connection.ts';
import type { HolderWord } from './demo-holder.ts';
import { onEndingSignals } from './ending-signals.ts';
import { answered, Failure } from './failure.ts';
import type { Paint } from './format.ts';
import { paintOf, sayJson } from './output.ts';
import type { Shell } from './shell.ts';
import { VERSION } from './version.ts';

/** Built, this file and the other one end in .js; run from source, on a Node that can, both end in .ts. */
const HOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './demo-holder.ts' : './demo-holder.js', import.meta.url),
);
const NAME = 'nightly-report';
/** A step that takes longer than this has failed. */
const PATIENCE_MS = 60_000;

interface Pace {
  readonly ttlMs: number;
  /** The pause between two sentences, for the reader. */
  readonly pauseMs: number;
}

const PACES: Readonly<Record<'usual' | 'fast', Pace>> = {
  usual: { ttlMs: 4_000, pauseMs: 2_500 },
  fast: { ttlMs: 1_000, pauseMs: 0 },
};

interface DemoOptions {
  readonly fast?: boolean;
  readonly json?: boolean;
}

export function demoCommand(shell: Shell): Command {
  return new Command('demo')
    .description('Watch a late write being refused, in half a minute.')
    .option('--fast', 'without pauses for reading')
    .option('--json', 'print only the outcome, as one JSON object')
    .addHelpText('after', examples('leasehold demo'))
    .action(async (options: DemoOptions) => {
      const ending = new AbortController();
      let demo: Demo | null = null;
      onEndingSignals(shell, options, {
        asked(signal) {
          shell.exitWith(exitCodeOf({ code: null, signal }, constants.signals));
          ending.abort();
        },
        hurried: () => demo?.end(),
      });
      const dir = await shell.files.makeTemporary('leasehold-demo-');
      try {
        const served = await startServer(shell, dir);
        try {
          demo = new Demo(shell, served, dir, options, ending.signal);
          await demo.play();
        } finally {
          await served.stop();
        }
      } finally {
        await shell.files.remove(dir);
      }
    });
}

function startServer(shell: Shell, dir: string): Promise<Served> {
  const engine = fileEngine({ dir, files: nodeFiles, threads: nodeThreads, allowNetworkFileSystem: true });
  const world = { ...shell, hashSeed: systemIds.seed(), logger: makeLogger('silent'), loopLag };
  return serve(engine, world, { host: '127.0.0.1', port: 0, version: VERSION });
}

class Demo {
  private readonly shell: Shell;
  private readonly served: Served;
  private readonly dir: string;
  private readonly pace: Pace;
  private readonly isSilent: boolean;
  private readonly paint: Paint;
  private readonly ending: AbortSignal;
  private readonly holders: Holder[] = [];

  constructor(shell: Shell, served: Served, dir: string, { fast, json }: DemoOptions, ending: AbortSignal) {
    this.shell = shell;
    this.served = served;
    this.dir = dir;
    this.pace = PACES[fast || json ? 'fast' : 'usual'];
    this.isSilent = json === true;
    this.paint = paintOf(shell);
    this.ending = ending;
  }

  /** Runs to its end, or until a signal asks it to end; then it prints nothing more. */
  async play(): Promise<void> {
    try {
      await this.scenes();
    } catch (fault) {
      if (!this.ending.aborted) throw fault;
    } finally {
      this.end();
      await Promise.all(this.holders.map(({ child }) => child.ended));
    }
  }

  private async scenes(): Promise<void> {
    const { bold, cyan, dim, green, red, yellow } = this.paint;
    const { ttlMs } = this.pace;
    const ttl = `${ttlMs / 1_000} s`;
    await this.say(`A server runs at ${this.served.url}, its log is in ${this.dir}.`);
    await this.say(`Two processes want the lease ${bold(NAME)}, which lasts ${ttl} unless it is renewed.\n`);

    const anna = await this.start('anna');
    const first = await anna.hears('granted');
    await this.say(
      `${cyan('anna')}  (process ${anna.child.pid}) holds it, with the fencing number ${bold(String(first.leaseSeq))}.`,
    );
    const wrote = await anna.hears('wrote');
    await this.say(
      `${cyan('anna')}  writes under ${first.leaseSeq}: ${green('accepted')}, version ${wrote.version}.`,
    );
    const boris = await this.start('boris');
    await this.say(`${yellow('boris')} (process ${boris.child.pid}) waits in line for the same lease.\n`);

    this.shell.processes.signalGroup(anna.child.pid, 'SIGSTOP');
    await this.say(
      `${red('kill -STOP')} ${anna.child.pid}: anna is frozen in mid-step, as by a long pause of its machine.`,
    );
    await this.say(dim(`The lease is not renewed now. After ${ttl} it is over …`));
    const second = await boris.hears('granted');
    await this.say(
      `${yellow('boris')} holds it now, with the fencing number ${bold(String(second.leaseSeq))}.`,
    );
    const taken = await boris.hears('wrote');
    await this.say(
      `${yellow('boris')} writes under ${second.leaseSeq}: ${green('accepted')}, version ${taken.version}.\n`,
    );

    this.shell.processes.signalGroup(anna.child.pid, 'SIGCONT');
    await this.say(
      `${green('kill -CONT')} ${anna.child.pid}: anna wakes up. For anna no time has passed, and it continues to write.`,
    );
    const refused = await anna.hears('refused');
    await this.say(
      `${cyan('anna')}  writes under ${bold(String(refused.leaseSeq))}: ${red(`refused, ${refused.code}`)}. The fence stands at ${bold(String(refused.fence))}.\n`,
    );
    await this.conclude(refused);
  }

  /** Reads the object and the receipt through the public API. */
  private async conclude(refused: HolderWord & { is: 'refused' }): Promise<void> {
    const lh = await this.shell.connect({ url: this.served.url, token: null });
    try {
      const object = answered(await lh.call('object.get', { object_id: NAME }));
      const { receipts } = answered(await lh.call('receipt.list', { object_id: NAME, limit: 1 }));
      await this.say(
        `The object says ${this.paint.bold(object.value?.text() ?? 'nothing')}, written under ${object.lease_seq}.`,
      );
      await this.say(`The receipt of the refusal: ${JSON.stringify(receipts[0])}`);
      await this.say(
        `\nNo clock was consulted: ${refused.leaseSeq} is less than ${refused.fence}, so the write is refused. Try it yourself with \`leasehold up\` and \`leasehold run\`.`,
      );
      if (!this.isSilent) return;
      sayJson(this.shell, {
        code: refused.code,
        presented_lease_seq: refused.leaseSeq,
        current_fence: refused.fence,
        object: { value: object.value, version: object.version, lease_seq: object.lease_seq },
        receipt: receipts[0] ?? null,
      });
    } finally {
      await lh.close();
    }
  }

  private async start(name: string): Promise<Holder> {
    const holder = new Holder(this.shell, this.ending);
    const command = [process.execPath, HOLDER, this.served.url, NAME, name, String(this.pace.ttlMs)];
    await holder.start(command);
    this.holders.push(holder);
    this.ending.throwIfAborted();
    return holder;
  }

  end(): void {
    for (const { child } of this.holders) this.shell.processes.signalGroup(child.pid, 'SIGKILL');
  }

  private async say(line: string): Promise<void> {
    this.ending.throwIfAborted();
    if (this.isSilent) return;
    this.shell.out.write(`${line}\n`);
    await sleep(this.shell.timers, this.pace.pauseMs, this.ending);
    this.ending.throwIfAborted();
  }
}

/** A holder as the demo sees it: a process, and its reports. */
class Holder {
  child: Child = { pid: 0, startTime: null, ended: Promise.resolve({ code: 0, signal: null }) };
  private readonly shell: Shell;
  private readonly ending: AbortSignal;
  private readonly words: HolderWord[] = [];
  private text = '';
  private errors = '';
  private hasEnded = false;
  private wake = (): void => undefined;

  constructor(shell: Shell, ending: AbortSignal) {
    this.shell = shell;
    this.ending = ending;
    ending.addEventListener('abort', () => this.wake());
  }

  async start(command: readonly string[]): Promise<void> {
    const { env, processes } = this.shell;
    const pipes = {
      input: new Uint8Array(),
      output: (bytes: Uint8Array) => this.read(Buffer.from(bytes).toString('utf8')),
      errors: (bytes: Uint8Array) => {
        this.errors += Buffer.from(bytes).toString('utf8');
      },
    };
    this.child = await processes.start(command, { env, pipes });
    void this.child.ended.then(() => {
      this.hasEnded = true;
      this.wake();
    });
  }

  /** The next report of this kind; reports of other kinds before it are skipped. */
  async hears<K extends HolderWord['is']>(kind: K): Promise<HolderWord & { is: K }> {
    const { timers } = this.shell;
    const hold = timers.hold();
    let isLate = false;
    const timer = timers.after(PATIENCE_MS, () => {
      isLate = true;
      this.wake();
    });
    try {
      for (;;) {
        this.ending.throwIfAborted();
        const at = this.words.findIndex(({ is }) => is === kind);
        if (at >= 0) return this.words.splice(0, at + 1)[at] as HolderWord & { is: K };
        if (this.hasEnded)
          throw new Failure(`A holder ended before its time: ${this.errors.trim() || 'it did not say why'}`);
        if (isLate) throw new Failure(`Nothing happened for ${PATIENCE_MS / 1_000} seconds.`);
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      }
    } finally {
      timer.cancel();
      hold.cancel();
    }
  }

  private read(text: string): void {
    const lines = (this.text + text).split('\n');
    this.text = lines.pop() ?? '';
    for (const line of lines) this.words.push(JSON.parse(line) as HolderWord);
    this.wake();
  }
}

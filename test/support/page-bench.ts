// Runs the blocks of a page one after the other as a reader would: in a directory of their own, on the built package, with
// a real server. A program that says in a comment what a `console.log` prints must print that. A command must succeed. A
// command that goes on until it is ended, such as a server, does so in the background until the page ends; the page's later
// blocks talk to the server that it started itself, or else to one that is there.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';
import { expect } from 'vitest';
import { CliBench, MAIN, type Process, type Result } from './cli-processes.ts';
import { type Block, blocksOf, commandsOf, NOT_RUN, programOf, ROOT } from './page-blocks.ts';

/** Words of the page that stand for something of the reader's own, and what that is here. */
export type StandIns = Readonly<Record<string, () => string | Promise<string>>>;

export interface Options {
  /** Called before each block: what the page says has happened, and no block of it does. */
  readonly before?: (block: Block) => Promise<void>;
  readonly change?: (program: string) => string;
  readonly sql?: (text: string) => Promise<unknown>;
}

const SERVES = /\bleasehold (up|serve)\b/;
const STAYS = /\bleasehold (up|serve|postgres relay|work (?!.*--exit-when-empty))|\bcurl -N\b/;

/** `npm install` gives the reader packages from a registry; here it links those of this repository. */
const PROGRAMS: Readonly<Record<string, string>> = {
  leasehold: `exec '${process.execPath}' '${MAIN}' "$@"`,
  npx: 'exec "$@"',
  npm: `
[ "$1" = install ] || { echo "npm $1 is not for tests" >&2; exit 2; }
shift
for name; do
  mkdir -p "node_modules/$(dirname "$name")"
  if [ "$name" = leasehold ]; then target='${ROOT}'; else target="${join(ROOT, 'node_modules')}/$name"; fi
  [ -e "$target" ] || { echo "no package $name" >&2; exit 1; }
  ln -sfn "$target" "node_modules/$name"
done`,
};

export class PageBench {
  readonly dir: string;
  private readonly bench = new CliBench();
  private readonly standIns: StandIns;
  private readonly env: Record<string, string>;
  private readonly staying: Process[] = [];
  /** What the reader has put into the environment of the shell. */
  private exports = '';

  constructor(standIns: StandIns = {}, env: Readonly<Record<string, string>> = {}) {
    this.dir = join(this.bench.dir, 'page');
    const bin = join(this.bench.dir, 'bin');
    for (const folder of [bin, join(this.dir, 'node_modules')]) mkdirSync(folder, { recursive: true });
    symlinkSync(ROOT, join(this.dir, 'node_modules', 'leasehold'));
    for (const [name, script] of Object.entries(PROGRAMS)) this.program(join(bin, name), script);
    // An answer of 400 or more is a failure of curl.
    writeFileSync(join(this.bench.dir, '.curlrc'), 'fail\nsilent\nshow-error\n');
    this.standIns = { 'http://127.0.0.1:7420': () => this.url, ...standIns };
    this.env = {
      PATH: `${bin}:${process.env.PATH}`,
      CURL_HOME: this.bench.dir,
      LEASEHOLD_LISTEN: '127.0.0.1:0',
      ...env,
    };
  }

  get url(): string {
    return this.bench.url;
  }

  /** A program of the reader's own, as a script of the shell. */
  program(path: string, script: string): void {
    writeFileSync(resolve(this.dir, path), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  async run(page: string, { before, change, sql }: Options = {}): Promise<void> {
    const blocks = blocksOf(page);
    const isServing = blocks.some(({ language, text }) => language === 'sh' && SERVES.test(text));
    const asks = blocks.some(({ language, text }) => language === 'sh' || /\bconnect\(/.test(text));
    if (asks && !isServing) await this.bench.serve();
    for (const block of blocks) {
      await before?.(block);
      if (block.language === 'sh') await this.runCommands(block);
      if (block.language === 'js' || block.language === 'ts') await this.runProgram(block, change);
      if (block.language === 'sql') await sql?.(await this.filledIn(block.text));
    }
    await this.endStaying();
  }

  close(): Promise<void> {
    return this.bench.close();
  }

  private async runProgram(block: Block, change: Options['change'] = (program) => program): Promise<void> {
    const program = await this.filledIn(change(programOf(block)));
    const name = `line-${block.line}.mjs`;
    const target = ts.ScriptTarget.ES2022;
    const code =
      block.language === 'js' ? program : ts.transpile(program, { target, module: ts.ModuleKind.ESNext });
    writeFileSync(join(this.dir, name), code);
    const { status, stdout, stderr } = await this.ended(`exec '${process.execPath}' ${name}`);
    expect({ status, stderr }, `${block.page}:${block.line}`).toEqual({ status: 0, stderr: '' });
    const said = [...program.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => `${text}\n`);
    if (said.length > 0) expect(stdout, `${block.page}:${block.line}`).toBe(said.join(''));
  }

  private async runCommands(block: Block): Promise<void> {
    const skipped = NOT_RUN.filter(({ page }) => page === block.page).map(({ command }) => command);
    let script = '';
    for (const command of commandsOf(block)) {
      if (skipped.includes(command)) continue;
      if (command.startsWith('export ')) this.exports += `${await this.filledIn(command)}\n`;
      else if (!STAYS.test(command)) script += `${command}\n`;
      else {
        await this.succeeds(block, script);
        script = '';
        await this.stays(command);
      }
    }
    await this.succeeds(block, script);
  }

  private async succeeds(block: Block, script: string): Promise<void> {
    if (script === '') return;
    const { status, stdout, stderr } = await this.ended(`set -e\n${script}`);
    expect(status, `${block.page}:${block.line}\n${stdout}${stderr}`).toBe(0);
  }

  /** A server takes the place of the one before it. */
  private async stays(command: string): Promise<void> {
    if (SERVES.test(command)) await this.endStaying();
    const process = await this.start(`exec env ${command}`);
    this.staying.push(process);
    const [found] = await process.says(SERVES.test(command) ? /http:\/\/127\.0\.0\.1:\d+/ : /\S/);
    if (SERVES.test(command)) this.bench.url = found;
  }

  private async endStaying(): Promise<void> {
    for (const process of this.staying.splice(0).reverse()) {
      process.kill('SIGTERM');
      const { status, signal, stderr } = await process.ended;
      // What has not come so far that it handles the signal is ended by it.
      expect(signal === 'SIGTERM' ? 0 : status, stderr).toBe(0);
    }
  }

  private async filledIn(text: string): Promise<string> {
    let filled = text;
    for (const [word, value] of Object.entries(this.standIns)) {
      if (filled.includes(word)) filled = filled.replaceAll(word, await value());
    }
    return filled;
  }

  private async ended(script: string): Promise<Result> {
    return (await this.start(script)).ended;
  }

  private async start(script: string): Promise<Process> {
    const under = ['sh', '-c', await this.filledIn(`cd '${this.dir}'\n${this.exports}${script}`)];
    return this.bench.start([], { under, env: this.env });
  }
}

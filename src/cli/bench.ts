/**
 * `leasehold bench`: measures this machine and its disk, with every answer durable. It starts its own server, in a
 * separate process as in production, on a directory that is removed afterwards. Another server is put under load
 * only when it is named on the command line, never because LEASEHOLD_URL happens to be set.
 */
import { constants } from 'node:os';
import { Command } from 'commander';
import { exitCodeOf, type Pipes } from '../seams/processes.ts';
import { boundedMs, defaulted, directory, positiveNumber } from './arguments.ts';
import { LOADS, type Measured, type Measuring, measure } from './bench-load.ts';
import { connectionFailure, examples, serverOf } from './connection.ts';
import { onEndingSignals } from './ending-signals.ts';
import { Failure, wrongUsage } from './failure.ts';
import { KeptChildren } from './kept-children.ts';
import { MAIN } from './main-file.ts';
import { paintOf, sayJson, sayLines } from './output.ts';
import type { Server, Shell } from './shell.ts';

const IN_FLIGHT = [1, 64, 1_024];
const FOR_MS = 3_000;
/** The durations of all turns are kept until their row is done. */
const FOR_MAX_MS = 600_000;
/** Warm-up: code that has just been loaded is many times slower than a second later. */
const WARM_SHARE = 1 / 3;
/** If this process is killed, its own server ends within this time. */
const KEPT_MS = 10_000;
const KILL_AFTER_MS = 5_000;

interface BenchOptions {
  readonly server?: string;
  readonly token?: string;
  readonly dir: string;
  readonly for: number;
  readonly inFlight?: number[];
  readonly json?: boolean;
}

export function benchCommand(shell: Shell): Command {
  return new Command('bench')
    .description('Measure what this machine does: tasks and leases a second, every answer durable.')
    .option('--server <url>', 'measure this server instead of a temporary one (LEASEHOLD_URL is ignored)')
    .option('--token <token>', 'the bearer token to send')
    .option(
      '--dir <dir>',
      'a directory on the disk to measure; a temporary one is created in it',
      directory,
      '.',
    )
    .addOption(
      defaulted('--for <duration>', 'how long each row is measured', boundedMs(1, FOR_MAX_MS), FOR_MS, '3s'),
    )
    .option(
      '--in-flight <n...>',
      `the number of concurrent callers, a row for each (default ${IN_FLIGHT.join(' ')})`,
      (text: string, before: number[] = []) => [...before, positiveNumber(text)],
    )
    .option('--json', 'print JSON: one object a row')
    .addHelpText(
      'after',
      `${examples(
        'leasehold bench --dir /var/lib',
        'leasehold bench --server http://127.0.0.1:7420 --in-flight 64 --for 10s',
      )}

A row is one kind of work, repeated by that many concurrent callers of one client: the rate per second and the latency of
one turn. The client and the server share this machine, unless --server names one elsewhere. That server is left with the
tasks that were completed, in queues that begin with leasehold-bench, until it forgets them.`,
    )
    .action((options: BenchOptions) => bench(shell, options));
}

async function bench(shell: Shell, options: BenchOptions): Promise<void> {
  const ending = new AbortController();
  onEndingSignals(shell, options, {
    asked(signal) {
      ending.abort();
      shell.exitWith(exitCodeOf({ code: null, signal }, constants.signals));
    },
  });
  if (options.server !== undefined) {
    return measureAll(shell, options, serverOf({ env: {} }, options), ending.signal);
  }
  const dir = await shell.files
    .makeTemporary('leasehold-bench-', options.dir)
    .catch(({ code }: NodeJS.ErrnoException) => {
      throw wrongUsage(`No directory can be created in ${options.dir} (${code}).`);
    });
  try {
    await withOwnServer(shell, dir, (server) => measureAll(shell, options, server, ending.signal));
  } finally {
    await shell.files.remove(dir);
  }
}

async function measureAll(
  shell: Shell,
  options: BenchOptions,
  server: Server,
  signal: AbortSignal,
): Promise<void> {
  const lh = await shell.connect(server);
  try {
    let head = [paintOf(shell).dim(rowText(HEAD))];
    for (const what of Object.keys(LOADS)) {
      for (const inFlight of options.inFlight ?? IN_FLIGHT) {
        const { clock } = shell;
        const measuring: Measuring = { clock, forMs: options.for, signal };
        await measure(lh, what, inFlight, { ...measuring, forMs: options.for * WARM_SHARE });
        const measured = await measure(lh, what, inFlight, measuring);
        if (signal.aborted) return;
        if (options.json) sayJson(shell, measured);
        else sayLines(shell, [...head, rowText(cellsOf(measured))]);
        head = [];
      }
    }
  } catch (fault) {
    throw connectionFailure(fault, server);
  } finally {
    await lh.close();
  }
}

/** Runs `work` with the URL of a server on `dir`, and ends that server in any case. */
async function withOwnServer(
  shell: Shell,
  dir: string,
  work: (server: Server) => Promise<void>,
): Promise<void> {
  const children = new KeptChildren(shell, KEPT_MS);
  const ending = new AbortController();
  let said = '';
  let errors = '';
  let begun = (_: string): void => undefined;
  const url = new Promise<string>((resolve) => {
    begun = resolve;
  });
  const pipes: Pipes = {
    input: new Uint8Array(),
    output(bytes) {
      said += Buffer.from(bytes).toString('utf8');
      const [line, ...rest] = said.split('\n');
      if (rest.length > 0) begun((JSON.parse(line!) as { readonly url: string }).url);
    },
    errors(bytes) {
      errors += Buffer.from(bytes).toString('utf8');
    },
  };
  const command = [process.execPath, ...process.execArgv, MAIN, 'serve', '--data', dir];
  const quiet = ['--listen', '127.0.0.1:0', '--json', '--log-level', 'error'];
  const env = Object.fromEntries(
    Object.entries(shell.env).filter(([name]) => !name.startsWith('LEASEHOLD_')),
  );
  const ender = { signal: ending.signal, killAfterMs: () => KILL_AFTER_MS };
  const ended = children.run([...command, ...quiet], { env, pipes }, [ender], () => KEPT_MS);
  try {
    const early = ended.then(() => {
      throw new Failure(`The server that was to be measured ended: ${errors.trim() || 'it did not say why'}`);
    });
    early.catch(() => undefined);
    await Promise.race([early, url.then((found) => work({ url: found, token: null }))]);
  } finally {
    ending.abort();
    await ended;
    children.close();
  }
}

const HEAD = ['WHAT', 'IN FLIGHT', 'A SECOND', 'P50 MS', 'P99 MS'];
const WIDTHS = [34, 10, 10, 9, 9];

/** Rows are printed one by one, so the column widths are fixed. */
function rowText(cells: readonly string[]): string {
  return cells
    .map((cell, index) => (index === 0 ? cell.padEnd(WIDTHS[0]!) : cell.padStart(WIDTHS[index]!)))
    .join('');
}

function cellsOf({ what, in_flight, per_second, p50_ms, p99_ms }: Measured): string[] {
  const count = (value: number): string => value.toLocaleString('en');
  return [what, count(in_flight), count(per_second), p50_ms.toFixed(2), p99_ms.toFixed(2)];
}

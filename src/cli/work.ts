/**
 * `leasehold work`: a worker in any language. The program gets the payload on standard input byte for byte; its output is
 * the result, and its exit code is the verdict. Programs whose lease is lost are ended.
 */
import { hostname } from 'node:os';
import type { Command } from 'commander';
import { defineTask } from '../client/define-task.ts';
import type { Leasehold } from '../client/leasehold.ts';
import type { TaskContext } from '../client/task-context.ts';
import { HandBack } from '../client/task-errors.ts';
import type { TaskVerdict } from '../client/task-verdict.ts';
import { TIMEOUT_MAX_MS } from '../client/worker-options.ts';
import type { Json } from '../protocol/json.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { LIMITS } from '../protocol/limits.ts';
import type { Ended } from '../seams/processes.ts';
import { boundedMs, defaulted, durationMs, positiveNumber } from './arguments.ts';
import { CheckpointFile } from './checkpoint-file.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { onRepeatedSignals } from './ending-signals.ts';
import { EXIT, type Failure, startFailure, wrongUsage } from './failure.ts';
import { duration, type Paint, paintFor, visible } from './format.ts';
import { KeptChildren, type KeptEnd } from './kept-children.ts';
import { sayJson } from './output.ts';
import { OutputTail, ResultText } from './program-output.ts';
import type { Server, Shell } from './shell.ts';

/** Ended programs of a stopping worker must be gone before their tasks are released, one second later. */
const KILL_AFTER_MS = 500;

interface WorkOptions extends ServerOptions {
  readonly concurrency: number;
  readonly ttl: number;
  readonly timeout?: number;
  readonly grace: number;
  readonly worker?: string;
  readonly exitWhenEmpty?: boolean;
  readonly quiet?: boolean;
}

export function workCommand(shell: Shell): Command {
  return serverCommand('work')
    .description('Run a program for every task of a queue.')
    .usage('[options] <queue> -- <command...>')
    .argument('<queue>', 'the queue to take tasks from')
    .argument('<command...>', 'the program and its arguments, after --')
    .option('--concurrency <n>', 'how many programs at a time', positiveNumber, 1)
    .addOption(
      defaulted(
        '--ttl <duration>',
        'how long a lease lasts without renewal',
        boundedMs(LIMITS.ttlMinMs, LIMITS.ttlMaxMs),
        30_000,
        '30s',
      ),
    )
    .option(
      '--timeout <duration>',
      'how long a program may take before it is ended and its task has failed',
      boundedMs(1, TIMEOUT_MAX_MS),
    )
    .addOption(
      defaulted(
        '--grace <duration>',
        'how long running programs may continue after SIGTERM or SIGINT, and after their task was cancelled',
        durationMs,
        30_000,
        '30s',
      ),
    )
    .option('--worker <id>', 'the id of the worker (default: a new one for every start)')
    .option(
      '--exit-when-empty',
      'exit with 0 once no due task is left; tasks held back by a limit are waited for',
    )
    .option('--quiet', 'print nothing about the tasks on stderr')
    .addHelpText(
      'after',
      `${examples(
        'leasehold work mail --concurrency 4 -- ./send-mail',
        'leasehold work mail --exit-when-empty -- ./send-mail',
        `leasehold work shout -- tr a-z A-Z   # leasehold task add '"hello"' --queue shout`,
      )}

The program gets the payload on standard input, byte for byte, and in its environment LEASEHOLD_TASK_ID,
LEASEHOLD_ATTEMPT, LEASEHOLD_LEASE_SEQ, LEASEHOLD_QUEUE and LEASEHOLD_URL. LEASEHOLD_CHECKPOINT_FILE names a file with the
JSON that an earlier attempt saved, or an empty one. To save, write a file beside it and rename it to this name:

  echo '{"done":3,"total":10}' > "$LEASEHOLD_CHECKPOINT_FILE.new" && mv "$LEASEHOLD_CHECKPOINT_FILE.new" "$LEASEHOLD_CHECKPOINT_FILE"

At most one a second is sent, the newest, and the last one before a failure or release is reported. Text written into the
file in place is read only then.

  exit 0         completes the task; its output is the result: JSON unchanged, other text as a string
                 without its last line break, no output as no result
  exit 75        hands the task back; counts neither as a failure nor against the attempts
  anything else  fails it with the end of stderr as the reason

A missing program is reported before any task is leased: exit 127, or 126 when it is not executable.

When a lease is lost the program and its whole process group are ended. When the task is cancelled they get SIGTERM with
the next renewal, and SIGKILL after --grace; exit 0 still completes it, anything else ends it as DEAD. SIGTERM and SIGINT
drain: no new tasks, running programs may finish within --grace, the rest are ended and their tasks handed back. A second
signal does so at once; the same signal within 200 ms counts as one, because npm and timeout send it twice.`,
    )
    .action((queue: string, command: string[], options: WorkOptions) => {
      if (queue === '') throw wrongUsage('The queue has no name.');
      return withServer(shell, { ...options, isLive: true }, async (lh, server) => {
        // A worker waits for a server that goes away, but one that never answered is reported as a failure.
        await lh.status();
        const [program = ''] = command;
        const missing = await shell.processes.lookFor(program, shell.env.PATH ?? '');
        if (missing !== null) throw startFailure(program, { code: missing, message: missing });
        await new ProgramWorker(shell, server, queue, command, options).run(lh);
      });
    });
}

class ProgramWorker {
  private readonly shell: Shell;
  private readonly server: Server;
  private readonly queue: string;
  private readonly command: readonly string[];
  private readonly options: WorkOptions;
  private readonly paint: Paint;
  private readonly children: KeptChildren;
  /** Aborted when the worker takes no more tasks. */
  private readonly drain = new AbortController();
  /** Why the program cannot be started. */
  private fault: Failure | null = null;
  /** Reports of failures that are being prepared. */
  private readonly telling = new Set<Promise<void>>();
  /** Aborted by a second signal: the worker no longer waits for anything. */
  private readonly hurry = new AbortController();

  constructor(shell: Shell, server: Server, queue: string, command: readonly string[], options: WorkOptions) {
    this.shell = shell;
    this.server = server;
    this.queue = queue;
    this.command = command;
    this.options = options;
    this.paint = paintFor(shell.err.isTerminal, shell.env);
    this.children = new KeptChildren(shell, options.ttl);
  }

  async run(lh: Leasehold): Promise<void> {
    const { concurrency, ttl, timeout, grace, exitWhenEmpty = false } = this.options;
    onRepeatedSignals(this.shell, {
      asked: () => this.drain.abort(),
      hurried: () => this.hurry.abort(new HandBack('The worker was told twice to stop.', { delay: 0 })),
    });
    const workerId =
      this.options.worker ?? `${hostname()}:${process.pid}:${this.shell.newToken().slice(0, 8)}`;
    try {
      const worker = lh.work(
        defineTask(this.queue),
        {
          workerId,
          concurrency,
          ttl,
          ...(timeout === undefined ? {} : { timeout }),
          grace,
          stopWhenEmpty: exitWhenEmpty,
          signal: this.drain.signal,
          drainOn: [],
          // The rejection of `done` is reported at the end.
          onFault: () => undefined,
          onVerdict: (verdict) => this.tell(verdict, lh),
        },
        (task) => this.handle(task),
      );
      this.note(`${visible(workerId)} works on ${visible(this.queue)}.`);
      await worker.done;
      await Promise.all(this.telling);
      if (this.fault !== null) throw this.fault;
    } finally {
      this.children.close();
    }
  }

  /** Returns the result, or throws the failure or the release of the task. */
  private async handle(task: TaskContext<unknown>): Promise<Json | undefined> {
    const result = new ResultText();
    const errors = new OutputTail();
    const end = await this.runProgram(task, result, errors);
    // A program that completes its cancelled task in time still completes it.
    if (end.code === 0 && isCancelled(task) && !this.hurry.signal.aborted) return result.json();
    if (LeaseholdError.is(task.signal.reason, 'TASK_TIMEOUT')) throw this.overtime();
    task.signal.throwIfAborted();
    this.hurry.signal.throwIfAborted();
    if (end.isStopped)
      throw new HandBack('The program was ended, because its lease could not be kept.', { delay: 0 });
    if (end.code === 0) return result.json();
    if (end.code === EXIT.leaseLost) throw new HandBack('The program handed the task back.');
    throw new ProgramFailed(errors.text(), end);
  }

  private overtime(): Error {
    const { timeout = 0 } = this.options;
    return new Error(`The program took longer than --timeout allows (${duration(timeout)}), and was ended.`);
  }

  private async runProgram(
    task: TaskContext<unknown>,
    result: ResultText,
    errors: OutputTail,
  ): Promise<KeptEnd> {
    const decoder = new TextDecoder();
    const pipes = {
      input: task.payload.bytes,
      output: (bytes: Uint8Array) => result.add(bytes),
      errors: (bytes: Uint8Array) => {
        errors.add(bytes);
        this.shell.err.write(decoder.decode(bytes, { stream: true }));
      },
    };
    const { grace } = this.options;
    const enders = [
      { signal: task.signal, killAfterMs: () => (isCancelled(task) ? grace : KILL_AFTER_MS) },
      { signal: this.hurry.signal, killAfterMs: () => KILL_AFTER_MS },
    ];
    const checkpoint = await this.openCheckpoint(task);
    try {
      const env = { ...this.envOf(task), LEASEHOLD_CHECKPOINT_FILE: checkpoint.path };
      return await this.children.run(this.command, { env, pipes }, enders, () => task.remaining());
    } catch (fault) {
      const failure = startFailure(this.command[0]!, fault);
      // The task is not the cause, and every other task would fail in the same way.
      this.fault ??= failure;
      this.drain.abort();
      throw new HandBack(failure.message, { delay: 0 });
    } finally {
      await checkpoint.close();
    }
  }

  private async openCheckpoint(task: TaskContext<unknown>): Promise<CheckpointFile> {
    try {
      return await CheckpointFile.open(this.shell, task, (why) =>
        this.note(`The checkpoint of ${visible(task.taskId)} was not saved: ${visible(why)}`),
      );
    } catch (fault) {
      // A full temporary directory is no failure of the task.
      throw new HandBack(`There is no room for a checkpoint file: ${(fault as Error).message}`);
    }
  }

  private envOf(task: TaskContext<unknown>): Record<string, string | undefined> {
    // The lease of an enclosing `leasehold run` is not the lease of this program.
    const {
      LEASEHOLD_LEASE_NAME: _name,
      LEASEHOLD_HOLDER: _holder,
      LEASEHOLD_TOKEN_FILE: _tokenFile,
      ...env
    } = this.shell.env;
    return {
      ...env,
      LEASEHOLD_URL: this.server.url,
      ...(this.server.token === null ? {} : { LEASEHOLD_TOKEN: this.server.token }),
      LEASEHOLD_TASK_ID: task.taskId,
      LEASEHOLD_ATTEMPT: String(task.attempt),
      LEASEHOLD_LEASE_SEQ: String(task.leaseSeq),
      LEASEHOLD_QUEUE: task.queue,
    };
  }

  private tell(verdict: TaskVerdict, lh: Leasehold): void {
    const { taskId, queue, attempt, leaseSeq, verb, error } = verdict;
    // JSON output keeps the word of the wire.
    const outcome = verdict.outcome === 'LATE' ? 'CANCELLED' : verdict.outcome;
    const reason = error instanceof Error ? error.message : undefined;
    if (this.options.json) {
      const ids = { task_id: taskId, queue, attempt, lease_seq: leaseSeq };
      const state = verb === 'fail' && verdict.outcome === 'COMMITTED' ? { state: verdict.state } : {};
      sayJson(this.shell, { ...ids, verb, outcome, ...state, ...(reason === undefined ? {} : { reason }) });
    }
    const why = reason === undefined ? '' : `: ${visible(reason.trimEnd().split('\n').at(-1) ?? '')}`;
    const id = this.paint.bold(visible(taskId));
    if (verdict.outcome === 'LATE')
      this.note(`${id} ${this.paint.yellow('came too late')} (${verdict.loss}).`);
    else if (verdict.outcome === 'REJECTED')
      this.note(`${id} ${this.paint.red('was rejected')}: ${verdict.code}.`);
    else if (verb === 'complete') this.note(`${id} ${this.paint.green('completed')}, attempt ${attempt}.`);
    else if (verb === 'release' && verdict.state === 'DEAD')
      this.note(`${id} ${this.paint.yellow('was cancelled')}, attempt ${attempt}.`);
    else if (verb === 'release') this.note(`${id} handed back${why}`);
    else if (!this.options.quiet) {
      const how = error instanceof ProgramFailed && error.how !== null ? `, ${error.how}` : '';
      const told = this.tellFailure(verdict, lh, `${how}${why}`).finally(() => this.telling.delete(told));
      this.telling.add(told);
    }
  }

  /** Reads the task: the verdict has neither the number of failures allowed nor the time of the next try. */
  private async tellFailure(
    { taskId, state }: TaskVerdict & { readonly outcome: 'COMMITTED' },
    lh: Leasehold,
    why: string,
  ): Promise<void> {
    const task = await lh.call('task.get', { task_id: taskId }).catch(() => null);
    const isKnown = task?.ok === true;
    const count = isKnown ? ` (${task.failures} of ${task.retry.max_failures})` : '';
    const id = this.paint.bold(visible(taskId));
    if (state !== 'WAITING') {
      this.note(`${id} ${this.paint.red('failed for good')}${count}${why}`);
      return;
    }
    const inMs = isKnown ? Date.parse(task.due_at) - this.shell.clock.wallMs() : 0;
    const next = inMs > 0 ? `tried again in ${duration(inMs)}` : 'tried again';
    this.note(`${id} ${this.paint.red('failed')}${count}, ${next}${why}`);
  }

  private note(line: string): void {
    if (!this.options.quiet) this.shell.err.write(`leasehold: ${line}\n`);
  }
}

function isCancelled({ signal }: TaskContext<unknown>): boolean {
  return LeaseholdError.is(signal.reason, 'LEASE_LOST') && signal.reason.details.loss === 'cancelled';
}

/** The message is the reason of the failure: the end of stderr. */
class ProgramFailed extends Error {
  /** For the line on the screen, where the message does not say it. */
  readonly how: string | null;

  constructor(printed: string, end: Ended) {
    super(printed || howItEnded(end));
    this.how = printed === '' ? null : (end.signal ?? `exit code ${end.code}`);
  }
}

function howItEnded({ code, signal }: Ended): string {
  return signal === null ? `The program left with code ${code}.` : `The program was ended by ${signal}.`;
}

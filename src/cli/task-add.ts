/**
 * `leasehold task add`: create one task, or one for every line of standard input. Lines are added with a bounded number in
 * flight, so that a file of any size fits into memory; lines that are refused or not JSON are reported and the rest is added.
 */
import { constants } from 'node:os';
import type { Command } from 'commander';
import type { Leasehold } from '../client/leasehold.ts';
import type { Body, Requests } from '../operations/table.ts';
import { Json } from '../protocol/json.ts';
import { DEFAULT_MAX_BACKOFF_MS } from '../protocol/limits.ts';
import { exitCodeOf, type SignalName } from '../seams/processes.ts';
import { durationMs, jsonArgument, positiveNumber, priority } from './arguments.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { answered, Failure, refused, wrongUsage } from './failure.ts';
import { visible } from './format.ts';
import { sayJson, sayJsonLine, show } from './output.ts';
import { EXAMPLES_MAX } from './refusal-groups.ts';
import type { Shell } from './shell.ts';

/** Enough to fill batches; few enough that an interruption leaves little undecided. */
const IN_FLIGHT_MAX = 256;
/** How long one request waits for the end of a task, well below what proxies allow. */
const WAIT_MS = 25_000;
const CLEAR_LINE = '\r\u001b[K';
const PROGRESS_TASKS = 1_000;

interface AddOptions extends ServerOptions {
  readonly queue?: string;
  readonly id?: string;
  readonly priority?: number;
  readonly delay?: number;
  readonly dedup?: string;
  readonly key?: string;
  readonly maxFailures?: number;
  readonly maxAttempts?: number;
  readonly backoff?: number;
  readonly maxBackoff?: number;
  readonly wait?: boolean;
  readonly stdinLines?: boolean;
}

type Created = Body<'task.create'>;

export function addCommand(shell: Shell): Command {
  return serverCommand('add')
    .description('Create a task. Its payload is kept byte for byte.')
    .argument('[json]', 'the payload, or - to read it from standard input')
    .option('--queue <queue>', 'the queue it waits in (default: default)')
    .option('--id <id>', 'its id: repeating the id with the same payload creates no second task')
    .option('--priority <n>', 'from -128 to 127, higher first', priority)
    .option('--delay <duration>', 'how long it is not leased, for example 30s', durationMs)
    .option(
      '--dedup <key>',
      'while a task of this queue with this key has not ended, return that task instead',
    )
    .option('--key <key>', 'its key for limits and turns, such as a customer; `task ls --key` finds it')
    .option('--max-failures <n>', 'how many failures make it FAILED (default: 5)', positiveNumber)
    .option(
      '--max-attempts <n>',
      'how many leases it may have before it is DEAD (default: 100)',
      positiveNumber,
    )
    .option(
      '--backoff <duration>',
      'the pause after the first failure, doubled with each further one (default: 1s)',
      durationMs,
    )
    .option(
      '--max-backoff <duration>',
      'the longest pause between attempts (default: 5m, or --backoff if that is longer)',
      durationMs,
    )
    .option('--wait', 'wait for the end and print the result: exit 0 when completed, 1 when failed or dead')
    .option(
      '--stdin-lines',
      'create a task for every line of standard input; with --id their ids are ID-LINE',
    )
    .addHelpText(
      'after',
      examples(
        `leasehold task add '{"to":"anna"}' --queue mail`,
        'leasehold task add - --id nightly-2026-01-31 < payload.json',
        'leasehold task add --stdin-lines --queue mail --id import-7 < payloads.ndjson',
      ),
    )
    .action((word: string | undefined, options: AddOptions) => {
      checkWords(word, options);
      return withServer(shell, options, (lh) =>
        word === undefined ? addLines(shell, lh, options) : addOne(shell, lh, word, options),
      );
    });
}

function checkWords(word: string | undefined, { stdinLines, dedup, wait }: AddOptions): void {
  if (!stdinLines && word === undefined)
    throw wrongUsage('The payload is missing; give JSON, or - for standard input.');
  if (!stdinLines) return;
  if (word !== undefined) throw wrongUsage('With --stdin-lines the payloads come from standard input alone.');
  if (dedup !== undefined || wait) throw wrongUsage('--stdin-lines does not go with --dedup or --wait.');
}

function requestOf(payload: Json, options: AddOptions, id = options.id): Requests['task.create'] {
  const { queue, priority, delay, dedup, key, maxFailures, maxAttempts, backoff } = options;
  // The default of the server would cut a longer first pause without a word.
  const { maxBackoff = backoff !== undefined && backoff > DEFAULT_MAX_BACKOFF_MS ? backoff : undefined } =
    options;
  const retry = {
    ...(maxFailures === undefined ? {} : { max_failures: maxFailures }),
    ...(backoff === undefined ? {} : { backoff_ms: backoff }),
    ...(maxBackoff === undefined ? {} : { max_backoff_ms: maxBackoff }),
  };
  return {
    payload,
    ...(queue === undefined ? {} : { queue }),
    ...(id === undefined ? {} : { task_id: id }),
    ...(priority === undefined ? {} : { priority }),
    ...(delay === undefined ? {} : { delay_ms: delay }),
    ...(dedup === undefined ? {} : { dedup_key: dedup }),
    ...(key === undefined ? {} : { key }),
    ...(maxAttempts === undefined ? {} : { max_attempts: maxAttempts }),
    ...(Object.keys(retry).length === 0 ? {} : { retry }),
  };
}

async function addOne(shell: Shell, lh: Leasehold, word: string, options: AddOptions): Promise<void> {
  const payload = await jsonArgument(shell, word, 'payload');
  const task = answered(await lh.call('task.create', requestOf(payload, options)));
  if (!options.wait) {
    show(shell, options, task, (paint) => [sentenceOf(task, paint.bold(visible(task.task_id)))]);
    return;
  }
  if (!options.json) shell.err.write(`leasehold: ${sentenceOf(task, visible(task.task_id))}\n`);
  await showEnd(shell, lh, task.task_id, options);
}

function sentenceOf(task: Created, id: string): string {
  const { state, duplicate, seq } = task;
  const queue = `in queue ${visible(task.queue)}`;
  if (!duplicate) return `${id} waits ${queue}, durable at seq ${seq}.`;
  if (state === 'WAITING' || state === 'LEASED')
    return `${id} is there already ${queue}, durable at seq ${seq}.`;
  const why = task.reason === undefined ? '' : ` (${visible(task.reason)})`;
  return `${id} is there already ${queue} and has ended: ${state}${why}. No task was created; \`leasehold task requeue\` runs it again.`;
}

async function showEnd(shell: Shell, lh: Leasehold, id: string, options: AddOptions): Promise<void> {
  let task: Body<'task.get'>;
  do task = answered(await lh.call('task.get', { task_id: id, wait_ms: WAIT_MS }));
  while (task.state === 'WAITING' || task.state === 'LEASED');
  const { state, reason, reason_detail: detail, result } = task;
  if (options.json) sayJson(shell, task);
  else if (result) shell.out.write(`${result.text()}\n`);
  if (state === 'COMPLETED') return;
  if (detail !== undefined)
    throw refused('TASK_CANCELLED', `${visible(id)} was cancelled: ${visible(detail)}`);
  throw refused('TASK_FAILED', `${visible(id)} is ${state}: ${visible(reason ?? 'no reason is known')}`);
}

async function addLines(shell: Shell, lh: Leasehold, options: AddOptions): Promise<void> {
  const { err } = shell;
  const counts = { added: 0, known: 0 };
  const refusals = new LineRefusals(shell, options);
  const open = new Set<Promise<void>>();
  const ends = new AbortController();
  /** Requests in flight when a signal came: their tasks may have been created. */
  let undecided = 0;
  const unhear = shell.processes.onSignals(['SIGINT', 'SIGTERM'], (signal) => {
    undecided = open.size;
    ends.abort(signal);
  });
  let fault: unknown = null;
  const add = async (payload: Json, line: number): Promise<void> => {
    const id = options.id === undefined ? undefined : `${options.id}-${line}`;
    const reply = await lh.call('task.create', requestOf(payload, options, id), { signal: ends.signal });
    if (!reply.ok) {
      refusals.add(reply.code, `Line ${line}: ${reply.code}: ${reply.detail}`);
      return;
    }
    if (reply.duplicate) counts.known += 1;
    else counts.added += 1;
    if (options.json) sayJsonLine(shell, { line, ...reply, ok: undefined });
    if (err.isTerminal && counts.added % PROGRESS_TASKS === 0)
      err.write(`${CLEAR_LINE}${counts.added} added`);
  };
  let line = 0;
  for await (const text of shell.inputLines(ends.signal)) {
    if (ends.signal.aborted || fault !== null) break;
    line += 1;
    if (text.trim() === '') continue;
    const payload = jsonIn(text);
    if (payload === null) {
      refusals.add('not JSON', `Line ${line} is not JSON; it was skipped.`);
      continue;
    }
    const adding = add(payload, line).catch((why: unknown) => {
      fault ??= why;
    });
    open.add(adding);
    void adding.then(() => open.delete(adding));
    if (open.size >= IN_FLIGHT_MAX) await Promise.race(open);
  }
  await Promise.all(open);
  unhear();
  if (err.isTerminal) err.write(CLEAR_LINE);
  refusals.tellRest();
  const known = counts.known === 0 ? '' : `, ${counts.known} ${wereOf(counts.known)} there already`;
  const says = `${counted(counts.added, 'task')} ${wereOf(counts.added)} added${known}.`;
  if (ends.signal.aborted) {
    const exitCode = exitCodeOf({ code: null, signal: ends.signal.reason as SignalName }, constants.signals);
    const rest = undecided === 0 ? '' : ` ${undecided} more were under way and may have been added.`;
    throw new Failure(`Interrupted: ${says}${rest}`, exitCode, 'INTERRUPTED');
  }
  const { refused } = refusals;
  if (fault !== null || refused > 0) err.write(`leasehold: ${says}\n`);
  if (fault !== null) throw fault;
  if (refused > 0) throw new Failure(`${counted(refused, 'line')} ${wereOf(refused)} not added.`);
  if (!options.json) shell.out.write(`${says}\n`);
}

/** Lines that were not added: the first few of each kind are told at once, the others are counted unless `--json` is given. */
class LineRefusals {
  refused = 0;
  private readonly counts = new Map<string, number>();
  private readonly err: Shell['err'];
  private readonly toldMax: number;

  constructor({ err }: Shell, { json }: AddOptions) {
    this.err = err;
    this.toldMax = json ? Number.POSITIVE_INFINITY : EXAMPLES_MAX;
  }

  add(kind: string, says: string): void {
    this.refused += 1;
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    if (count <= this.toldMax) this.err.write(`leasehold: ${says}\n`);
  }

  tellRest(): void {
    for (const [kind, count] of this.counts) {
      const more = count - this.toldMax;
      if (more > 0) this.err.write(`leasehold: ${counted(more, 'more line')}: ${kind}. --json tells each.\n`);
    }
  }
}

function jsonIn(text: string): Json | null {
  try {
    return Json.text(text.trim());
  } catch (fault) {
    if (fault instanceof SyntaxError) return null;
    throw fault;
  }
}

function counted(count: number, what: string): string {
  return count === 1 ? `1 ${what}` : `${count} ${what}s`;
}

function wereOf(count: number): string {
  return count === 1 ? 'was' : 'were';
}

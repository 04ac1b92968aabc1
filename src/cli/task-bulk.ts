/**
 * One action on all tasks that match a filter: `task requeue`, `cancel`, `kill`, `change` and `purge` without an id. A dry
 * run counts, the user confirms, then the calls follow. A signal stops it after the current call and prints the command
 * that continues it, on the tasks that existed at the start.
 */
import { constants } from 'node:os';
import type { Command } from 'commander';
import type { Leasehold } from '../client/leasehold.ts';
import type { Body, Requests } from '../operations/table.ts';
import { exitCodeOf, type SignalName } from '../seams/processes.ts';
import { INSTANT_FORMS, instantArgument, STATES, stateOption } from './arguments.ts';
import { type ServerOptions, withServer } from './connection.ts';
import { answered, Failure, wrongUsage } from './failure.ts';
import { sayJson } from './output.ts';
import { refusalLines } from './refusal-groups.ts';
import type { Shell } from './shell.ts';

type Action = Requests['task.bulk']['action'];
type Filter = Requests['task.bulk']['filter'];

export interface FilterOptions extends ServerOptions {
  readonly queue?: string;
  readonly state?: Filter['state'];
  readonly key?: string;
  readonly worker?: string;
  readonly reasonIs?: string;
  readonly since?: string;
  readonly until?: string;
  readonly endedSince?: string;
  readonly endedUntil?: string;
  readonly dryRun?: boolean;
  readonly reason?: string;
  readonly yes?: boolean;
  readonly cursor?: string;
}

export interface BulkSet {
  readonly queue?: string | undefined;
  readonly priority?: number | undefined;
  readonly delay?: number | undefined;
}

interface Totals {
  matched: number;
  changed: number;
  refused: number;
}

/** The participle of each action. */
const DONE: Readonly<Record<Action, string>> = {
  requeue: 'requeued',
  cancel: 'cancelled',
  kill: 'killed',
  change: 'changed',
  purge: 'purged',
};

const NOTHING_YET: Totals = { matched: 0, changed: 0, refused: 0 };
const CLEAR_LINE = '\r\u001b[K';
const BAR_CELLS = 30;

/** Adds the options that choose tasks. */
export function withFilter(command: Command, shell: Shell, queueSays = 'only of this queue'): Command {
  const when = instantArgument(shell.clock);
  return command
    .option('--queue <queue>', queueSays)
    .addOption(stateOption())
    .option('--key <key>', 'only with this key')
    .option('--worker <id>', 'only those that this worker has leased')
    .option('--reason-is <reason>', 'only with exactly this reason, for example ATTEMPTS_EXHAUSTED')
    .option('--since <when>', `only created after: ${INSTANT_FORMS}`, when)
    .option('--until <when>', 'only created before', when)
    .option('--ended-since <when>', 'only ended after', when)
    .option('--ended-until <when>', 'only ended before', when)
    .option('--dry-run', 'only say what would be done')
    .option('--yes', 'do not ask for confirmation')
    .option('--cursor <cursor>', 'continue a run that was stopped');
}

export function refuseFilter(options: FilterOptions): void {
  if (Object.keys(filterOf(options)).length > 0 || options.dryRun || options.cursor !== undefined)
    throw wrongUsage('Give an id, or options that choose tasks, not both.');
}

/** Runs an action on all tasks that the options choose. */
export async function bulk(
  shell: Shell,
  action: Action,
  options: FilterOptions,
  set: BulkSet = {},
): Promise<void> {
  const filter = filterOf(options);
  if (Object.keys(filter).length === 0)
    throw wrongUsage(`Say which tasks to ${action}: by an id, or by options such as --queue or --state.`);
  if (options.reason === undefined) throw wrongUsage('Say why with --reason.');
  await withServer(shell, options, (lh) => new BulkRun(shell, lh, action, options, filter, set).run());
}

class BulkRun {
  private readonly shell: Shell;
  private readonly lh: Leasehold;
  private readonly action: Action;
  private readonly options: FilterOptions;
  private readonly request: Requests['task.bulk'];
  private readonly set: BulkSet;
  private readonly refusals: Body<'task.bulk'>['refused'][number][] = [];
  private stoppedBy: SignalName | null = null;
  private readonly asking = new AbortController();

  constructor(
    shell: Shell,
    lh: Leasehold,
    action: Action,
    options: FilterOptions,
    filter: Filter,
    set: BulkSet,
  ) {
    this.shell = shell;
    this.lh = lh;
    this.action = action;
    this.options = options;
    this.set = set;
    const { queue, priority, delay } = set;
    const wireSet = {
      ...(queue === undefined ? {} : { queue }),
      ...(priority === undefined ? {} : { priority }),
      ...(delay === undefined ? {} : { delay_ms: delay }),
    };
    this.request = {
      action,
      filter,
      reason: options.reason!,
      ...(Object.keys(wireSet).length === 0 ? {} : { set: wireSet }),
    };
  }

  async run(): Promise<void> {
    const { options, shell } = this;
    const { isTerminal } = shell.err;
    const unhear = shell.processes.onSignals(['SIGINT', 'SIGTERM'], (signal) => {
      this.stoppedBy = signal;
      this.asking.abort();
    });
    try {
      const isCounted = options.dryRun === true || options.yes !== true || isTerminal;
      const dry = isCounted ? await this.calls({ dry_run: true }, options.cursor, null) : null;
      if (dry?.totals.matched === 0) await this.tellOtherStates();
      if (options.dryRun || dry?.totals.matched === 0) return this.told(dry!.totals, dry!.cursor);
      if (options.yes !== true) await this.confirm(dry!.totals);
      this.refusals.length = 0;
      const { totals, cursor } = await this.calls(
        {},
        dry?.from ?? options.cursor,
        dry?.totals.matched ?? null,
      );
      this.told(totals, cursor);
    } finally {
      unhear();
    }
  }

  /** Calls until there is no cursor, or a signal came. */
  private async calls(
    more: { readonly dry_run?: true },
    first: string | undefined,
    total: number | null,
  ): Promise<{ totals: Totals; from: string | undefined; cursor: string | undefined }> {
    const totals: Totals = { ...NOTHING_YET };
    let from: string | undefined;
    let cursor = first;
    try {
      do {
        const call = { ...this.request, ...more, ...(cursor === undefined ? {} : { cursor }) };
        const reply = answered(await this.lh.call('task.bulk', call));
        from ??= reply.cursor;
        cursor = reply.next_cursor;
        totals.matched += reply.matched;
        totals.changed += reply.task_ids.length;
        totals.refused += reply.refused.length;
        this.refusals.push(...reply.refused);
        this.progress(totals, total, more.dry_run === true);
      } while (cursor !== undefined && this.stoppedBy === null);
    } catch (fault) {
      if (more.dry_run !== true && totals.matched > 0) this.say(`Stopped. ${this.continuation(cursor)}`);
      throw fault;
    } finally {
      if (this.shell.err.isTerminal) this.shell.err.write(CLEAR_LINE);
    }
    if (this.stoppedBy !== null && (cursor !== undefined || more.dry_run))
      this.interrupted(totals, cursor, more);
    return { totals, from, cursor };
  }

  private interrupted(totals: Totals, cursor: string | undefined, more: { readonly dry_run?: true }): never {
    const exitCode = exitCodeOf({ code: null, signal: this.stoppedBy! }, constants.signals);
    const done = more.dry_run
      ? 'Stopped before anything was done.'
      : `Stopped: ${counted(totals.changed)} ${wereDone(totals.changed, this.action)}, ${totals.refused} refused. ${this.continuation(cursor)}`;
    throw new Failure(done, exitCode, 'INTERRUPTED');
  }

  /** Progress, on stderr and only on a terminal, so that it does not mix with results. */
  private progress({ matched }: Totals, total: number | null, isDry: boolean): void {
    const { err } = this.shell;
    if (!err.isTerminal) return;
    if (isDry) err.write(`${CLEAR_LINE}${matched} match`);
    else if (total === null) err.write(`${CLEAR_LINE}${matched}`);
    else {
      const cells = total === 0 ? BAR_CELLS : Math.min(BAR_CELLS, Math.floor((matched / total) * BAR_CELLS));
      const bar = '█'.repeat(cells) + '░'.repeat(BAR_CELLS - cells);
      err.write(`${CLEAR_LINE}${bar} ${matched} of ${total}`);
    }
  }

  /** Called when no task in the given state matches: reports matches in other states, such as FAILED instead of DEAD. */
  private async tellOtherStates(): Promise<void> {
    const { state } = this.options;
    if (state === undefined || this.options.cursor !== undefined) return;
    const found: string[] = [];
    for (const other of STATES) {
      if (other === state) continue;
      const filter = { ...this.request.filter, state: other };
      const dry = answered(await this.lh.call('task.bulk', { ...this.request, filter, dry_run: true }));
      const { length } = dry.task_ids;
      if (length > 0)
        found.push(`${length}${dry.next_cursor === undefined ? '' : ' or more'} in state ${other}`);
    }
    if (found.length > 0) this.say(`No task in state ${state} matches, but ${found.join(', ')}.`);
  }

  private async confirm({ matched, changed, refused }: Totals): Promise<void> {
    const rest = refused === 0 ? '' : `, ${refused} refused`;
    const says = `${counted(matched)} ${matched === 1 ? 'matches' : 'match'}: ${changed} would be ${DONE[this.action]}${rest}.`;
    if (!this.shell.err.isTerminal)
      throw wrongUsage(`${says} Nothing was done; add --yes to do it without being asked.`);
    this.shell.err.write(`${says} Go on? [y/N] `);
    const answer = await this.line();
    if (answer === null) this.shell.err.write('\n');
    if (this.stoppedBy !== null) this.interrupted(NOTHING_YET, undefined, { dry_run: true });
    if (!/^\s*y(es)?\s*$/i.test(answer ?? '')) throw new Failure('Nothing was done.');
  }

  /** The answer of the user; null at the end of the input and after a signal. */
  private async line(): Promise<string | null> {
    try {
      for await (const line of this.shell.inputLines(this.asking.signal)) return line;
      return null;
    } finally {
      // Stops reading standard input, which would otherwise keep the process alive.
      this.asking.abort();
    }
  }

  /** The outcome, and which tasks were refused. */
  private told({ matched, changed, refused }: Totals, cursor: string | undefined): void {
    const { shell, options, refusals, action } = this;
    if (options.json) {
      sayJson(shell, {
        matched,
        changed: options.dryRun ? 0 : changed,
        refused: refusals,
        ...(cursor === undefined ? {} : { next_cursor: cursor }),
      });
    } else {
      for (const line of refusalLines(refusals)) this.say(line);
      const verb = options.dryRun ? `would be ${DONE[action]}` : wereDone(changed, action);
      shell.out.write(`${counted(changed)} ${verb}, ${refused} refused.\n`);
    }
    if (refused > 0 && !options.dryRun)
      throw new Failure(`${counted(refused)} could not be ${DONE[action]}.`);
  }

  private say(line: string): void {
    this.shell.err.write(`leasehold: ${line}\n`);
  }

  /** The command that continues the run. */
  private continuation(cursor: string | undefined): string {
    if (cursor === undefined) return 'Repeat the command to do the rest.';
    const { options, set, request } = this;
    const words: [string, string | number | undefined][] = [
      ['queue', options.queue],
      ['state', options.state],
      ['key', options.key],
      ['worker', options.worker],
      ['reason-is', options.reasonIs],
      ['since', options.since],
      ['until', options.until],
      ['ended-since', options.endedSince],
      ['ended-until', options.endedUntil],
      ['to-queue', set.queue],
      ['priority', set.priority],
      ['delay', set.delay === undefined ? undefined : `${set.delay}ms`],
      ['server', options.server],
      ['reason', request.reason],
      ['cursor', cursor],
    ];
    const given = words.flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name} ${quoted(String(value))}`],
    );
    return `Continue with:\n  leasehold task ${this.action} ${given.join(' ')} --yes`;
  }
}

function wereDone(tasks: number, action: Action): string {
  return `${tasks === 1 ? 'was' : 'were'} ${DONE[action]}`;
}

function counted(tasks: number): string {
  return tasks === 1 ? '1 task' : `${tasks} tasks`;
}

/** For a shell, where it needs quotes. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function filterOf(options: FilterOptions): Filter {
  const { queue, state, key, worker, reasonIs, since, until, endedSince, endedUntil } = options;
  return {
    ...(queue === undefined ? {} : { queue }),
    ...(state === undefined ? {} : { state }),
    ...(key === undefined ? {} : { key }),
    ...(worker === undefined ? {} : { worker_id: worker }),
    ...(reasonIs === undefined ? {} : { reason: reasonIs }),
    ...(since === undefined ? {} : { created_after: since }),
    ...(until === undefined ? {} : { created_before: until }),
    ...(endedSince === undefined ? {} : { ended_after: endedSince }),
    ...(endedUntil === undefined ? {} : { ended_before: endedUntil }),
  };
}

/**
 * One action on all tasks that match a filter: `task requeue`, `cancel`, `kill`, `change` and `purge` without an id. A dry
 * run counts, the user confirms, then the calls follow. A signal stops it after the current call and prints the commands
 * that continue it, on the tasks that existed at the start.
 *
 * A filter of the server names one state or none. Where `--state` is absent and not every state is meant, the states are
 * done one after the other, all up to the position of the log that the first call fixed: a task that the action itself
 * creates, or that reaches another state meanwhile, must not be hit by the next one.
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
type TaskState = (typeof STATES)[number];

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

/** One state, or null for a filter as it is, and the cursor to begin with; undefined begins a new run. */
interface Part {
  readonly state: TaskState | null;
  readonly cursor: string | undefined;
}

interface Calls {
  readonly totals: Totals;
  readonly matchedIn: ReadonlyMap<TaskState | null, number>;
  /** Covers the same tasks again; undefined before the first call. */
  readonly parts: readonly Part[];
}

/** The participle of each action. */
const DONE: Readonly<Record<Action, string>> = {
  requeue: 'requeued',
  cancel: 'cancelled',
  kill: 'killed',
  change: 'changed',
  purge: 'purged',
};

/**
 * The states that an action means without `--state`: completed work is never repeated by accident, and tasks that have not
 * ended cannot be forgotten.
 */
const MEANT: Readonly<Partial<Record<Action, readonly TaskState[]>>> = {
  requeue: ['FAILED', 'DEAD'],
  purge: ['COMPLETED', 'FAILED', 'DEAD'],
};

const NOTHING_YET: Totals = { matched: 0, changed: 0, refused: 0 };
const CLEAR_LINE = '\r\u001b[K';
const BAR_CELLS = 30;

/** Adds the options that choose tasks. */
export function withFilter(command: Command, shell: Shell, queueSays = 'only of this queue'): Command {
  const when = instantArgument(shell.clock);
  const meant = MEANT[command.name() as Action];
  return command
    .option('--queue <queue>', queueSays)
    .addOption(stateOption(meant === undefined ? '' : ` (default: ${inWords(meant, 'and')})`))
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
  if (options.cursor !== undefined && options.state === undefined && MEANT[action] !== undefined)
    throw wrongUsage('A cursor continues in one state: give its --state too, as the stopped run printed it.');
  await withServer(shell, options, (lh) => new BulkRun(shell, lh, action, options, filter, set).run());
}

class BulkRun {
  private readonly shell: Shell;
  private readonly lh: Leasehold;
  private readonly action: Action;
  private readonly options: FilterOptions;
  private readonly request: Requests['task.bulk'];
  private readonly set: BulkSet;
  /** Those that are done; none: the filter as it is. */
  private readonly states: readonly TaskState[];
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
    this.states = options.state === undefined ? (MEANT[action] ?? []) : [options.state];
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
      const dry = isCounted ? await this.calls({ dry_run: true }, this.beginning(), null) : null;
      if (dry?.totals.matched === 0) await this.tellOtherStates();
      if (options.dryRun || dry?.totals.matched === 0) return this.told(dry!);
      if (options.yes !== true) await this.confirm(dry!);
      this.refusals.length = 0;
      const parts = dry?.parts ?? this.beginning();
      this.told(await this.calls({}, parts, dry?.totals.matched ?? null));
    } finally {
      unhear();
    }
  }

  private beginning(): readonly Part[] {
    const { cursor } = this.options;
    return this.states.length === 0
      ? [{ state: null, cursor }]
      : this.states.map((state) => ({ state, cursor }));
  }

  /** Calls for one part after the other until it has no cursor, or a signal came. */
  private async calls(
    more: { readonly dry_run?: true },
    parts: readonly Part[],
    total: number | null,
  ): Promise<Calls> {
    const totals: Totals = { ...NOTHING_YET };
    const matchedIn = new Map<TaskState | null, number>();
    const covered: Part[] = [];
    /** What is left to do, with the part that is under way first. */
    let left = parts;
    try {
      for (const { state } of parts) {
        const from = left[0]!.cursor;
        const first = await this.call(more, left[0]!);
        // The first call of all fixes the position of the log up to which every part is done.
        covered.push({ state, cursor: from ?? first.cursor });
        left = left.map((part) => ({ ...part, cursor: part.cursor ?? first.cursor }));
        for (let reply = first; ; reply = await this.call(more, left[0]!)) {
          totals.matched += reply.matched;
          totals.changed += reply.task_ids.length;
          totals.refused += reply.refused.length;
          matchedIn.set(state, (matchedIn.get(state) ?? 0) + reply.matched);
          this.refusals.push(...reply.refused);
          this.progress(totals, total, more.dry_run === true);
          const isOver = reply.next_cursor === undefined;
          left = isOver ? left.slice(1) : [{ state, cursor: reply.next_cursor }, ...left.slice(1)];
          if (isOver || this.stoppedBy !== null) break;
        }
        if (this.stoppedBy !== null) break;
      }
    } catch (fault) {
      if (more.dry_run !== true && totals.matched > 0) this.say(`Stopped. ${this.continuation(left)}`);
      throw fault;
    } finally {
      if (this.shell.err.isTerminal) this.shell.err.write(CLEAR_LINE);
    }
    if (this.stoppedBy !== null && (left.length > 0 || more.dry_run)) this.interrupted(totals, left, more);
    return { totals, matchedIn, parts: covered };
  }

  private async call(more: { readonly dry_run?: true }, { state, cursor }: Part): Promise<Body<'task.bulk'>> {
    return answered(
      await this.lh.call('task.bulk', {
        ...this.request,
        ...(state === null ? {} : { filter: { ...this.request.filter, state } }),
        ...more,
        ...(cursor === undefined ? {} : { cursor }),
      }),
    );
  }

  private interrupted(totals: Totals, left: readonly Part[], more: { readonly dry_run?: true }): never {
    const exitCode = exitCodeOf({ code: null, signal: this.stoppedBy! }, constants.signals);
    const done = more.dry_run
      ? 'Stopped before anything was done.'
      : `Stopped: ${counted(totals.changed)} ${wereDone(totals.changed, this.action)}, ${totals.refused} refused. ${this.continuation(left)}`;
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

  /** Called when no task in these states matches: reports matches in other states, such as COMPLETED. */
  private async tellOtherStates(): Promise<void> {
    const { states } = this;
    if (states.length === 0 || this.options.cursor !== undefined) return;
    const found: string[] = [];
    for (const state of STATES) {
      if (states.includes(state)) continue;
      const dry = await this.call({ dry_run: true }, { state, cursor: undefined });
      const { length } = dry.task_ids;
      if (length > 0)
        found.push(`${length}${dry.next_cursor === undefined ? '' : ' or more'} in state ${state}`);
    }
    if (found.length === 0) return;
    // Tasks that were requeued before do not match, though a list still shows them.
    const none = this.action === 'requeue' ? 'is left to requeue' : 'matches';
    this.say(`No task in state ${inWords(states, 'or')} ${none}, but there are ${found.join(', ')}.`);
  }

  private async confirm({ totals: { matched, changed, refused }, matchedIn }: Calls): Promise<void> {
    const rest = refused === 0 ? '' : `, ${refused} refused`;
    const says = `${counted(matched)} ${matched === 1 ? 'matches' : 'match'}${this.inStates(matchedIn)}: ${changed} would be ${DONE[this.action]}${rest}.`;
    if (!this.shell.err.isTerminal)
      throw wrongUsage(`${says} Nothing was done; add --yes to do it without being asked.`);
    this.shell.err.write(`${says} Go on? [y/N] `);
    const answer = await this.line();
    if (answer === null) this.shell.err.write('\n');
    if (this.stoppedBy !== null) this.interrupted(NOTHING_YET, [], { dry_run: true });
    if (!/^\s*y(es)?\s*$/i.test(answer ?? '')) throw new Failure('Nothing was done.');
  }

  /** ` (3 FAILED, 2 DEAD)`, where the command chose the states. */
  private inStates(matchedIn: Calls['matchedIn']): string {
    if (this.states.length < 2) return '';
    const counts = this.states.map((state) => [matchedIn.get(state) ?? 0, state] as const);
    const some = counts.filter(([count]) => count > 0);
    return some.length === 0 ? '' : ` (${some.map((each) => each.join(' ')).join(', ')})`;
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
  private told({ totals: { matched, changed, refused }, matchedIn }: Calls): void {
    const { shell, options, refusals, action } = this;
    if (options.json) {
      const byState = this.states.map((state) => [state, matchedIn.get(state) ?? 0]);
      sayJson(shell, {
        matched,
        ...(byState.length < 2 ? {} : { matched_by_state: Object.fromEntries(byState) }),
        changed: options.dryRun ? 0 : changed,
        refused: refusals,
      });
    } else {
      for (const line of refusalLines(refusals)) this.say(line);
      const done = options.dryRun
        ? `would be ${DONE[action]}${this.inStates(matchedIn)}`
        : wereDone(changed, action);
      shell.out.write(`${counted(changed)} ${done}, ${refused} refused.\n`);
    }
    if (refused > 0 && !options.dryRun)
      throw new Failure(`${counted(refused)} could not be ${DONE[action]}.`);
  }

  private say(line: string): void {
    this.shell.err.write(`leasehold: ${line}\n`);
  }

  /** The commands that continue the run: one for each state that is left. */
  private continuation(left: readonly Part[]): string {
    return `Continue with:\n${left.map((part) => `  ${this.commandOf(part)}`).join('\n')}`;
  }

  private commandOf({ state, cursor }: Part): string {
    const { options, set, request } = this;
    const words: [string, string | number | undefined][] = [
      ['queue', options.queue],
      ['state', state ?? undefined],
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
    return `leasehold task ${this.action} ${given.join(' ')} --yes`;
  }
}

/** `FAILED and DEAD`, `COMPLETED, FAILED and DEAD`. */
function inWords(states: readonly TaskState[], and: 'and' | 'or'): string {
  return states.length < 2 ? states.join() : `${states.slice(0, -1).join(', ')} ${and} ${states.at(-1)}`;
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

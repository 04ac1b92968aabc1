/** `leasehold task`: make tasks, look at them, ask why one is not running, end one. */
import { Command, InvalidArgumentError, Option } from 'commander';
import type { TaskRecord } from '../operations/records.ts';
import { limitOption } from './arguments.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { ENTRY_COLUMNS } from './entries.ts';
import { answered } from './failure.ts';
import { ago, fieldLines, type Paint, shortened, visible } from './format.ts';
import { type Columns, pagesOf, show, showList } from './output.ts';
import type { Shell } from './shell.ts';
import { addCommand } from './task-add.ts';

const STATES = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'] as const;

export function taskCommand(shell: Shell): Command {
  return new Command('task')
    .description('Create tasks, look at them, ask why one is not running, end one.')
    .addCommand(addCommand(shell))
    .addCommand(listCommand(shell))
    .addCommand(showCommand(shell))
    .addCommand(whyCommand(shell))
    .addCommand(historyCommand(shell))
    .addCommand(killCommand(shell));
}

interface ListOptions extends ServerOptions {
  readonly queue?: string;
  readonly state?: TaskRecord['state'];
  readonly limit: number;
}

function listCommand(shell: Shell): Command {
  return serverCommand('ls')
    .description('List tasks, in no promised order.')
    .option('--queue <queue>', 'only of this queue')
    .addOption(new Option('--state <state>', 'only in this state').choices(STATES).argParser(stateOf))
    .addOption(limitOption())
    .addHelpText(
      'after',
      examples('leasehold task ls --queue mail --state FAILED', 'leasehold task ls --json | jq .task_id'),
    )
    .action((options: ListOptions) =>
      withServer(shell, options, async (lh) => {
        const { queue, state } = options;
        const filter = {
          ...(queue === undefined ? {} : { queue }),
          ...(state === undefined ? {} : { state }),
        };
        const pages = pagesOf(options.limit, async (page) => {
          const { tasks, next_cursor } = answered(await lh.call('task.list', { ...filter, ...page }));
          return { items: tasks, next: next_cursor };
        });
        await showList(shell, options, pages, taskColumns(shell));
      }),
    );
}

/** Accepts lower case as well, which commander's own check would refuse. */
function stateOf(text: string): string {
  const state = text.toUpperCase();
  if ((STATES as readonly string[]).includes(state)) return state;
  throw new InvalidArgumentError(`It must be one of ${STATES.join(', ')}.`);
}

function taskColumns({ clock }: Shell): Columns<TaskRecord> {
  return {
    head: ['ID', 'QUEUE', 'STATE', 'ATTEMPT', 'MADE', 'WHAT'],
    cells: (task, paint) => [
      visible(task.task_id),
      visible(task.queue),
      stateText(task.state, paint),
      String(task.attempt),
      ago(task.created_at, clock.wallMs()),
      shortened(visible(whatOf(task, clock.wallMs())), 60),
    ],
    none: 'There are no such tasks.',
  };
}

/** The most useful detail of a task in its state. */
function whatOf(task: TaskRecord, nowMs: number): string {
  if (task.state === 'LEASED') return `${task.worker_id}, lease ends ${ago(task.expiry_timestamp!, nowMs)}`;
  if (task.reason !== undefined) return task.reason;
  if (task.state === 'WAITING' && task.due_at > task.created_at) return `due ${ago(task.due_at, nowMs)}`;
  return task.payload?.text() ?? 'payload damaged';
}

function stateText(state: TaskRecord['state'], paint: Paint): string {
  if (state === 'COMPLETED') return paint.green(state);
  if (state === 'LEASED') return paint.cyan(state);
  return state === 'WAITING' ? state : paint.red(state);
}

function showCommand(shell: Shell): Command {
  return serverCommand('show')
    .description('Show one task: its state, its leases, its payload and result.')
    .argument('<id>', 'the task')
    .addHelpText('after', examples('leasehold task show t-42', 'leasehold task show t-42 --json'))
    .action((id: string, options: ServerOptions) =>
      withServer(shell, options, async (lh) => {
        const task = answered(await lh.call('task.get', { task_id: id }));
        show(shell, options, task, (paint) => taskLines(task, shell.clock.wallMs(), paint));
      }),
    );
}

function taskLines(task: TaskRecord, nowMs: number, paint: Paint): string[] {
  const when = (instant: string): string => `${instant} (${ago(instant, nowMs)})`;
  const fields: [string, string][] = [
    ['task', paint.bold(visible(task.task_id))],
    ['state', stateText(task.state, paint)],
    ['queue', `${visible(task.queue)}, priority ${task.priority}`],
    [
      'attempts',
      `${task.attempt} (${task.max_attempts} allowed besides those handed back), ${task.failures} of ${task.retry.max_failures} failures`,
    ],
    ['made', when(task.created_at)],
  ];
  if (task.state === 'WAITING') fields.push(['due', when(task.due_at)]);
  if (task.worker_id !== undefined) fields.push(['worker', visible(task.worker_id)]);
  if (task.expiry_timestamp !== undefined) fields.push(['leased until', when(task.expiry_timestamp)]);
  if (task.ended_at !== undefined) fields.push(['ended', when(task.ended_at)]);
  if (task.dedup_key !== undefined) fields.push(['dedup key', visible(task.dedup_key)]);
  if (task.reason !== undefined) fields.push(['reason', visible(task.reason)]);
  fields.push(['payload', task.payload === null ? paint.red('damaged') : visible(task.payload.text())]);
  if (task.result !== undefined) {
    fields.push(['result', task.result === null ? paint.red('damaged') : visible(task.result.text())]);
  }
  for (const lease of task.leases) {
    fields.push(['lease', `${lease.lease_seq} by ${visible(lease.worker_id)}: ${lease.end}`]);
  }
  return fieldLines(fields, paint);
}

function whyCommand(shell: Shell): Command {
  return serverCommand('why')
    .description('Say why a task is not running.')
    .argument('<id>', 'the task')
    .addHelpText('after', examples('leasehold task why t-42'))
    .action((id: string, options: ServerOptions) =>
      withServer(shell, options, async (lh) => {
        const why = answered(await lh.call('task.why', { task_id: id }));
        show(shell, options, why, (paint) => [`${paint.bold(why.code)}: ${visible(why.says)}`]);
      }),
    );
}

function historyCommand(shell: Shell): Command {
  return serverCommand('history')
    .description('Print every entry of the log that touched a task.')
    .argument('<id>', 'the task')
    .addHelpText('after', examples('leasehold task history t-42'))
    .action((id: string, options: ServerOptions) =>
      withServer(shell, options, async (lh) => {
        const pages = pagesOf(Number.POSITIVE_INFINITY, async (page) => {
          const { entries, next_cursor } = answered(await lh.call('task.history', { task_id: id, ...page }));
          return { items: entries, next: next_cursor };
        });
        await showList(shell, options, pages, ENTRY_COLUMNS);
      }),
    );
}

function killCommand(shell: Shell): Command {
  return serverCommand('kill')
    .description('End a task at once, as DEAD. A later verdict of its worker is CANCELLED.')
    .argument('<id>', 'the task')
    .requiredOption('--reason <reason>', 'why (required); kept with the task')
    .addHelpText('after', examples('leasehold task kill t-42 --reason "wrong address"'))
    .action((id: string, options: ServerOptions & { readonly reason: string }) =>
      withServer(shell, options, async (lh) => {
        const killed = answered(await lh.call('task.kill', { task_id: id, reason: options.reason }));
        show(shell, options, killed, () => [
          `${visible(killed.task_id)} is ${killed.state}, durable at seq ${killed.seq}.`,
        ]);
      }),
    );
}

/** `leasehold task`: create tasks, find them, ask why one is not running; requeue, cancel, change, end or purge them. */
import { Command, Option } from 'commander';
import type { TaskRecord } from '../operations/records.ts';
import { INSTANT_FORMS, instantArgument, limitOption, stateOption } from './arguments.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { ENTRY_COLUMNS } from './entries.ts';
import { answered, refused } from './failure.ts';
import { ago, shortened, visible } from './format.ts';
import { type Columns, pagesOf, show, showList } from './output.ts';
import { type ReadOptions, readCommand, withReads } from './reads.ts';
import type { Shell } from './shell.ts';
import { addCommand } from './task-add.ts';
import { chainOf, stateText, taskLines } from './task-lines.ts';
import { cancelCommand, changeCommand, killCommand, purgeCommand, requeueCommand } from './task-operate.ts';

export function taskCommand(shell: Shell): Command {
  return new Command('task')
    .description(
      'Create tasks, find them, ask why one is not running; requeue, cancel, change, end or purge them.',
    )
    .addCommand(addCommand(shell))
    .addCommand(listCommand(shell))
    .addCommand(showCommand(shell))
    .addCommand(whyCommand(shell))
    .addCommand(historyCommand(shell))
    .addCommand(requeueCommand(shell))
    .addCommand(cancelCommand(shell))
    .addCommand(changeCommand(shell))
    .addCommand(killCommand(shell))
    .addCommand(purgeCommand(shell));
}

interface ListOptions extends ReadOptions {
  readonly queue?: string;
  readonly state?: TaskRecord['state'];
  readonly key?: string;
  readonly worker?: string;
  readonly since?: string;
  readonly until?: string;
  readonly order: 'oldest' | 'newest';
  readonly limit: number;
}

function listCommand(shell: Shell): Command {
  const when = instantArgument(shell.clock);
  return readCommand(shell, 'ls')
    .description('List tasks in the order of their creation.')
    .option('--queue <queue>', 'only of this queue')
    .addOption(stateOption())
    .option('--key <key>', 'only with this key')
    .option('--worker <id>', 'only those that this worker has leased')
    .option('--since <when>', `only created after: ${INSTANT_FORMS}`, when)
    .option('--until <when>', 'only created before', when)
    .addOption(
      new Option('--order <order>', 'which come first').choices(['oldest', 'newest']).default('oldest'),
    )
    .addOption(limitOption())
    .addHelpText(
      'after',
      examples(
        'leasehold task ls --queue mail --state FAILED --order newest --limit 20',
        'leasehold task ls --key customer-7 --since 1d',
        'leasehold task ls --json | jq .task_id',
        'leasehold task ls --state LEASED --at 2026-01-31T08:00Z',
      ),
    )
    .action((options: ListOptions) =>
      withReads(shell, options, async ({ get, nowMs }) => {
        const { queue, state, key, worker, since, until, order } = options;
        const filter = {
          ...(queue === undefined ? {} : { queue }),
          ...(state === undefined ? {} : { state }),
          ...(key === undefined ? {} : { key }),
          ...(worker === undefined ? {} : { worker_id: worker }),
          ...(since === undefined ? {} : { created_after: since }),
          ...(until === undefined ? {} : { created_before: until }),
          order,
        };
        const pages = pagesOf(options.limit, async (page) => {
          const { tasks, next_cursor } = await get('task.list', { ...filter, ...page });
          return { items: tasks, next: next_cursor };
        });
        await showList(shell, options, pages, taskColumns(nowMs));
      }),
    );
}

function taskColumns(nowMs: number): Columns<TaskRecord> {
  return {
    head: ['ID', 'QUEUE', 'STATE', 'ATTEMPT', 'CREATED', 'WHAT'],
    cells: (task, paint) => [
      visible(task.task_id),
      visible(task.queue),
      stateText(task.state, paint),
      String(task.attempt),
      ago(task.created_at, nowMs),
      shortened(visible(whatOf(task, nowMs)), 60),
    ],
    none: 'There are no such tasks.',
  };
}

/** The most useful detail of a task in its state. */
function whatOf(task: TaskRecord, nowMs: number): string {
  if (task.state === 'LEASED') return `${task.worker_id}, lease ends ${ago(task.expiry_timestamp!, nowMs)}`;
  if (task.reason !== undefined && task.state !== 'COMPLETED') return task.reason;
  if (task.state === 'WAITING' && task.due_at > task.created_at) return `due ${ago(task.due_at, nowMs)}`;
  return task.payload?.text() ?? 'payload damaged';
}

function showCommand(shell: Shell): Command {
  return readCommand(shell, 'show')
    .description('Show one task: its state and progress, its leases, its payload and result.')
    .argument('<id>', 'the task')
    .addHelpText('after', examples('leasehold task show t-42', 'leasehold task show t-42 --json'))
    .action((id: string, options: ReadOptions) =>
      withReads(shell, options, async ({ ask, get, nowMs }) => {
        const task = await get('task.get', { task_id: id });
        const chain = options.json ? [] : await chainOf(ask, task);
        show(shell, options, task, (paint) => taskLines(task, chain, nowMs, paint));
      }),
    );
}

function whyCommand(shell: Shell): Command {
  return readCommand(shell, 'why')
    .description('Say why a task is not running.')
    .argument('<id>', 'the task')
    .addHelpText('after', examples('leasehold task why t-42'))
    .action((id: string, options: ReadOptions) =>
      withReads(shell, options, async ({ get }) => {
        const why = await get('task.why', { task_id: id });
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
          const reply = await lh.call('task.history', { task_id: id, ...page });
          if (!reply.ok && reply.code === 'TASK_NOT_FOUND') {
            const next = `One that was purged or forgotten is shown as it was by \`leasehold task show ${visible(id)} --at 2h\`, as far as the log reaches.`;
            throw refused(reply.code, `${reply.detail} ${next}`);
          }
          const { entries, next_cursor } = answered(reply);
          return { items: entries, next: next_cursor };
        });
        await showList(shell, options, pages, ENTRY_COLUMNS);
      }),
    );
}

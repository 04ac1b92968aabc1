/**
 * `task requeue`, `task cancel`, `task change`, `task kill` and `task purge`: on one task by its id, or on all tasks that the
 * options choose (`task-bulk.ts`).
 */
import type { Command } from 'commander';
import { durationMs, priority } from './arguments.ts';
import { examples, serverCommand, withServer } from './connection.ts';
import { answered, wrongUsage } from './failure.ts';
import { visible } from './format.ts';
import { show } from './output.ts';
import type { Shell } from './shell.ts';
import { type BulkSet, bulk, type FilterOptions, refuseFilter, withFilter } from './task-bulk.ts';

interface PlaceOptions extends FilterOptions {
  readonly toQueue?: string;
  readonly priority?: number;
  readonly delay?: number;
}

interface RequeueOptions extends PlaceOptions {
  readonly id?: string;
}

const ONE_OR_MANY = 'the task; without it, all tasks that the options choose';
const QUEUE = 'only of this queue; with an id, the same as --to-queue';

export function requeueCommand(shell: Shell): Command {
  return withFilter(serverCommand('requeue'), shell, QUEUE)
    .description(
      'Run ended tasks again, each as a new task; without an id and --state, the failed and dead ones. The old ones stay as they are.',
    )
    .argument('[id]', ONE_OR_MANY)
    .option('--reason <reason>', 'why; kept in the log; required without an id')
    .option('--to-queue <queue>', 'the queue of the new task (default: that of the ended one)')
    .option('--priority <n>', 'from -128 to 127, higher first (default: that of the ended one)', priority)
    .option('--delay <duration>', 'how long it is not leased, for example 30s', durationMs)
    .option('--id <new-id>', 'the id of the new task (default: generated)')
    .addHelpText(
      'after',
      examples(
        'leasehold task requeue t-42 --reason "the mail server is back"',
        'leasehold task requeue --queue mail --reason "the mail server is back" --dry-run',
        'leasehold task requeue --state DEAD --reason-is ATTEMPTS_EXHAUSTED --reason "mended"',
      ),
    )
    .action((id: string | undefined, options: RequeueOptions) => {
      if (id === undefined) {
        if (options.id !== undefined) throw wrongUsage('--id is for one task: say which one.');
        return bulk(shell, 'requeue', options, setOf(options));
      }
      const { queue, ...others } = options;
      refuseFilter(others);
      return withServer(shell, options, async (lh) => {
        const { reason, id: newId } = options;
        const made = answered(
          await lh.call('task.requeue', {
            task_id: id,
            ...(reason === undefined ? {} : { reason }),
            ...(newId === undefined ? {} : { task_id_new: newId }),
            ...placeOf(options),
          }),
        );
        show(shell, options, made, (paint) => {
          const name = paint.bold(visible(made.task_id));
          if (!made.duplicate)
            return [
              `${name} runs ${visible(id)} again in queue ${visible(made.queue ?? '')}, durable at seq ${made.seq}.`,
            ];
          const state = made.state ?? 'forgotten';
          return [`${visible(id)} was requeued before, as ${name}, which is ${state}. No task was created.`];
        });
      });
    });
}

export function cancelCommand(shell: Shell): Command {
  return withFilter(serverCommand('cancel'), shell)
    .description('Cancel tasks: a waiting task ends at once, the worker of a running one is told to stop.')
    .argument('[id]', ONE_OR_MANY)
    .requiredOption('--reason <reason>', 'why (required); kept with the task')
    .addHelpText(
      'after',
      examples(
        'leasehold task cancel t-42 --reason "the customer has left"',
        'leasehold task cancel --key customer-7 --reason "the customer has left"',
      ),
    )
    .action((id: string | undefined, options: FilterOptions & { readonly reason: string }) => {
      if (id === undefined) return bulk(shell, 'cancel', options);
      refuseFilter(options);
      return withServer(shell, options, async (lh) => {
        const cancelled = answered(await lh.call('task.cancel', { task_id: id, reason: options.reason }));
        const { state, duplicate, seq } = cancelled;
        const name = visible(cancelled.task_id);
        show(shell, options, cancelled, () => {
          if (duplicate) return [`${name} was cancelled before; it is ${state}.`];
          if (state === 'DEAD') return [`${name} is cancelled, durable at seq ${seq}.`];
          return [
            `${name} is running: its worker is told with the next renewal, and it ends with its lease. Durable at seq ${seq}.`,
          ];
        });
      });
    });
}

export function changeCommand(shell: Shell): Command {
  return withFilter(serverCommand('change'), shell, QUEUE)
    .description('Change the priority, the queue or the delay of tasks that wait.')
    .argument('[id]', ONE_OR_MANY)
    .option('--reason <reason>', 'why; required without an id')
    .option('--priority <n>', 'from -128 to 127, higher first', priority)
    .option('--to-queue <queue>', 'the queue to put it into')
    .option('--delay <duration>', 'how long it is not leased from now on; 0 for at once', durationMs)
    .addHelpText(
      'after',
      examples(
        'leasehold task change t-42 --priority 10',
        'leasehold task change t-42 --delay 0',
        'leasehold task change --queue mail --state WAITING --to-queue bulk-mail --reason "less urgent"',
      ),
    )
    .action((id: string | undefined, options: PlaceOptions) => {
      const { queue, ...others } = options;
      const place = placeOf(id === undefined ? others : options);
      if (Object.keys(place).length === 0)
        throw wrongUsage('Say what to change: --priority, --to-queue or --delay.');
      if (id === undefined) return bulk(shell, 'change', options, setOf(options));
      refuseFilter(others);
      return withServer(shell, options, async (lh) => {
        const changed = answered(await lh.call('task.change', { task_id: id, ...place }));
        show(shell, options, changed, () => [
          `${visible(changed.task_id)} waits in queue ${visible(changed.queue)}, priority ${changed.priority}, due ${changed.due_at}.`,
        ]);
      });
    });
}

export function killCommand(shell: Shell): Command {
  return withFilter(serverCommand('kill'), shell)
    .description('End tasks at once, as DEAD. A later verdict of a worker is CANCELLED.')
    .argument('[id]', ONE_OR_MANY)
    .requiredOption('--reason <reason>', 'why (required); kept with the task')
    .addHelpText(
      'after',
      examples(
        'leasehold task kill t-42 --reason "wrong address"',
        'leasehold task kill --queue mail --since 2h --reason "wrong template" --dry-run',
      ),
    )
    .action((id: string | undefined, options: FilterOptions & { readonly reason: string }) => {
      if (id === undefined) return bulk(shell, 'kill', options);
      refuseFilter(options);
      return withServer(shell, options, async (lh) => {
        const killed = answered(await lh.call('task.kill', { task_id: id, reason: options.reason }));
        show(shell, options, killed, () => [
          `${visible(killed.task_id)} is ${killed.state}, durable at seq ${killed.seq}.`,
        ]);
      });
    });
}

export function purgeCommand(shell: Shell): Command {
  return withFilter(serverCommand('purge'), shell)
    .description('Forget all matching ended tasks now, before the end of their retention.')
    .requiredOption('--reason <reason>', 'why (required)')
    .addHelpText(
      'after',
      examples(
        'leasehold task purge --queue mail --state COMPLETED --ended-until 1h --reason "personal data"',
      ),
    )
    .action((options: FilterOptions) => bulk(shell, 'purge', options));
}

function setOf({ toQueue, priority, delay }: PlaceOptions): BulkSet {
  return { queue: toQueue, priority, delay };
}

function placeOf({ queue: given, toQueue: queue = given, priority, delay }: PlaceOptions): {
  queue?: string;
  priority?: number;
  delay_ms?: number;
} {
  return {
    ...(queue === undefined ? {} : { queue }),
    ...(priority === undefined ? {} : { priority }),
    ...(delay === undefined ? {} : { delay_ms: delay }),
  };
}

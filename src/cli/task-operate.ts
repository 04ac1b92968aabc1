/** What an operator does to one task: `task requeue`, `task cancel`, `task change` and `task kill`. */
import type { Command } from 'commander';
import { durationMs, priority } from './arguments.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { answered, wrongUsage } from './failure.ts';
import { visible } from './format.ts';
import { show } from './output.ts';
import type { Shell } from './shell.ts';

interface PlaceOptions extends ServerOptions {
  readonly queue?: string;
  readonly priority?: number;
  readonly delay?: number;
}

interface RequeueOptions extends PlaceOptions {
  readonly reason?: string;
  readonly id?: string;
}

export function requeueCommand(shell: Shell): Command {
  return serverCommand('requeue')
    .description('Run an ended task again, as a new task. The old one stays as it is.')
    .argument('<id>', 'the task that has ended')
    .option('--reason <reason>', 'why; kept in the log')
    .option('--queue <queue>', 'the queue of the new task (default: that of the ended one)')
    .option('--priority <n>', 'from -128 to 127, higher first (default: that of the ended one)', priority)
    .option('--delay <duration>', 'how long it is not leased, for example 30s', durationMs)
    .option('--id <new-id>', 'the id of the new task (default: generated)')
    .addHelpText('after', examples('leasehold task requeue t-42 --reason "the mail server is back"'))
    .action((id: string, options: RequeueOptions) =>
      withServer(shell, options, async (lh) => {
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
      }),
    );
}

export function cancelCommand(shell: Shell): Command {
  return serverCommand('cancel')
    .description('Cancel a task: one that waits ends at once, the worker of one that runs is told to stop.')
    .argument('<id>', 'the task')
    .requiredOption('--reason <reason>', 'why (required); kept with the task')
    .addHelpText('after', examples('leasehold task cancel t-42 --reason "the customer has left"'))
    .action((id: string, options: ServerOptions & { readonly reason: string }) =>
      withServer(shell, options, async (lh) => {
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
      }),
    );
}

export function changeCommand(shell: Shell): Command {
  return serverCommand('change')
    .description('Change the priority, the queue or the delay of a task that waits.')
    .argument('<id>', 'the task')
    .option('--priority <n>', 'from -128 to 127, higher first', priority)
    .option('--queue <queue>', 'the queue to put it into')
    .option('--delay <duration>', 'how long it is not leased from now on; 0 for at once', durationMs)
    .addHelpText(
      'after',
      examples('leasehold task change t-42 --priority 10', 'leasehold task change t-42 --delay 0'),
    )
    .action((id: string, options: PlaceOptions) => {
      const place = placeOf(options);
      if (Object.keys(place).length === 0)
        throw wrongUsage('Say what to change: --priority, --queue or --delay.');
      return withServer(shell, options, async (lh) => {
        const changed = answered(await lh.call('task.change', { task_id: id, ...place }));
        show(shell, options, changed, () => [
          `${visible(changed.task_id)} waits in queue ${visible(changed.queue)}, priority ${changed.priority}, due ${changed.due_at}.`,
        ]);
      });
    });
}

export function killCommand(shell: Shell): Command {
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

function placeOf({ queue, priority, delay }: PlaceOptions): {
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

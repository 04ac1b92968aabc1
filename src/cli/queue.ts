/** `leasehold queue`: the queues, their tasks by state, and whether they are paused. */
import { Command } from 'commander';
import type { QueueRecord } from '../operations/records.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { answered } from './failure.ts';
import { visible } from './format.ts';
import { type Columns, show, showList } from './output.ts';
import type { Shell } from './shell.ts';

export function queueCommand(shell: Shell): Command {
  return new Command('queue')
    .description('Look at queues, pause and resume them.')
    .addCommand(listCommand(shell))
    .addCommand(switchCommand(shell, 'pause'))
    .addCommand(switchCommand(shell, 'resume'));
}

function listCommand(shell: Shell): Command {
  return serverCommand('ls')
    .description('List the queues with what is in them.')
    .addHelpText('after', examples('leasehold queue ls'))
    .action((options: ServerOptions) =>
      withServer(shell, options, async (lh) => {
        const { queues } = answered(await lh.call('queue.list', {}));
        await showList(shell, options, [queues], QUEUE_COLUMNS);
      }),
    );
}

export const QUEUE_COLUMNS: Columns<QueueRecord> = {
  head: ['QUEUE', 'WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD', ''],
  cells: (queue, paint) => [
    visible(queue.queue),
    String(queue.waiting),
    String(queue.leased),
    String(queue.completed),
    queue.failed > 0 ? paint.red(String(queue.failed)) : '0',
    queue.dead > 0 ? paint.red(String(queue.dead)) : '0',
    queue.paused ? paint.yellow('paused') : '',
  ],
  none: 'There are no queues yet.',
};

const SWITCHES = {
  pause: {
    does: 'Stop leasing the tasks of a queue. Running tasks continue.',
    says: 'is paused',
  },
  resume: { does: 'Lease the tasks of a queue again.', says: 'is handed out again' },
} as const;

function switchCommand(shell: Shell, verb: keyof typeof SWITCHES): Command {
  return serverCommand(verb)
    .description(SWITCHES[verb].does)
    .argument('<queue>', 'the queue')
    .addHelpText('after', examples(`leasehold queue ${verb} mail`))
    .action((queue: string, options: ServerOptions) =>
      withServer(shell, options, async (lh) => {
        const switched = answered(await lh.call(`queue.${verb}`, { queue }));
        show(shell, options, switched, () => [
          `${visible(switched.queue)} ${SWITCHES[verb].says}, durable at seq ${switched.seq}.`,
        ]);
      }),
    );
}

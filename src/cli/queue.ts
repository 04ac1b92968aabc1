/** `leasehold queue`: the queues, their tasks by state, whether they are paused, and their limits. */
import { Command, InvalidArgumentError } from 'commander';
import type { QueueRecord } from '../operations/records.ts';
import { LIMITS } from '../protocol/limits.ts';
import { boundedMs, positiveNumber } from './arguments.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { answered, wrongUsage } from './failure.ts';
import { duration, visible } from './format.ts';
import { type Columns, show, showList } from './output.ts';
import { type ReadOptions, readCommand, withReads } from './reads.ts';
import type { Shell } from './shell.ts';

export function queueCommand(shell: Shell): Command {
  return new Command('queue')
    .description('Show queues, pause and resume them, set their limits.')
    .addCommand(listCommand(shell))
    .addCommand(switchCommand(shell, 'pause'))
    .addCommand(switchCommand(shell, 'resume'))
    .addCommand(limitCommand(shell));
}

function listCommand(shell: Shell): Command {
  return readCommand(shell, 'ls')
    .description('List the queues with their counts.')
    .addHelpText('after', examples('leasehold queue ls'))
    .action((options: ReadOptions) =>
      withReads(shell, options, async ({ get }) => {
        const { queues } = await get('queue.list', {});
        await showList(shell, options, [queues], QUEUE_COLUMNS);
      }),
    );
}

export const QUEUE_COLUMNS: Columns<QueueRecord> = {
  head: ['QUEUE', 'WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD', 'LIMITS', ''],
  cells: (queue, paint) => [
    visible(queue.queue),
    String(queue.waiting),
    String(queue.leased),
    String(queue.completed),
    queue.failed > 0 ? paint.red(String(queue.failed)) : '0',
    queue.dead > 0 ? paint.red(String(queue.dead)) : '0',
    limitsText(queue.limits),
    queue.paused ? paint.yellow('paused') : '',
  ],
  none: 'There are no queues yet.',
};

const SWITCHES = {
  pause: {
    does: 'Stop leasing the tasks of a queue. Running tasks continue.',
    says: 'is paused',
  },
  resume: { does: 'Lease the tasks of a queue again.', says: 'is resumed' },
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

interface LimitOptions extends ServerOptions {
  readonly maxLeased?: number;
  readonly maxLeasedPerKey?: number;
  readonly rate?: Rate;
  readonly perKey?: true;
  readonly none?: true;
}

interface Rate {
  readonly count: number;
  readonly per_ms: number;
}

const NONE = { max_leased: null, max_leased_per_key: null, rate: null };

function limitCommand(shell: Shell): Command {
  return serverCommand('limit')
    .description('Set the limits of a queue; limits that are not named stay. Without options: show them.')
    .argument('<queue>', 'the queue')
    .option('--max-leased <count>', 'the maximum number of leased tasks', positiveNumber)
    .option('--max-leased-per-key <count>', 'the maximum number of leased tasks of each key', positiveNumber)
    .option('--rate <count/duration>', 'the maximum number of grants in any interval, such as 10/1s', rateOf)
    .option('--per-key', 'with --rate: for each key separately')
    .option('--none', 'remove all limits that are not named')
    .addHelpText(
      'after',
      examples(
        'leasehold queue limit mail --max-leased 20 --rate 10/1s',
        'leasehold queue limit imports --max-leased-per-key 1',
        'leasehold queue limit mail --none',
      ),
    )
    .action((queue: string, options: LimitOptions) => {
      const { maxLeased, maxLeasedPerKey, rate, perKey } = options;
      if (perKey && rate === undefined) throw wrongUsage('--per-key belongs to --rate.');
      return withServer(shell, options, async (lh) => {
        const set = answered(
          await lh.call('queue.limit', {
            queue,
            ...(options.none ? NONE : {}),
            ...(maxLeased === undefined ? {} : { max_leased: maxLeased }),
            ...(maxLeasedPerKey === undefined ? {} : { max_leased_per_key: maxLeasedPerKey }),
            ...(rate === undefined ? {} : { rate: { ...rate, per_key: perKey ?? false } }),
          }),
        );
        const isRead =
          !options.none && [maxLeased, maxLeasedPerKey, rate].every((limit) => limit === undefined);
        const durable = isRead ? '' : `; durable at seq ${set.seq}`;
        show(shell, options, set, () => [
          `The limits of ${visible(set.queue)}: ${limitsText(set.limits) || 'none'}${durable}.`,
        ]);
      });
    });
}

/** `10/1s`. */
function rateOf(text: string): Rate {
  const [count = '', per, ...rest] = text.split('/');
  if (per === undefined || rest.length > 0)
    throw new InvalidArgumentError('Give a count and an interval, such as 10/1s.');
  return {
    count: positiveNumber(count),
    per_ms: boundedMs(1, LIMITS.ratePerMaxMs)(per),
  };
}

function limitsText(limits: QueueRecord['limits']): string {
  const { max_leased, max_leased_per_key, rate } = limits ?? {};
  return [
    ...(max_leased === undefined ? [] : [`${max_leased} leased`]),
    ...(max_leased_per_key === undefined ? [] : [`${max_leased_per_key} a key`]),
    ...(rate === undefined
      ? []
      : [`${rate.count}/${duration(rate.per_ms).replace('.0s', 's')}${rate.per_key ? ' a key' : ''}`]),
  ].join(', ');
}

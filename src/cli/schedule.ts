/** `leasehold schedule`: tasks that are created at given times. */
import { Command } from 'commander';
import type { Body, Requests } from '../operations/table.ts';
import { durationMs, jsonArgument, positiveNumber, priority } from './arguments.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { answered, wrongUsage } from './failure.ts';
import { duration, fieldLines, visible } from './format.ts';
import { type Columns, pagesOf, show, showList } from './output.ts';
import { type ReadOptions, readCommand, withReads } from './reads.ts';
import type { Shell } from './shell.ts';

type ScheduleRecord = Body<'schedule.get'>;

export function scheduleCommand(shell: Shell): Command {
  return new Command('schedule')
    .description('Create tasks at given times: set, show, pause, resume and fire schedules.')
    .addCommand(setCommand(shell))
    .addCommand(listCommand(shell))
    .addCommand(showCommand(shell))
    .addCommand(removeCommand(shell))
    .addCommand(switchCommand(shell, 'pause'))
    .addCommand(switchCommand(shell, 'resume'))
    .addCommand(fireCommand(shell));
}

interface SetOptions extends ServerOptions {
  readonly cron?: string;
  readonly every?: number;
  readonly zone?: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly key?: string;
  readonly maxFailures?: number;
  readonly maxAttempts?: number;
  readonly overlap?: string;
  readonly catchUp?: string;
  readonly jitter?: number;
  readonly starts?: string;
  readonly ends?: string;
  readonly paused?: boolean;
}

function setCommand(shell: Shell): Command {
  return serverCommand('set')
    .description('Set a schedule, or replace the one of this name.')
    .argument('<name>', 'the name of the schedule')
    .argument('<json>', 'the payload of its tasks, or - to read it from standard input')
    .option(
      '--cron <pattern>',
      'when it is due: five fields, six with seconds first, or a word such as @daily',
    )
    .option('--every <duration>', 'the interval instead of a pattern, at least 1s', durationMs)
    .option('--zone <zone>', 'the time zone of the pattern, for example Europe/Berlin (default: UTC)')
    .option('--queue <queue>', 'the queue of its tasks (default: default)')
    .option('--priority <n>', 'from -128 to 127, higher first', priority)
    .option('--key <key>', 'the key of its tasks, for limits and turns, such as a customer')
    .option('--max-failures <n>', 'how many failures make a task FAILED (default: 5)', positiveNumber)
    .option(
      '--max-attempts <n>',
      'how many leases a task may have before it is DEAD (default: 100)',
      positiveNumber,
    )
    .option(
      '--overlap <policy>',
      'skip a due time while a task of the schedule runs, or allow both (default: skip)',
    )
    .option('--catch-up <policy>', 'which missed due times fire: none, one or all (default: one)')
    .option('--jitter <duration>', 'each due time fires up to this much later', durationMs)
    .option('--starts <instant>', 'no due time before it, for example 2026-01-31T00:00:00Z')
    .option('--ends <instant>', 'no due time at or after it')
    .option('--paused', 'nothing is due until it is resumed')
    .addHelpText(
      'after',
      examples(
        `leasehold schedule set nightly '{"full":true}' --cron "0 3 * * *" --zone Europe/Berlin --queue reports`,
        `leasehold schedule set heartbeat null --every 30s --queue probes`,
      ),
    )
    .action((name: string, word: string, options: SetOptions) => {
      if ((options.cron === undefined) === (options.every === undefined)) {
        throw wrongUsage('A schedule needs either --cron or --every.');
      }
      return withServer(shell, options, async (lh) => {
        const payload = await jsonArgument(shell, word, 'payload');
        const request = { name, payload, ...requestOf(options) };
        const set = answered(await lh.call('schedule.put', request as Requests['schedule.put']));
        show(shell, options, set, () => [
          `${visible(name)} ${set.created ? 'is set' : 'is replaced'}, durable at seq ${set.seq}; ${nextOf(set)}.`,
        ]);
      });
    });
}

/** The server refuses unknown policies and lists the known ones. */
function requestOf(options: SetOptions): object {
  const { cron, every, zone, queue, priority, key, maxFailures, maxAttempts, jitter, starts, ends } = options;
  const fields = {
    cron,
    every_ms: every,
    timezone: zone,
    queue: queue ?? 'default',
    priority,
    key,
    retry: maxFailures === undefined ? undefined : { max_failures: maxFailures },
    max_attempts: maxAttempts,
    overlap: options.overlap,
    catch_up: options.catchUp,
    jitter_ms: jitter,
    starts_at: starts,
    ends_at: ends,
    paused: options.paused,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function nextOf({
  next_at: next,
  paused,
  timezone = 'UTC',
}: Pick<ScheduleRecord, 'next_at' | 'paused'> & { readonly timezone?: string }): string {
  if (next !== null) return `next due at ${dueTime(next, timezone)}`;
  return paused ? 'it is paused' : 'no due time is left';
}

/** By the clock of this machine, in UTC, and in the zone of the schedule where that is another time. */
function dueTime(instant: string, zone: string): string {
  const local = localTime(instant);
  const own = localTime(instant, zone);
  const isShown = own === local || zone === 'UTC';
  return `${local} (${instant}${isShown ? '' : `; ${own} ${visible(zone)}`})`;
}

/** By the clock of this machine or of a zone, to the second. */
function localTime(instant: string, timeZone?: string): string {
  const style = { dateStyle: 'short', timeStyle: 'medium', timeZone } as const;
  return new Intl.DateTimeFormat('sv-SE', style).format(Date.parse(instant));
}

function listCommand(shell: Shell): Command {
  return readCommand(shell, 'ls')
    .description('List schedules by name, with their next run in local time and UTC.')
    .option('--limit <n>', 'how many at most (default: all)', positiveNumber)
    .addHelpText('after', examples('leasehold schedule ls'))
    .action((options: ReadOptions & { limit?: number }) =>
      withReads(shell, options, async ({ get }) => {
        const pages = pagesOf(options.limit ?? Number.POSITIVE_INFINITY, async (request) => {
          const page = await get('schedule.list', request);
          return { items: page.schedules, next: page.next_cursor };
        });
        await showList(shell, options, pages, COLUMNS);
      }),
    );
}

const COLUMNS: Columns<Omit<ScheduleRecord, 'ok'>> = {
  head: ['SCHEDULE', 'DUE', 'QUEUE', 'NEXT (LOCAL)', 'NEXT (UTC)', 'LAST DUE (UTC)', ''],
  cells: (schedule, paint) => [
    visible(schedule.name),
    dueOf(schedule),
    visible(schedule.queue),
    schedule.next_at === null ? '-' : localTime(schedule.next_at),
    schedule.next_at ?? '-',
    schedule.last_due_at ?? '-',
    schedule.paused ? paint.yellow('paused') : '',
  ],
  none: 'There are no schedules.',
};

function dueOf({ cron, every_ms: everyMs, timezone }: Omit<ScheduleRecord, 'ok'>): string {
  return cron === undefined ? `every ${duration(everyMs!)}` : `${visible(cron)} ${visible(timezone)}`;
}

function showCommand(shell: Shell): Command {
  return readCommand(shell, 'show')
    .description('Show a schedule, with its next five due times.')
    .argument('<name>', 'the name of the schedule')
    .addHelpText('after', examples('leasehold schedule show nightly'))
    .action((name: string, options: ReadOptions) =>
      withReads(shell, options, async ({ get }) => {
        const schedule = await get('schedule.get', { name });
        show(shell, options, schedule, (paint) =>
          fieldLines(
            [
              ['schedule', paint.bold(visible(schedule.name))],
              ['due', dueOf(schedule)],
              ['queue', visible(schedule.queue)],
              ['payload', visible(schedule.payload?.text() ?? 'damaged')],
              ['overlap', schedule.overlap],
              ['catch up', schedule.catch_up],
              ['jitter', duration(schedule.jitter_ms)],
              ['paused', schedule.paused ? paint.yellow('yes') : 'no'],
              ['set by', schedule.applied ? 'a program' : 'hand'],
              ...schedule.next_five.map((at): [string, string] => ['next', dueTime(at, schedule.timezone)]),
              ['last due', schedule.last_due_at ?? '-'],
              ['last task', visible(schedule.last_task_id ?? '-')],
            ],
            paint,
          ),
        );
      }),
    );
}

function removeCommand(shell: Shell): Command {
  return serverCommand('rm')
    .description('Remove a schedule. Its tasks stay.')
    .argument('<name>', 'the name of the schedule')
    .addHelpText('after', examples('leasehold schedule rm nightly'))
    .action((name: string, options: ServerOptions) =>
      withServer(shell, options, async (lh) => {
        const removed = answered(await lh.call('schedule.delete', { name }));
        show(shell, options, removed, () => [`${visible(name)} is removed, durable at seq ${removed.seq}.`]);
      }),
    );
}

const SWITCHES = {
  pause: 'Pause a schedule: nothing is due until it is resumed, and due times missed meanwhile never fire.',
  resume: 'Resume a schedule from its first due time after now.',
} as const;

function switchCommand(shell: Shell, verb: keyof typeof SWITCHES): Command {
  return serverCommand(verb)
    .description(SWITCHES[verb])
    .argument('<name>', 'the name of the schedule')
    .addHelpText('after', examples(`leasehold schedule ${verb} nightly`))
    .action((name: string, options: ServerOptions) =>
      withServer(shell, options, async (lh) => {
        const switched = answered(await lh.call(`schedule.${verb}`, { name }));
        show(shell, options, switched, () => [
          `${visible(name)} is ${verb}d, durable at seq ${switched.seq}${verb === 'pause' ? '' : `; ${nextOf(switched)}`}.`,
        ]);
      }),
    );
}

function fireCommand(shell: Shell): Command {
  return serverCommand('fire')
    .description('Create a task of a schedule now, even if another one runs or the schedule is paused.')
    .argument('<name>', 'the name of the schedule')
    .addHelpText('after', examples('leasehold schedule fire nightly'))
    .action((name: string, options: ServerOptions) =>
      withServer(shell, options, async (lh) => {
        const fired = answered(await lh.call('schedule.fire', { name }));
        show(shell, options, fired, (paint) => [
          `${paint.bold(visible(fired.task_id))} is created, durable at seq ${fired.seq}.`,
        ]);
      }),
    );
}

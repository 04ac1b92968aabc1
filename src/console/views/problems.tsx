/** The current problems as sentences, worst first: a pure function of the server's state. */
import type { ComponentChildren } from 'preact';
import { clockText, countText, durationText } from '../data/clock.ts';
import { type QueueTrouble, queueTrouble } from '../data/queue-trouble.ts';
import { hrefOf } from '../data/route.ts';
import { taskLosses } from '../data/task-losses.ts';
import { quotedWord } from '../data/task-query.ts';
import type { Incident, Overview, QueueOverview, Status } from '../data/watch.ts';
import { Name } from '../parts/text.tsx';

export interface Trouble {
  readonly tone: 'bad' | 'warn';
  readonly says: ComponentChildren;
  readonly href: string;
}

const NAMES_MAX = 3;
/** From this difference on the server also warns in its log. */
const TIME_OFF_MS = 60_000;

export function troublesOf(status: Status, overview: Overview | null): Trouble[] {
  const troubles: Trouble[] = [];
  if (status.disk_full) {
    troubles.push({
      tone: 'bad',
      says: 'The disk is full: creates, writes and grants are refused. Renewals, completions and releases still work.',
      href: hrefOf('now'),
    });
  }
  const { clock_off_ms: offMs } = status;
  if (offMs !== null && Math.abs(offMs) > TIME_OFF_MS) {
    const off = `${durationText(Math.abs(offMs))} ${offMs > 0 ? 'ahead of' : 'behind'} the wall clock`;
    troubles.push({
      tone: 'warn',
      says: `The time of the server is ${off} of its machine. Schedules fire by the time of the server.`,
      href: hrefOf('schedules'),
    });
  }
  if (overview !== null) {
    const nowMs = Date.parse(overview.now);
    troubles.push(...lostTasks(overview.incidents), ...lostNames(overview.incidents));
    for (const queue of overview.queues) troubles.push(...queueTroubles(queue, nowMs));
  }
  return [
    ...troubles.filter(({ tone }) => tone === 'bad'),
    ...troubles.filter(({ tone }) => tone === 'warn'),
  ];
}

const SAYS: Readonly<
  Record<string, { tone: Trouble['tone']; noun?: string; one: string; many: string; query: string }>
> = {
  LeaseExpired: { tone: 'bad', one: 'lost its lease', many: 'lost their lease', query: '' },
  TaskDead: { tone: 'bad', one: 'died', many: 'died', query: 'state:dead' },
  TaskFailed: { tone: 'warn', one: 'failed', many: 'failed', query: 'state:failed' },
  TaskCancelled: { tone: 'warn', noun: 'late result', one: 'was refused', many: 'were refused', query: '' },
};

/** "3 tasks in `transcode` lost their lease in the last 10 minutes, all from worker `w7`." */
function lostTasks(incidents: readonly Incident[]): Trouble[] {
  return taskLosses(incidents.filter(({ type }) => type in SAYS)).map(
    ({ incidents: group, tasks, isCut }) => {
      const [first] = group;
      const { type, queue = '', task_id: taskId = '' } = first;
      const { tone, noun = 'task', one, many, query } = SAYS[type]!;
      const count = noun === 'task' ? tasks : group.length;
      const reasons = [...new Set(group.flatMap(({ reason }) => (reason === undefined ? [] : [reason])))];
      return {
        tone,
        says: (
          <>
            {count === 1 && noun === 'task' ? (
              <>
                Task <Name text={taskId} /> in <Name text={queue} /> {one}
                {group.length > 1 && ` ${group.length} times`}
              </>
            ) : (
              <>
                {isCut && 'At least '}
                {counted(count, noun)} in <Name text={queue} /> {count === 1 ? one : many}
              </>
            )}{' '}
            {within(group)}
            {fromWhom(group)}.
            {reasons.length > 0 && (
              <>
                {' '}
                {reasons.length === 1 ? 'Reason' : 'Newest reason'}: <Name text={reasons[0]!} />
              </>
            )}
          </>
        ),
        href:
          count === 1
            ? hrefOf('tasks', taskId)
            : query === ''
              ? hrefOf('queues', queue)
              : hrefOf('tasks', null, { q: `queue:${quotedWord(queue)} ${query}` }),
      };
    },
  );
}

function within(group: readonly Incident[]): string {
  const newest = Date.parse(group[0]!.at);
  return group.length === 1
    ? `at ${clockText(newest)}`
    : `in the last 10 minutes, the last at ${clockText(newest)}`;
}

function fromWhom(group: readonly Incident[]): ComponentChildren {
  const holders = [...new Set(group.flatMap(({ holder }) => (holder === undefined ? [] : [holder])))];
  if (holders.length === 0) return null;
  if (holders.length > 1) return `, from ${holders.length} workers`;
  return (
    <>
      , {group.length > 1 ? 'all ' : ''}from worker <Name text={holders[0]!} />
    </>
  );
}

function lostNames(incidents: readonly Incident[]): Trouble[] {
  const names = incidents.filter(({ name }) => name !== undefined);
  const shown = names.slice(0, NAMES_MAX).map(
    ({ name = '', holder = '', type, at, reason }): Trouble => ({
      tone: type === 'NameBroken' ? 'warn' : 'bad',
      says: (
        <>
          The lease <Name text={name} /> of <Name text={holder} />{' '}
          {type === 'NameBroken' ? 'was broken' : 'ran out without a renewal'} at {clockText(Date.parse(at))}
          {reason === undefined ? (
            '.'
          ) : (
            <>
              : <Name text={reason} />
            </>
          )}
        </>
      ),
      href: hrefOf('leases', name),
    }),
  );
  const rest = names.length - shown.length;
  if (rest === 0) return shown;
  return [
    ...shown,
    {
      tone: 'bad',
      says: `${counted(rest, 'more lease')} ended without a release in the last 10 minutes.`,
      href: hrefOf('log', null, { types: 'NameExpired,NameBroken' }),
    },
  ];
}

export function queueTroubles(figures: QueueOverview, nowMs: number): Trouble[] {
  const trouble = queueTrouble(figures, nowMs);
  if (trouble === null) return [];
  const tone = trouble === 'unserved' ? 'bad' : 'warn';
  return [{ tone, says: SAYS_OF[trouble](figures, nowMs), href: hrefOf('queues', figures.queue) }];
}

const SAYS_OF: Readonly<Record<QueueTrouble, (figures: QueueOverview, nowMs: number) => ComponentChildren>> =
  {
    paused: ({ queue, ready }) => (
      <>
        <Name text={queue} /> is paused, and {counted(ready, 'ready task')} {ready === 1 ? 'waits' : 'wait'}.
      </>
    ),
    unserved: ({ queue, ready, workers, last_polled_at: polled }) => (
      <>
        <Name text={queue} /> has {counted(ready, 'ready task')} and no worker{' '}
        {workers === 0 || polled === undefined
          ? 'in the last 10 minutes'
          : `since ${clockText(Date.parse(polled))}`}
        .
      </>
    ),
    full: ({ queue, ready, leased, last_polled_at: polled = '' }, nowMs) => (
      <>
        No worker has asked for tasks of <Name text={queue} /> for {durationText(nowMs - Date.parse(polled))},
        although {counted(ready, 'task')} {ready === 1 ? 'is' : 'are'} ready. Its workers have{' '}
        {counted(leased, 'task')}: they are full, or hang.
      </>
    ),
    old: ({ queue, oldest_ready_ms: oldestMs }) => (
      <>
        The oldest ready task in <Name text={queue} /> has waited {durationText(oldestMs)}.
      </>
    ),
  };

function counted(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;
}

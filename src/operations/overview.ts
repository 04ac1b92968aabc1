/** `overview.get` and `queue.figures`: what an operator watches, in one request whose cost does not depend on the number of tasks. */
import { type Static, Type } from '@sinclair/typebox';
import type { Buckets } from '../authority/buckets.ts';
import type { Incident } from '../authority/incidents.ts';
import { lookAtQueues, type QueueGauges } from '../authority/queue-figures.ts';
import { liveGuard } from '../authority/reads.ts';
import { type QueueStats, TASK_EVENTS } from '../authority/task-stats.ts';
import { waitingNames } from '../authority/waiter-reads.ts';
import { type Log, LogOutOfReachError } from '../engines/log.ts';
import { instant } from '../protocol/instant.ts';
import { GRANTED_AT, REPORT, TASK_ID } from './example-story.ts';
import { fields, note, Queue, stale } from './fields.ts';
import { leaderRead } from './operation.ts';
import { Flag, Instant, RemainingMs, Seq, Text, Whole } from './reply-fields.ts';

/** How many incidents an overview shows. */
const INCIDENTS_MAX = 200;

const Totals = Type.Object(
  Object.fromEntries(TASK_EVENTS.map((event) => [event, Whole])) as Record<
    (typeof TASK_EVENTS)[number],
    typeof Whole
  >,
  { description: 'what happened to its tasks since this server opened the log' },
);

const QueueOverview = Type.Object({
  queue: note(Text, 'the name of the queue; other for all queues beyond the first 200'),
  paused: note(Flag, 'whether it is paused'),
  ready: note(Whole, 'tasks that could be leased now'),
  delayed: note(Whole, 'tasks that are not due yet'),
  backoff: note(Whole, 'tasks that failed and are not due yet'),
  limited: note(Whole, 'tasks that a limit holds back'),
  leased: note(Whole, 'tasks that a worker has'),
  failed: note(Whole, 'tasks that have failed and are still kept'),
  dead: note(Whole, 'tasks that are dead and are still kept'),
  oldest_ready_ms: note(
    Whole,
    'how long the oldest ready task has been ready; only the next task of each priority and the oldest one with a key count',
  ),
  workers: note(Whole, 'workers that polled it in the last ten minutes'),
  last_polled_at: Type.Optional(note(Instant, 'when a worker last polled it')),
  totals: Totals,
});

const IncidentRecord = Type.Object({
  seq: note(Seq, 'the entry that recorded it'),
  at: Instant,
  type: note(
    Text,
    'LeaseExpired, TaskCancelled (a verdict that came too late), TaskFailed, TaskDead, NameExpired or NameBroken',
  ),
  task_id: Type.Optional(note(Text, 'the task')),
  queue: Type.Optional(note(Text, 'the queue of the task')),
  name: Type.Optional(note(Text, 'the name that was leased')),
  holder: Type.Optional(note(Text, 'the worker that had the task, or the holder of the name')),
  reason: Type.Optional(note(Text, 'why it failed, died or was broken')),
});

const StandbyRecord = Type.Object({
  url: note(Text, 'the URL that it advertises, cut after 45 characters'),
  silent_ms: note(Whole, 'time since its last sign of life'),
});

const LineRecord = Type.Object({
  name: note(Text, 'the name that they wait for'),
  waiters: note(Whole, 'how many wait; lease.waiters lists them'),
});

/** How many lines an overview shows. */
const LINES_MAX = 200;

const EXAMPLE_TOTALS = {
  created: 124,
  leased: 122,
  completed: 120,
  failed: 0,
  expired: 1,
  cancelled: 0,
  late: 1,
  dead: 0,
};

export const getOverview = leaderRead({
  name: 'overview.get',
  path: '/v1/overview',
  does: 'Queues, recent incidents and the work of the authority in one answer, for dashboards.',
  details: `\`incidents\` are those of the last ten minutes, newest first, at most ${INCIDENTS_MAX}. Incidents, totals, workers and \`commits\` are soft
state: they start empty with each server that takes over the log. At most 200 queues are shown by name.
\`lines\` are names that callers wait for, at most ${LINES_MAX} of them.`,
  request: fields({ stale }),
  reply: Type.Object({
    now: note(Instant, 'the time of the authority'),
    seq: note(Seq, 'the newest entry'),
    commits: note(Whole, 'batches made durable since this server opened the log'),
    commit_ms: Type.Number({ minimum: 0, description: 'the total time of these batches' }),
    guard: Type.Union(
      [
        Type.Object({ holder: note(Text, 'its holder'), lease_seq: Seq, remaining_ms: RemainingMs }),
        Type.Null(),
      ],
      { description: 'the guard of the orchestrator; null when it is not held' },
    ),
    standbys: Type.Union([Type.Array(StandbyRecord), Type.Null()], {
      description:
        'the servers that would take over; null for a log in files, and while the database does not answer',
    }),
    queues: Type.Array(QueueOverview),
    incidents: Type.Array(IncidentRecord),
    lines: Type.Array(LineRecord),
  }),
  refusals: [],
  example: {
    request: {},
    reply: {
      now: GRANTED_AT,
      seq: 54,
      commits: 31,
      commit_ms: 12.5,
      guard: { holder: 'orchestrator-1', lease_seq: 12, remaining_ms: 11_200 },
      standbys: [{ url: 'http://10.0.0.2:7420', silent_ms: 84 }],
      queues: [
        {
          queue: 'mail',
          paused: false,
          ready: 3,
          delayed: 0,
          backoff: 0,
          limited: 0,
          leased: 1,
          failed: 0,
          dead: 0,
          oldest_ready_ms: 1_250,
          workers: 1,
          last_polled_at: GRANTED_AT,
          totals: EXAMPLE_TOTALS,
        },
      ],
      incidents: [
        {
          seq: 51,
          at: GRANTED_AT,
          type: 'LeaseExpired',
          task_id: TASK_ID,
          queue: 'mail',
          holder: 'worker-1',
        },
      ],
      lines: [{ name: REPORT.name, waiters: 2 }],
    },
  },
  async look(_, { authority }) {
    const standbys = await standbysOf(authority.log);
    return authority.read((machine) => {
      const { stats, soft } = authority;
      const { state, batchAtMs: nowMs } = machine;
      const totals = new Map(stats.tasks.all());
      const pollers = soft.workers.byQueue(nowMs);
      const guard = liveGuard(machine);
      const { gauges } = lookAtQueues(machine, stats.tasks);
      return {
        ok: true as const,
        now: instant(nowMs),
        seq: state.lastSeq,
        commits: stats.commitMs.count,
        commit_ms: Math.round(stats.commitMs.sum * 1_000) / 1_000,
        guard:
          guard === null
            ? null
            : {
                holder: guard.holder,
                lease_seq: guard.leaseSeq,
                remaining_ms: Math.max(0, guard.expiresAtMs - nowMs),
              },
        standbys,
        queues: [...gauges].map(([queue, each]) => {
          const polled = pollers.get(queue);
          return {
            queue,
            paused: state.tasks.queues.get(queue)?.paused ?? false,
            ...countsOf(each),
            workers: polled?.workers ?? 0,
            ...(polled === undefined ? {} : { last_polled_at: instant(polled.polledMs) }),
            totals: totalsOf(totals.get(queue)),
          };
        }),
        incidents: soft.incidents.recent(nowMs, INCIDENTS_MAX).map(incidentRecord),
        lines: waitingNames(machine, LINES_MAX),
      };
    });
  },
});

/** Null if the database does not answer in time: the rest of the overview does not depend on it. */
async function standbysOf(log: Log): Promise<Static<typeof StandbyRecord>[] | null> {
  try {
    const standbys = await log.standbys?.();
    return standbys?.map(({ url, silentMs }) => ({ url, silent_ms: silentMs })) ?? null;
  } catch (fault) {
    if (fault instanceof LogOutOfReachError) return null;
    throw fault;
  }
}

function countsOf({ tasks, oldestReadyMs }: QueueGauges) {
  return { ...tasks, oldest_ready_ms: Math.max(0, oldestReadyMs) };
}

function totalsOf(stats: QueueStats | undefined): Static<typeof Totals> {
  return Object.fromEntries(TASK_EVENTS.map((event) => [event, stats?.[event] ?? 0])) as Static<
    typeof Totals
  >;
}

function incidentRecord(incident: Incident): Static<typeof IncidentRecord> {
  const { seq, atMs, type, taskId, queue, name, holder, reason } = incident;
  return {
    seq,
    at: instant(atMs),
    type,
    ...(taskId === null ? {} : { task_id: taskId }),
    ...(queue === null ? {} : { queue }),
    ...(name === null ? {} : { name }),
    ...(holder === null ? {} : { holder }),
    ...(reason === null ? {} : { reason }),
  };
}

const Histogram = Type.Array(
  Type.Object({
    up_to_ms: Type.Union([Whole, Type.Null()], { description: 'the upper bound, inclusive; null: none' }),
    count: note(Whole, 'how many were above the previous bound and at most this one'),
  }),
);

export const getQueueFigures = leaderRead({
  name: 'queue.figures',
  path: '/v1/queues/{queue}/figures',
  does: 'How long the tasks of a queue waited and ran, as histograms. Soft state.',
  details: `Counted since this server opened the log, for the first 200 queues; empty for others.`,
  request: fields({ queue: Queue, stale }),
  reply: Type.Object({
    queue: note(Text, 'the name of the queue'),
    totals: Totals,
    wait: note(Histogram, 'the time from ready to leased'),
    run: note(Histogram, 'the time from the grant of a lease to its end, however it ended'),
  }),
  refusals: [],
  example: {
    request: { queue: 'mail' },
    reply: {
      queue: 'mail',
      totals: EXAMPLE_TOTALS,
      wait: [
        { up_to_ms: 5, count: 118 },
        { up_to_ms: null, count: 4 },
      ],
      run: [
        { up_to_ms: 5, count: 0 },
        { up_to_ms: null, count: 122 },
      ],
    },
  },
  look: ({ queue }, { authority }) =>
    authority.read(() => {
      const { tasks } = authority.stats;
      const stats = new Map(tasks.all()).get(queue);
      return {
        ok: true as const,
        queue,
        totals: totalsOf(stats),
        wait: stats === undefined ? [] : histogramOf(stats.waitMs),
        run: stats === undefined ? [] : histogramOf(stats.runMs),
      };
    }),
});

function histogramOf({ bounds, counts }: Buckets): Static<typeof Histogram> {
  return [...counts].map((count, index) => ({ up_to_ms: bounds[index] ?? null, count }));
}

/** `queue.list`, `queue.pause`, `queue.resume`. Limits are set in `queue-limits.ts`. */
import { Type } from '@sinclair/typebox';
import { listQueues } from '../authority/reads.ts';
import type { PauseQueue, ResumeQueue } from '../core/commands.ts';
import { fields, note, Queue, stale } from './fields.ts';
import { change, stateRead } from './operation.ts';
import { limitsBody, ShownLimits } from './queue-limits.ts';
import { Flag, Seq, Text, Whole } from './reply-fields.ts';

export const QueueCounts = Type.Object({
  queue: note(Text, 'the name of the queue'),
  paused: note(Flag, 'whether it is paused'),
  waiting: note(Whole, 'tasks that wait, due or not'),
  leased: note(Whole, 'tasks that a worker has'),
  completed: note(Whole, 'tasks that have completed and are still kept'),
  failed: note(Whole, 'tasks that have failed and are still kept'),
  dead: note(Whole, 'tasks that are dead and are still kept'),
  limits: Type.Optional(note(ShownLimits, 'its limits, if any')),
});

export const listAllQueues = stateRead({
  name: 'queue.list',
  path: '/v1/queues',
  long: 'list',
  does: 'List the queues with their counts.',
  request: fields({ stale }),
  reply: Type.Object({ queues: Type.Array(QueueCounts) }),
  refusals: [],
  example: {
    request: {},
    reply: {
      queues: [
        {
          queue: 'mail',
          paused: false,
          waiting: 3,
          leased: 1,
          completed: 120,
          failed: 0,
          dead: 0,
          limits: { max_leased_per_key: 1, rate: { count: 10, per_ms: 1_000, per_key: false } },
        },
      ],
    },
  },
  async look(_, { source }) {
    const queues = await source.read(listQueues);
    return {
      ok: true,
      queues: queues.map(({ queue, paused, counts, limits }) => ({
        queue,
        paused,
        waiting: counts.WAITING,
        leased: counts.LEASED,
        completed: counts.COMPLETED,
        failed: counts.FAILED,
        dead: counts.DEAD,
        ...(limits === null ? {} : { limits: limitsBody(limits) }),
      })),
    };
  },
});

export const QueueSwitch = Type.Object({
  queue: note(Text, 'the name of the queue'),
  paused: note(Flag, 'whether it is paused now'),
  seq: Seq,
});

export const pauseQueue = change({
  name: 'queue.pause',
  method: 'POST',
  path: '/v1/queues/{queue}/pause',
  scope: 'v1:admin',
  status: 200,
  retry: 'safe',
  does: 'Stop leasing tasks of a queue.',
  details: `Existing leases continue.`,
  request: fields({ queue: Queue }),
  reply: QueueSwitch,
  refusals: [],
  example: { request: { queue: 'mail' }, reply: { queue: 'mail', paused: true, seq: 49 } },
  command: ({ queue }): PauseQueue => ({ type: 'PauseQueue', queue }),
  body: ({ queue, paused, seq }) => ({ ok: true, queue, paused, seq }),
});

export const resumeQueue = change({
  name: 'queue.resume',
  method: 'POST',
  path: '/v1/queues/{queue}/resume',
  scope: 'v1:admin',
  status: 200,
  retry: 'safe',
  does: 'Resume leasing tasks of a queue.',
  request: fields({ queue: Queue }),
  reply: QueueSwitch,
  refusals: [],
  example: { request: { queue: 'mail' }, reply: { queue: 'mail', paused: false, seq: 50 } },
  command: ({ queue }): ResumeQueue => ({ type: 'ResumeQueue', queue }),
  body: ({ queue, paused, seq }) => ({ ok: true, queue, paused, seq }),
});

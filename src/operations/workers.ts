/** `worker.list`: the workers that sent a request recently. Soft state that starts empty. */
import { Type } from '@sinclair/typebox';
import { leasesByWorker, tasksOfWorker } from '../authority/reads.ts';
import { instant } from '../protocol/instant.ts';
import { GRANTED_AT, TASK_ID } from './example-story.ts';
import { fields, note, stale } from './fields.ts';
import { leaderRead } from './operation.ts';
import { Instant, Text, Whole } from './reply-fields.ts';

/** How many tasks of each worker are named. */
const TASKS_SHOWN = 3;

export const Worker = Type.Object({
  worker_id: note(Text, 'the id of the worker'),
  last_heartbeat: note(Instant, 'the time of its last request'),
  active_leases: note(Whole, 'how many tasks it has leased'),
  task_ids: Type.Optional(Type.Array(Text, { description: `the oldest of them, at most ${TASKS_SHOWN}` })),
  queues: Type.Array(Text, { description: 'the queues it last polled' }),
});

export const listWorkers = leaderRead({
  name: 'worker.list',
  path: '/v1/workers',
  long: 'list',
  does: 'List the workers that sent a request recently. Soft state.',
  details: `Workers that sent a request in the last ten minutes. The list starts empty after a restart, and no rule uses it.`,
  request: fields({ stale }),
  reply: Type.Object({ workers: Type.Array(Worker) }),
  refusals: [],
  example: {
    request: {},
    reply: {
      workers: [
        {
          worker_id: 'worker-1',
          last_heartbeat: GRANTED_AT,
          active_leases: 1,
          task_ids: [TASK_ID],
          queues: ['mail'],
        },
      ],
    },
  },
  async look(_, { authority }) {
    const workers = await authority.read((machine) =>
      authority.soft.workers
        .list(machine.batchAtMs, leasesByWorker(machine))
        .map((worker) => ({ ...worker, tasks: tasksOfWorker(machine, worker.workerId, TASKS_SHOWN) })),
    );
    return {
      ok: true,
      workers: workers.map(({ workerId, lastHeartbeatMs, activeLeases, tasks, queues }) => ({
        worker_id: workerId,
        last_heartbeat: instant(lastHeartbeatMs),
        active_leases: activeLeases,
        ...(tasks.length === 0 ? {} : { task_ids: tasks }),
        queues: [...queues],
      })),
    };
  },
});

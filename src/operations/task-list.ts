/** `task.list`: tasks in the order of their creation, by index. */
import { Type } from '@sinclair/typebox';
import { listTasks } from '../authority/reads.ts';
import { cursorOf, fields, Limit, stale } from './fields.ts';
import { stateRead } from './operation.ts';
import { NextCursor } from './reply-fields.ts';
import { filterOf, TASK_FILTER } from './task-filter.ts';
import { record, TASK, Task } from './task-reads.ts';

export const listAllTasks = stateRead({
  name: 'task.list',
  path: '/v1/tasks',
  long: 'list',
  does: 'List tasks in the order of their creation, page by page.',
  details: `Filtered by nothing, \`queue\`, \`state\`, both of these, \`key\`, or \`worker_id\`, the cost of a page depends only on
what it returns, and a page with a \`next_cursor\` is never empty. Other combinations scan the shortest such list, at most
10 000 tasks a call: then a page may be empty and still have a \`next_cursor\`. The bounds of time are exclusive.`,
  request: fields({
    ...TASK_FILTER,
    order: Type.Optional(
      Type.Union([Type.Literal('oldest'), Type.Literal('newest')], {
        description: 'Which come first; oldest by default.',
      }),
    ),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(cursorOf('^[0-9]{1,16}$')),
    stale,
  }),
  reply: Type.Object({ tasks: Type.Array(Task), next_cursor: NextCursor }),
  refusals: [],
  example: {
    request: { state: 'COMPLETED', queue: 'mail', order: 'newest', limit: 1 },
    reply: { tasks: [TASK], next_cursor: '42' },
  },
  async look(request, context) {
    const { order = 'oldest', limit = 100, cursor = null } = request;
    const filter = filterOf(request);
    const { items, next, nowMs } = await context.source.read((view) => ({
      ...listTasks(view, filter, order, limit, cursor === null ? null : Number(cursor)),
      nowMs: view.batchAtMs,
    }));
    const tasks = await Promise.all(items.map((image) => record(context, { image, nowMs })));
    return { ok: true, tasks, ...(next === null ? {} : { next_cursor: String(next) }) };
  },
});

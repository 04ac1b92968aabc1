/** `task.bulk`: one action on all tasks that match a filter, call by call. */
import { type Static, Type } from '@sinclair/typebox';
import { bulkCandidates } from '../authority/bulk-reads.ts';
import type { BulkPosition, BulkTask, BulkTasks } from '../core/commands.ts';
import { invalid } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { isSystemQueue } from '../core/reserved-names.ts';
import type { StateSource } from './contexts.ts';
import { TASK_ID } from './example-story.ts';
import { cursorOf, DelayMs, fields, note, Priority, Queue, Reason } from './fields.ts';
import { opaqueOf } from './opaque-values.ts';
import { change } from './operation.ts';
import { NextCursor, Seq, Text, Whole } from './reply-fields.ts';
import { filterOf, TASK_FILTER } from './task-filter.ts';

const TASKS_MAX = 1_000;
const ACTIONS = ['requeue', 'cancel', 'kill', 'change', 'purge'] as const;

const Request = fields({
  action: Type.Union(
    ACTIONS.map((action) => Type.Literal(action)),
    { description: 'What is done to each of the tasks.' },
  ),
  filter: note(fields(TASK_FILTER), 'Which tasks; at least one field.'),
  reason: Reason,
  set: Type.Optional(
    note(
      fields({
        priority: Type.Optional(note(Priority, 'The priority; higher first.')),
        queue: Type.Optional(note(Queue, 'The queue to put them into.')),
        delay_ms: Type.Optional(
          note(DelayMs, 'They are not leased before this time has passed from now on.'),
        ),
      }),
      'For `change`, which needs a field of it, and for `requeue`.',
    ),
  ),
  dry_run: Type.Optional(Type.Boolean({ description: 'Change nothing, and report what would be changed.' })),
  max: Type.Optional(
    Type.Integer({ minimum: 1, maximum: TASKS_MAX, description: 'How many tasks at most; 1000 by default.' }),
  ),
  cursor: Type.Optional(cursorOf('^[0-9]{1,15}-[0-9]{1,15}$')),
});
type Request = Static<typeof Request>;

type Found = Pick<BulkTasks, 'tasks' | 'from' | 'next'>;

export const bulkTasks = change({
  name: 'task.bulk',
  method: 'POST',
  path: '/v1/tasks/bulk',
  scope: 'v1:admin',
  status: 200,
  retry: 'safe', // A second try skips what the first has changed.
  refusedWhenFull: true,
  long: 'list',
  does: 'Requeue, cancel, kill, change or purge all tasks that match a filter.',
  details: `Each task is judged as by \`task.requeue\`, \`task.cancel\`, \`task.kill\` or \`task.change\`, and has its own entry in the
log; \`purge\` forgets ended tasks at once. Tasks that the rules refuse are listed with their code and hold up no others.
Tasks of queues that begin with \`system:\` never match, nor do, for \`requeue\`, tasks that have a successor; completed tasks do
unless \`state\` is given. \`matched\` also counts tasks that need no change: those are neither changed nor refused.

A call changes at most ${TASKS_MAX} tasks and stops once its entries have 512 KiB, in one batch of the log, oldest tasks first; it scans at
most 10 000 tasks. So it may do less than \`max\`, even nothing, and still have a \`next_cursor\`: repeat the call with it
until there is none. The first call fixes a position in the log, and tasks created after it never match. A call with the
\`cursor\` of a reply covers the same tasks again: pass the \`cursor\` of a dry run to act on the tasks that it reported.

\`reason\` becomes the \`reason\` of a killed task, the \`reason_detail\` of a cancelled one, and stands in the entry of a
new one; \`change\` and \`purge\` do not record it. On a full disk nothing is done.`,
  request: Request,
  reply: Type.Object({
    matched: note(Whole, 'how many tasks of this call matched'),
    changed: note(Whole, 'how many were changed; 0 in a dry run'),
    refused: Type.Array(Type.Object({ task_id: Text, code: note(Text, 'why it was left as it is') }), {
      description: 'the tasks that the rules refuse',
    }),
    task_ids: Type.Array(Text, { description: 'the tasks that were changed, or would be in a dry run' }),
    cursor: note(Text, 'the cursor of this call'),
    next_cursor: NextCursor,
    seq: note(Seq, 'the end of the log after this call; every change of it is durable'),
  }),
  refusals: ['FORBIDDEN', 'DISK_FULL'],
  example: {
    request: {
      action: 'requeue',
      filter: { queue: 'mail', state: 'FAILED' },
      reason: 'The mail server is back.',
    },
    reply: { matched: 1, changed: 1, refused: [], task_ids: [TASK_ID], cursor: '0-48', seq: 49 },
  },
  async prepare(request, source): Promise<Found | Refusal> {
    return refusalOf(request) ?? (await find(request, source));
  },
  command(request, _token, _context, _isAdmin, found): BulkTasks | Refusal {
    if ('refused' in found) return found;
    const { action, filter, reason, set = {}, dry_run = false } = request;
    return {
      type: 'BulkTasks',
      action,
      filter: filterOf(filter),
      reason,
      queue: set.queue ?? null,
      priority: set.priority ?? null,
      delayMs: set.delay_ms ?? null,
      dryRun: dry_run,
      ...found,
    };
  },
  body: ({ matched, taskIds, refusals, dryRun, from, next, seq }) => ({
    ok: true,
    matched,
    changed: dryRun ? 0 : taskIds.length,
    refused: refusals.map(({ taskId, code }) => ({ task_id: taskId, code })),
    task_ids: [...taskIds],
    cursor: cursorText(from),
    ...(next === null ? {} : { next_cursor: cursorText(next) }),
    seq,
  }),
});

function refusalOf({ action, filter, set }: Request): Refusal | null {
  if (Object.keys(filter).length === 0) {
    return invalid('The filter must have a field: no filter at all would mean every task.');
  }
  const given = Object.keys(set ?? {}).length;
  if (action === 'change' && given === 0) {
    return invalid('One of the fields set.priority, set.queue and set.delay_ms must be given.');
  }
  if (given > 0 && action !== 'change' && action !== 'requeue') {
    return invalid(`The field set is for change and requeue, and the action is ${action}.`);
  }
  if (set?.queue === undefined || !isSystemQueue(set.queue)) return null;
  return { refused: 'FORBIDDEN', detail: 'No task is put into a queue that begins with system:.' };
}

async function find(request: Request, source: StateSource): Promise<Found> {
  const { action, reason, set, dry_run, max = TASKS_MAX, cursor } = request;
  const look = { action, filter: filterOf(request.filter), max, text: reason + (set?.queue ?? '') };
  const { tasks, ...positions } = await source.read((view) => bulkCandidates(view, look, positionOf(cursor)));
  const isRead = action === 'requeue' && dry_run !== true;
  const read = async (task: (typeof tasks)[number]): Promise<BulkTask> => {
    const bytes = await source.log.read(task.payload);
    return { ...task, payload: bytes === null ? null : opaqueOf(bytes) };
  };
  return { tasks: isRead ? await Promise.all(tasks.map(read)) : tasks, ...positions };
}

function cursorText({ afterSeq, untilSeq }: BulkPosition): string {
  return `${afterSeq}-${untilSeq}`;
}

function positionOf(cursor: string | undefined): BulkPosition | null {
  if (cursor === undefined) return null;
  const [afterSeq, untilSeq] = cursor.split('-').map(Number);
  return { afterSeq: afterSeq!, untilSeq: untilSeq! };
}

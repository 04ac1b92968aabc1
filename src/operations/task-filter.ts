/** The fields by which tasks are chosen, for lists and for bulk calls. */
import { Type } from '@sinclair/typebox';
import type { TaskFilter } from '../core/list-tasks.ts';
import { instantMs } from '../protocol/instant.ts';
import { At, note, Queue, Reason, TaskGroup, WorkerId } from './fields.ts';
import { TASK_STATES } from './reply-fields.ts';

export const TASK_FILTER = {
  state: Type.Optional(
    Type.Union(
      TASK_STATES.map((state) => Type.Literal(state)),
      { description: 'Only tasks in this state.' },
    ),
  ),
  queue: Type.Optional(note(Queue, 'Only tasks of this queue.')),
  key: Type.Optional(note(TaskGroup, 'Only tasks with this key.')),
  worker_id: Type.Optional(note(WorkerId, 'Only tasks that this worker has leased.')),
  created_after: Type.Optional(note(At, 'Only tasks created after this instant.')),
  created_before: Type.Optional(note(At, 'Only tasks created before this instant.')),
  reason: Type.Optional(note(Reason, 'Only tasks with exactly this `reason`.')),
  ended_after: Type.Optional(note(At, 'Only tasks that ended after this instant.')),
  ended_before: Type.Optional(note(At, 'Only tasks that ended before this instant.')),
};

type Given = {
  readonly [Field in Exclude<keyof typeof TASK_FILTER, 'state'>]?: string;
} & { readonly state?: TaskFilter['state'] };

export function filterOf(given: Given): TaskFilter {
  return {
    queue: given.queue ?? null,
    state: given.state ?? null,
    key: given.key ?? null,
    workerId: given.worker_id ?? null,
    createdAfterMs: boundOf(given.created_after),
    createdBeforeMs: boundOf(given.created_before),
    reason: given.reason ?? null,
    endedAfterMs: boundOf(given.ended_after),
    endedBeforeMs: boundOf(given.ended_before),
  };
}

function boundOf(text: string | undefined): number | null {
  return text === undefined ? null : instantMs(text);
}

// A bulk call acts on tasks that were created behind its cursor and not after the position that the first call of its run
// has fixed; and a dry run acts on none. All calls of one run have that position in common.
import { checker } from './checker.ts';
import type { Fact, Reading } from './reading.ts';
import { type record, text } from './reading.ts';

export const bulk = checker(
  'bulk',
  'A bulk run acts on no task created after its first call or outside its cursor; a dry run on none.',
  (reading, complain) => {
    const created = creationsOf(reading);
    for (const { call, answer } of reading.calls) {
      if (call.op !== 'task.bulk' || answer === undefined || answer.status !== 200) continue;
      const { body } = answer;
      const [after, until] = bounds(body.cursor);
      const isOther = call.request.cursor !== undefined && call.request.cursor !== body.cursor;
      if (isOther || (body.next_cursor !== undefined && bounds(body.next_cursor)[1] !== until))
        complain(`${call.client} is told of another position than the one of its run`, call, answer);
      if (call.request.dry_run === true && body.changed !== 0)
        complain(`a dry run of ${call.client} has changed ${body.changed} tasks`, call, answer);
      for (const id of idsIn(body.task_ids)) {
        const facts = created.get(id) ?? [];
        if (facts.some(({ seq }) => seq > after! && seq <= until!)) continue;
        const says = `${id}, created at seq ${facts.map(({ seq }) => seq).join(', ')}, is none from ${after} to ${until}`;
        complain(says, call, answer, facts[0]?.event);
      }
    }
  },
);

/** An id that was forgotten may be given again. */
function creationsOf({ eras }: Reading): Map<string, Fact[]> {
  const created = new Map<string, Fact[]>();
  for (const fact of eras.flatMap(({ facts }) => facts)) {
    if (fact.entry.type !== 'TaskCreated') continue;
    const id = text(fact.entry.task_id);
    created.set(id, [...(created.get(id) ?? []), fact]);
  }
  return created;
}

function bounds(cursor: Parameters<typeof text>[0]): number[] {
  return text(cursor).split('-').map(Number);
}

function idsIn(ids: Parameters<typeof record>[0]): string[] {
  return Array.isArray(ids) ? ids.map(text) : [];
}

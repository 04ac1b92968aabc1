// The entry of a new task. Its other fields have the defaults of the entry table, so a new field needs no change here.
import type { TaskCreated } from '../../src/core/entries.ts';
import { ENTRIES, type EntryDefinition } from '../../src/core/entry-table.ts';
import { isNullable, storedOf } from '../generated/definitions.ts';

const definition: EntryDefinition = ENTRIES.TaskCreated;

/** Null, the `usual` value or the `without` value of each field that has one. */
const DEFAULTS = Object.fromEntries(
  storedOf(definition.fields).flatMap(([name, field]) => {
    if (isNullable(field)) return [[name, null]];
    const { usual, without } = field;
    if (usual === undefined && without === undefined) return [];
    return [[name, usual ?? JSON.parse(without!)]];
  }),
);

type Required = 'task' | 'payload' | 'dueAtMs';

export function taskCreatedEntry(given: Pick<TaskCreated, Required> & Partial<TaskCreated>): TaskCreated {
  return { queue: 'default', priority: 0, ...DEFAULTS, ...given, type: 'TaskCreated' } as TaskCreated;
}

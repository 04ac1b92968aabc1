/**
 * Writes what definitions carry to the server: their schedules. A schedule that an operator has set by hand stays until it
 * is removed, and a paused one stays paused. A definition that has lost its schedule deletes nothing.
 */
import { type AnyTask, assertDefinition } from './define-task.ts';
import { ask, askFor } from './queries.ts';
import { scheduleRequest } from './schedules.ts';
import type { Transport } from './transport.ts';

export interface Applied {
  /** The name of the task, which is its queue. */
  readonly task: string;
  /**
   * `kept`: an operator has set the schedule by hand, and that one stays. `left`: the definition has none any more, and the
   * one that was applied before is still there. Absent when there is none.
   */
  readonly schedule?: 'applied' | 'kept' | 'left';
}

export async function apply(transport: Transport, definitions: readonly AnyTask[]): Promise<Applied[]> {
  for (const definition of definitions) assertDefinition(definition);
  const applied: Applied[] = [];
  for (const definition of definitions) {
    const schedule = await applySchedule(transport, definition);
    applied.push({ task: definition.name, ...(schedule === undefined ? {} : { schedule }) });
  }
  return applied;
}

/** The schedule of a definition has its name. */
async function applySchedule(transport: Transport, definition: AnyTask): Promise<Applied['schedule']> {
  const { name, schedule } = definition;
  if (schedule === undefined) {
    const known = await askFor(transport, 'schedule.get', { name }, 'SCHEDULE_NOT_FOUND');
    return known?.applied ? 'left' : undefined;
  }
  const { input, ...cron } = schedule;
  const request = await scheduleRequest(name, definition, cron, input);
  const { kept } = await ask(transport, 'schedule.put', { ...request, applied: true });
  return kept ? 'kept' : 'applied';
}

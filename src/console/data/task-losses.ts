/** The incidents of tasks, by what happened and in which queue; the sentences are in `views/problems.tsx`. */
import type { Incident } from './watch.ts';

/** `overview.get` answers at most this many incidents: then there may be more. */
const INCIDENTS_MAX = 200;

export interface TaskLosses {
  /** Newest first. */
  readonly incidents: readonly [Incident, ...Incident[]];
  /** Different tasks: one task can lose its lease several times. */
  readonly tasks: number;
  /** There may be older ones that the server did not list. */
  readonly isCut: boolean;
}

export function taskLosses(incidents: readonly Incident[]): TaskLosses[] {
  const groups = new Map<string, [Incident, ...Incident[]]>();
  for (const incident of incidents) {
    if (incident.task_id === undefined) continue;
    const key = `${incident.type} ${incident.queue ?? ''}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [incident]);
    else group.push(incident);
  }
  return [...groups.values()].map((group) => ({
    incidents: group,
    tasks: new Set(group.map(({ task_id: id }) => id)).size,
    isCut: incidents.length >= INCIDENTS_MAX,
  }));
}

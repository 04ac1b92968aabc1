// Ended tasks are kept as long as their kind is, unless there are too many of that kind or they are purged: completed tasks
// take no place of failed ones, nor the other way round.
import type { BootEvent } from '../history.ts';
import { checker } from './checker.ts';
import type { Call, Era, Fact, Reading } from './reading.ts';
import { record, text } from './reading.ts';

interface Ended {
  readonly kind: 'completed' | 'failed';
  readonly state: string;
  readonly fact: Fact;
}

type Keeps = NonNullable<BootEvent['keeps']>;

export const retention = checker(
  'retention',
  'Ended tasks are kept by the time and number of their kind, unless purged.',
  (reading, complain) => {
    const keeps = reading.events.find((event) => event.kind === 'boot' && event.keeps !== undefined) as
      | (BootEvent & { readonly keeps: Keeps })
      | undefined;
    if (keeps === undefined) return;
    const purges = reading.calls.filter(
      ({ call }) => call.op === 'task.bulk' && call.request.action === 'purge',
    );
    for (const era of reading.eras) {
      for (const [id, ended, fact] of tooEarly(era, keeps.keeps)) {
        if (purges.some((purge) => isPurge(reading, purge, ended, fact))) continue;
        const says = `seq ${fact.seq}: ${id}, ${ended.state} at ${ended.fact.atMs}, is forgotten at ${fact.atMs}`;
        complain(says, ended.fact.event, fact.event);
      }
    }
  },
);

function* tooEarly({ facts }: Era, keeps: Keeps): Generator<[id: string, ended: Ended, fact: Fact]> {
  const queues = new Map<string, string>();
  const all = new Map<string, Ended>();
  const counts = { completed: 0, failed: 0 };
  for (const fact of facts) {
    const { entry } = fact;
    const id = text(entry.task_id);
    if (entry.type === 'TaskCreated' || entry.type === 'ScheduleFired') queues.set(id, text(entry.queue));
    const state = endOf(fact);
    // Start tasks, which neither tells of, are of the completed kind whatever their end.
    if (state !== null && queues.has(id)) {
      const isWanted = state === 'COMPLETED' || entry.reason === 'CANCELLED';
      const kind = isWanted ? 'completed' : 'failed';
      all.set(id, { kind, state, fact });
      counts[kind] += 1;
    }
    if (entry.type !== 'Forgotten') continue;
    for (const forgotten of Array.isArray(entry.task_ids) ? entry.task_ids.map(text) : []) {
      const ended = all.get(forgotten);
      if (ended === undefined) continue;
      const keptMs = ended.kind === 'failed' ? keeps.failedMs : keeps.completedMs;
      const isDue = ended.fact.atMs + keptMs <= fact.atMs || counts[ended.kind] > keeps.max;
      counts[ended.kind] -= 1;
      all.delete(forgotten);
      if (!isDue) yield [forgotten, ended, fact];
    }
  }
}

function endOf({ entry }: Fact): string | null {
  if (entry.type === 'TaskCompleted') return 'COMPLETED';
  if (entry.type === 'TaskDead') return 'DEAD';
  return entry.type === 'TaskFailed' && entry.next_state === 'FAILED' ? 'FAILED' : null;
}

function isPurge(reading: Reading, { call, calledAt }: Call, { state }: Ended, fact: Fact): boolean {
  const wanted = record(call.request.filter).state;
  return calledAt < reading.placeOf(fact.event) && (wanted === undefined || wanted === state);
}

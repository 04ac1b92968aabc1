// What a task promises beyond its lease: it ends once and for ever, it is not handed out before it is due nor more often
// than its limits allow nor once it is cancelled, a deduplication key stands for a task only until that has ended, and what
// has ended is run again by one successor.
import { checker } from './checker.ts';
import { follow, type Ownership, type Task } from './ownership.ts';
import type { Call, Fact } from './reading.ts';
import { record, text, whole } from './reading.ts';

export const taskRules = checker(
  'task-rules',
  'Tasks end once, keep to their limits and times, free their deduplication keys, and have one successor.',
  (reading, complain) => {
    for (const era of reading.eras) {
      let exhausted: Fact | null = null;
      follow(era, (fact, before) => {
        if (exhausted !== null && !isDeathOf(exhausted, fact))
          complain(
            `seq ${fact.seq}: no TaskDead follows a failure that says so`,
            exhausted.event,
            fact.event,
          );
        exhausted = fact.entry.type === 'TaskFailed' && fact.entry.next_state === 'DEAD' ? fact : null;
        const task = before.tasks.get(text(fact.entry.task_id));
        const says = wrong(fact, task, before);
        if (says !== null)
          complain(`seq ${fact.seq}: ${says}`, task?.created.event, task?.changed.event, fact.event);
      });
    }
    for (const call of reading.calls) {
      if (isStaleDuplicate(call)) {
        complain(
          `${call.call.client} is told of a task that has ended as a duplicate`,
          call.call,
          call.answer,
        );
      }
    }
  },
);

function wrong({ entry, atMs }: Fact, task: Task | undefined, before: Ownership): string | null {
  const id = text(entry.task_id);
  if (entry.type === 'TaskCreated') {
    if (task !== undefined) return `${id} is created twice`;
    const origin = entry.requeued_from === undefined ? null : originFault(text(entry.requeued_from), before);
    if (origin !== null) return `${id} runs ${text(entry.requeued_from)} again, which ${origin}`;
    const twin = entry.dedup_key === undefined ? undefined : liveTwin(entry, before);
    return twin === undefined ? null : `${id} is created beside ${twin}, with the same deduplication key`;
  }
  if (task === undefined || entry.task_id === undefined) return null;
  const isEnded = task.state !== 'WAITING' && task.state !== 'LEASED';
  if (isEnded && entry.type !== 'TaskCancelled') return `${entry.type} of ${id}, which is ${task.state}`;
  const { max_attempts: attemptsMax, retry } = task.created.entry;
  if (entry.type === 'LeaseGranted') {
    if (task.isCancelled) return `${id} is leased, which is cancelled`;
    if (task.dueAtMs > atMs) return `${id} is leased at ${atMs} and due at ${task.dueAtMs}`;
    if (task.counted >= whole(attemptsMax))
      return `${id} is leased for attempt ${task.counted + 1} of ${attemptsMax}`;
    if (entry.attempt !== task.attempt + 1)
      return `attempt ${entry.attempt} of ${id} follows ${task.attempt}`;
  }
  if (entry.type !== 'TaskFailed' || entry.next_state === 'FAILED') return null;
  if (task.failures + 1 >= whole(record(retry).max_failures))
    return `${id} waits again after failure ${task.failures + 1}`;
  const follows = task.isCancelled || task.counted >= whole(attemptsMax) ? 'DEAD' : 'WAITING';
  return entry.next_state === follows
    ? null
    : `${id} is said to be ${text(entry.next_state)} after attempt ${task.counted} of ${attemptsMax}`;
}

function originFault(id: string, before: Ownership): string | null {
  const origin = before.tasks.get(id);
  if (origin === undefined) return 'is unknown';
  if (origin.state === 'WAITING' || origin.state === 'LEASED') return `is ${origin.state}`;
  return origin.requeued === null ? null : `was run again at seq ${origin.requeued.seq}`;
}

function isDeathOf(failed: Fact, { entry }: Fact): boolean {
  return entry.type === 'TaskDead' && entry.task_id === failed.entry.task_id;
}

function liveTwin(entry: Fact['entry'], before: Ownership): string | undefined {
  for (const [id, { created, state, queue }] of before.tasks) {
    if (created.entry.dedup_key !== entry.dedup_key || queue !== entry.queue) continue;
    if (state === 'WAITING' || state === 'LEASED') return id;
  }
  return undefined;
}

/** Its key stands for a task that has ended; a task asked for by its own id may well have. */
function isStaleDuplicate({ call, answer }: Call): boolean {
  if (call.op !== 'task.create' || answer?.body.duplicate !== true) return false;
  const isById = call.request.task_id === answer.body.task_id;
  return !isById && answer.body.state !== 'WAITING' && answer.body.state !== 'LEASED';
}

/** `task.why`: why a task is not running, with numbers. */
import { Type } from '@sinclair/typebox';
import { readWhy } from '../authority/reads.ts';
import { type Poller, SILENT_MS } from '../authority/workers.ts';
import { spanText } from '../core/span-text.ts';
import { AHEAD_MAX, heldBy, WHY_CODES, type WhyCode } from '../core/why.ts';
import { instant } from '../protocol/instant.ts';
import { GRANTED_AT, TASK_ID } from './example-story.ts';
import { fields, note, stale, TaskId } from './fields.ts';
import { stateRead } from './operation.ts';
import { Instant, Text, Whole } from './reply-fields.ts';
import { NOT_FOUND } from './task-reads.ts';

/** The maximum number of workers in `polled_by`. */
const POLLERS_MAX = 10;

/** Codes of tasks that are due and wait. */
const WAITING_CODES: readonly WhyCode[] = [
  'WAITING_FOR_WORKER',
  'QUEUE_PAUSED',
  'LIMITED_BY_QUEUE',
  'LIMITED_BY_KEY',
  'RATE_LIMITED',
];

export const whyTask = stateRead({
  name: 'task.why',
  path: '/v1/tasks/{task_id}/why',
  does: 'Why a task is not running, as a code and a sentence, with the tasks ahead of it and the workers that poll its queue.',
  details: `\`code\` is \`DELAYED\`, \`BACKOFF\`, \`WAITING_FOR_WORKER\`, \`QUEUE_PAUSED\`, \`LIMITED_BY_QUEUE\`, \`LIMITED_BY_KEY\`,
\`RATE_LIMITED\`, \`LEASED\` or the last state of the task.
\`polled_by\` is soft state: it starts empty after a restart, a standby has none, and an earlier moment does not show it.`,
  request: fields({ task_id: TaskId, stale }),
  reply: Type.Object({
    code: note(Type.Union(WHY_CODES.map((code) => Type.Literal(code))), 'the reason, for programs'),
    says: note(Text, 'the reason as a sentence'),
    queue: note(Text, 'the queue it is in'),
    due_at: Type.Optional(note(Instant, 'when its delay or backoff ends')),
    opens_at: Type.Optional(note(Instant, 'when its rate lets the next task be leased, if that is known')),
    ahead: Type.Optional(
      note(Whole, `how many due tasks of the queue come before it; exact up to ${AHEAD_MAX}`),
    ),
    more_than: Type.Optional(note(Whole, 'instead of ahead: more than this many come before it')),
    polled_by: Type.Optional(
      Type.Array(
        Type.Object({
          worker_id: note(Text, 'the id of the worker'),
          last_polled_at: note(Instant, 'when it last polled this queue'),
        }),
        {
          description: `workers that polled the queue in the last ten minutes, the latest first, at most ${POLLERS_MAX}; for waiting tasks`,
        },
      ),
    ),
  }),
  refusals: ['TASK_NOT_FOUND'],
  example: {
    request: { task_id: TASK_ID },
    reply: {
      code: 'WAITING_FOR_WORKER',
      says: 'It is due, and waits for a worker to ask the queue mail. 3 tasks are ahead of it. worker-1 asked last, 2.0 s ago, and has t-7 for 12 min 3 s.',
      queue: 'mail',
      ahead: 3,
      polled_by: [{ worker_id: 'worker-1', last_polled_at: GRANTED_AT }],
    },
  },
  async look({ task_id: taskId }, { source, workers, figures }) {
    const seen = await source.read((view) => {
      const why = readWhy(view, taskId);
      const nowMs = view.batchAtMs;
      if (why === null) return null;
      const pollers = workers?.pollersOf(why.queue, nowMs) ?? null;
      const held = pollers?.slice(0, POLLERS_MAX).map(({ workerId }) => heldBy(view.state, workerId, nowMs));
      // A standby sees no worker.
      const knownMs = figures(view).role === 'leader' ? nowMs - view.state.epochStartedAtMs : null;
      return { why, nowMs, knownMs, pollers, held: held ?? [] };
    });
    if (seen === null) return NOT_FOUND;
    const { why, nowMs, knownMs, pollers, held } = seen;
    const isWaiting = why.dueAtMs !== null || WAITING_CODES.includes(why.code);
    return {
      ok: true,
      code: why.code,
      says: [
        why.says,
        ...(why.code === 'WAITING_FOR_WORKER' ? numbersOf(why.ahead, pollers, held, nowMs, knownMs) : []),
      ].join(' '),
      queue: why.queue,
      ...(why.dueAtMs === null ? {} : { due_at: instant(why.dueAtMs) }),
      ...(why.opensAtMs === null ? {} : { opens_at: instant(why.opensAtMs) }),
      ...(why.ahead === null ? {} : why.ahead > AHEAD_MAX ? { more_than: AHEAD_MAX } : { ahead: why.ahead }),
      ...(isWaiting && pollers !== null
        ? {
            polled_by: pollers.slice(0, POLLERS_MAX).map(({ workerId, polledMs }) => ({
              worker_id: workerId,
              last_polled_at: instant(polledMs),
            })),
          }
        : {}),
    };
  },
});

function numbersOf(
  ahead: number | null,
  pollers: readonly Poller[] | null,
  held: readonly (string | null)[],
  nowMs: number,
  /** How long this server has seen who asks; null when it does not. */
  knownMs: number | null,
): string[] {
  const says: string[] = [];
  if (ahead === 1) says.push('1 task is ahead of it.');
  else if (ahead !== null && ahead > AHEAD_MAX) says.push(`More than ${AHEAD_MAX} tasks are ahead of it.`);
  else if (ahead !== null && ahead > 0) says.push(`${ahead} tasks are ahead of it.`);
  if (pollers === null) return says;
  const [last] = pollers;
  if (last === undefined) {
    if (knownMs === null) return says;
    const since =
      knownMs < SILENT_MS
        ? `since this server opened the log ${spanText(knownMs)} ago`
        : 'in the last ten minutes';
    says.push(`No worker has asked this queue ${since}.`);
  } else {
    const [holds = null, ...others] = held;
    const has = holds === null ? '' : `, and has ${holds}`;
    says.push(`${last.workerId} asked last, ${spanText(nowMs - last.polledMs)} ago${has}.`);
    const busy = others.filter((each) => each !== null).length;
    if (busy > 0) says.push(`${busy} more of its workers ${busy === 1 ? 'has' : 'have'} tasks.`);
  }
  return says;
}

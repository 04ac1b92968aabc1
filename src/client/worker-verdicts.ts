/**
 * Sends the verdict of a task to the authority and reports the answer. Retries while the server is away: verdicts are
 * idempotent. Once the lease is over, only completions are still sent. A completion whose result or writes are refused
 * becomes a failure of the task, with the refusal as its reason.
 */

import type { Body, Requests } from '../operations/table.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { isRetryable, type Problem, type Reply } from '../protocol/problem.ts';
import { Backoff, isTransient } from './backoff.ts';
import { FENCED_OUT, howToWrite } from './lease-writer.ts';
import { sleep } from './sleep.ts';
import { failure, type TaskEnd } from './task-handling.ts';
import { lossBy, type TaskRun } from './task-run.ts';
import type { TaskVerdict } from './task-verdict.ts';
import type { Transport } from './transport.ts';
import type { ClientWorld } from './world.ts';

/** Null when nothing was sent, because the lease is over by the local clocks. */
export type Answer = Reply<Body<'task.complete'>> | null;

/**
 * Rejects when there was no answer by the time the signal aborted. `run.end` holds the verdict that was finally sent.
 */
export async function sendVerdict(
  run: TaskRun,
  transport: Transport,
  { clock, timers }: ClientWorld,
  signal: AbortSignal,
): Promise<Answer> {
  if (run.checkpoints !== null)
    await run.checkpoints.end({ sendsLast: run.end!.verb !== 'complete' && !run.isOver(clock) });
  // A loop of its own rather than `retryUntilAnswered`: this is the hot path of every task.
  let delay: Backoff | null = null;
  for (;;) {
    // The authority keeps a late result for inspection. A late failure has no effect and is not sent.
    if (run.end!.verb !== 'complete' && run.isOver(clock)) return null;
    try {
      const answer = await call(run, run.end!, transport);
      if (answer.ok || answer.outcome === 'REJECTED') return answer;
      if (!isRetryable(answer.code)) {
        if (run.end!.verb !== 'complete') return answer;
        run.end = failure(refusedCompletion(run, answer));
        continue;
      }
    } catch (fault) {
      if (signal.aborted || !isTransient(fault)) throw fault;
    }
    delay ??= new Backoff();
    await sleep(timers, delay.take(), signal);
    signal.throwIfAborted();
  }
}

/** Names the object whose write was refused, and what to do about it. */
function refusedCompletion({ writes }: TaskRun, problem: Problem): LeaseholdError {
  const { code, index, detail } = problem;
  const write = writes?.[index ?? -1];
  if (write === undefined) return LeaseholdError.of(problem);
  const advice = FENCED_OUT.has(code) ? ` ${howToWrite(write.object_id)}` : '';
  return new LeaseholdError(code, `The write of "${write.object_id}" was refused: ${detail}${advice}`, {
    problem,
  });
}

function call(run: TaskRun, end: TaskEnd, transport: Transport): Promise<Reply<Body<'task.complete'>>> {
  const { task_id, lease_id } = run.lease;
  switch (end.verb) {
    case 'complete': {
      const request: Requests['task.complete'] = { task_id, lease_id };
      if (end.result !== null) request.result = end.result;
      if (run.writes !== null) request.writes = run.writes;
      return transport.call('task.complete', request);
    }
    case 'fail': {
      const request: Requests['task.fail'] = { task_id, lease_id, reason: end.reason };
      if (end.isFinal) request.retry = false;
      if (end.delayMs !== null) request.delay_ms = end.delayMs;
      return transport.call('task.fail', request);
    }
    case 'release': {
      const request: Requests['task.release'] = { task_id, lease_id };
      if (end.delayMs > 0) request.delay_ms = end.delayMs;
      return transport.call('task.release', request);
    }
  }
}

export function verdictOf(run: TaskRun, answer: Answer): TaskVerdict {
  const { lease, loss } = run;
  const end = run.end!;
  const { task_id: taskId, queue, lease_seq: leaseSeq, attempt } = lease;
  const { verb } = end;
  // Written out for speed: every task takes this branch, and spreading would cost as much as everything else.
  if (answer?.ok && answer.outcome === 'COMMITTED' && verb === 'complete') {
    const { outcome, state, seq } = answer;
    return { taskId, queue, leaseSeq, attempt, verb, outcome, state, seq };
  }
  const error = end.verb === 'complete' ? {} : { error: end.error };
  const subject = { taskId, queue, leaseSeq, attempt, verb, ...error };
  // A lease without a recorded loss has expired.
  if (answer === null) return { ...subject, outcome: 'LATE', loss: loss?.details.loss ?? 'expired' };
  if (!answer.ok) return { ...subject, outcome: 'REJECTED', code: answer.code, detail: answer.detail };
  const { outcome, state, seq, cause } = answer;
  if (outcome === 'COMMITTED') return { ...subject, outcome, state, seq };
  return { ...subject, outcome: 'LATE', loss: lossBy(cause) };
}

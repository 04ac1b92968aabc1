/**
 * The table of operations: from the checked request to the command, from the answer to the body. Calls in
 * process, single HTTP requests and batches all go through it.
 */
import type { Answers, Command } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import type { Operation, Requests } from '../protocol/requests.ts';
import * as bodies from './bodies.ts';
import * as commands from './commands.ts';
import { type Problem, problem } from './problem.ts';

interface Rule<R, C extends Command, B> {
  /** Whether a token is made when the request brings none. */
  readonly needsToken?: true;
  readonly command: (request: R, token: string) => C | Refusal;
  readonly body: (answer: Answers[C['type']], token: string) => B;
}

interface PresentedRule<R, C extends Command, B> extends Rule<R, C, B> {
  readonly present: (answer: Answers[C['type']] | Refusal, token: string) => B | Problem;
}

function rule<R, C extends Command, B>(each: Rule<R, C, B>): PresentedRule<R, C, B> {
  const { body } = each;
  return { ...each, present: (answer, token) => (isRefusal(answer) ? problem(answer) : body(answer, token)) };
}

export const OPERATIONS = {
  'task.create': rule({ command: commands.createTask, body: bodies.createdTask }),
  'task.lease': rule({ command: commands.leaseTasks, body: bodies.taskLeases }),
  'task.extend': rule({ command: commands.extendLease, body: bodies.extendedLease }),
  'task.complete': rule({ command: commands.completeTask, body: bodies.verdictBody }),
  'task.fail': rule({ command: commands.failTask, body: bodies.verdictBody }),
  'task.release': rule({ command: commands.releaseTask, body: bodies.verdictBody }),
  'task.kill': rule({ command: commands.killTask, body: bodies.killedTask }),
  'worker.heartbeat': rule({ command: commands.heartbeat, body: bodies.heartbeatBody }),
  'lease.acquire': rule({ needsToken: true, command: commands.acquireNames, body: bodies.acquiredLease }),
  'lease.acquire_all': rule({
    needsToken: true,
    command: commands.acquireNames,
    body: bodies.acquiredLeases,
  }),
  'lease.renew': rule({ command: commands.renewName, body: bodies.acquiredLease }),
  'lease.release': rule({ command: commands.releaseName, body: bodies.releasedLease }),
  'lease.break': rule({ command: commands.breakName, body: bodies.brokenLease }),
  'lease.wipe': rule({ command: commands.wipeNames, body: bodies.wipedLeases }),
  'object.write': rule({ command: commands.writeObject, body: bodies.writtenObject }),
  'object.delete': rule({ command: commands.deleteObject, body: bodies.writtenObject }),
  'queue.pause': rule({ command: commands.pauseQueue, body: bodies.switchedQueue }),
  'queue.resume': rule({ command: commands.resumeQueue, body: bodies.switchedQueue }),
} as const satisfies {
  [Op in Operation]: { command: (request: Requests[Op], token: string) => Command | Refusal };
};

export type Bodies = { [Op in Operation]: ReturnType<(typeof OPERATIONS)[Op]['body']> };

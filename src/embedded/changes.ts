/**
 * The changes, each as a rule: from the checked request to the command, from the answer to the body. Calls
 * in process, single HTTP requests and batches all go through this table.
 */
import type { Present } from '../authority/request.ts';
import type { Answers, Command } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { problem } from '../protocol/problem.ts';
import type { Body } from '../protocol/replies.ts';
import type { Requests } from '../protocol/requests.ts';
import type { Operation } from '../protocol/routes.ts';
import * as bodies from './bodies.ts';
import * as commands from './commands.ts';

interface Rule<R, C extends Command, B> {
  /** Whether a token is made when the request brings none. */
  readonly needsToken?: true;
  readonly command: (request: R, token: string) => C | Refusal;
  readonly body: (answer: Answers[C['type']], token: string) => B;
}

/** A rule without the types that tie its cells together. */
export interface Change {
  readonly needsToken?: true;
  readonly command: (request: unknown, token: string) => Command | Refusal;
  readonly present: Present;
}

function rule<R, C extends Command, B>(each: Rule<R, C, B>): Rule<R, C, B> {
  return each;
}

const RULES = {
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
  [Op in Operation]?: {
    command: (request: Requests[Op], token: string) => Command | Refusal;
    body: (answer: never, token: string) => Body<Op>;
  };
};

export type ChangeOperation = keyof typeof RULES;

export const CHANGES = Object.fromEntries(
  Object.entries(RULES as unknown as Record<string, Rule<unknown, Command, unknown>>).map(
    ([operation, { body, ...rest }]) => {
      const present: Present = (answer, token) =>
        isRefusal(answer) ? problem(answer) : body(answer as never, token);
      return [operation, { ...rest, present }];
    },
  ),
) as unknown as Record<ChangeOperation, Change>;

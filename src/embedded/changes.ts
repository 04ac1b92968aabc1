/**
 * The changes, each as a rule: from the checked request to the command, from the answer to the body. Calls
 * in process, single HTTP requests and batches all go through this table.
 */
import type { Present } from '../authority/request.ts';
import type { AcceptIntent, AcquireNames, Answers, ChangedSession, Command } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { problem } from '../protocol/problem.ts';
import type { Body } from '../protocol/replies.ts';
import type { Requests } from '../protocol/requests.ts';
import type { Operation } from '../protocol/routes.ts';
import * as bodies from './bodies.ts';
import * as commands from './commands.ts';
import * as sessionBodies from './session-bodies.ts';
import * as sessionCommands from './session-commands.ts';

/** What the rules know besides request and answer. */
export interface ChangeContext {
  readonly intents: sessionCommands.IntentPolicy;
  /** How sessions are watched now. */
  readonly watch: () => sessionBodies.SessionWatch;
}

interface Rule<R, C extends Command, B> {
  /** Whether a token is made when the request brings none. */
  readonly needsToken?: true;
  /** Whether the body shows what the request is called instead of its token. */
  readonly showsRequestId?: true;
  readonly command: (request: R, token: string, context: ChangeContext, isAdmin: boolean) => C | Refusal;
  readonly body: (answer: Answers[C['type']], shown: string, context: ChangeContext) => B;
}

/** A rule without the types that tie its cells together. */
export interface Change {
  readonly needsToken?: true;
  readonly showsRequestId?: true;
  /** `isAdmin`: whether the caller has the scope v1:admin. */
  readonly command: (request: unknown, token: string, isAdmin: boolean) => Command | Refusal;
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
  'lease.acquire': rule({ needsToken: true, command: acquireNames, body: bodies.acquiredLease }),
  'lease.acquire_all': rule({
    needsToken: true,
    command: acquireNames,
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
  'intent.accept': rule({
    needsToken: true,
    showsRequestId: true,
    command: acceptIntent,
    body: sessionBodies.acceptedIntent,
  }),
  'session.stop': rule({ command: sessionCommands.stopSession, body: sessionBody }),
  'session.heartbeat': rule({ command: sessionCommands.heartbeatSession, body: sessionBody }),
  'session.start': rule({
    needsToken: true,
    command: sessionCommands.startSession,
    body: sessionBodies.startedSession,
  }),
  'session.change': rule({ command: sessionCommands.changeSession, body: sessionBody }),
  'session.renew': rule({ command: sessionCommands.renewSessions, body: sessionBodies.renewedSessions }),
} as const satisfies {
  [Op in Operation]?: {
    command: (
      request: Requests[Op],
      token: string,
      context: ChangeContext,
      isAdmin: boolean,
    ) => Command | Refusal;
    body: (answer: never, shown: string, context: ChangeContext) => Body<Op>;
  };
};

function acquireNames(
  request: Requests['lease.acquire'] | Requests['lease.acquire_all'],
  token: string,
  _: ChangeContext,
  isAdmin: boolean,
): AcquireNames | Refusal {
  return commands.acquireNames(request, token, isAdmin);
}

function acceptIntent(
  request: Requests['intent.accept'],
  token: string,
  { intents }: ChangeContext,
): AcceptIntent | Refusal {
  return sessionCommands.acceptIntent(request, token, intents);
}

function sessionBody(answer: ChangedSession, _: string, { watch }: ChangeContext): Body<'session.change'> {
  return sessionBodies.changedSession(answer, watch());
}

export type ChangeOperation = keyof typeof RULES;

export type Changes = Readonly<Record<ChangeOperation, Change>>;

export function changesWith(context: ChangeContext): Changes {
  const changes: Partial<Record<string, Change>> = {};
  for (const [operation, rule] of Object.entries(RULES) as unknown as [string, AnyRule][]) {
    const { body, command, ...rest } = rule;
    changes[operation] = {
      ...rest,
      command: (request, token, isAdmin) => command(request, token, context, isAdmin),
      present: (answer, shown) =>
        isRefusal(answer) ? problem(answer) : body(answer as never, shown, context),
    };
  }
  return changes as Changes;
}

type AnyRule = Rule<unknown, Command, unknown>;

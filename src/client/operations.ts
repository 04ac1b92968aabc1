/** The operations as the wire has them, grouped by what they are about: snake_case in, bodies or problems out. */
import type { Reply } from '../protocol/problem.ts';
import type { Body } from '../protocol/replies.ts';
import type { Requests } from '../protocol/requests.ts';
import type { Operation } from '../protocol/routes.ts';
import type { CallOptions, Transport } from './transport.ts';

/** One operation of the table as a call. */
export type Run<Op extends Operation> = (
  request: Requests[Op],
  options?: CallOptions,
) => Promise<Reply<Body<Op>>>;

/** An operation whose request may be left out. */
export type Ask<Op extends Operation> = (
  request?: Requests[Op],
  options?: CallOptions,
) => Promise<Reply<Body<Op>>>;

export interface TaskOperations {
  readonly create: Run<'task.create'>;
  /** Up to `max` tasks; with `wait_ms` it waits for the first. */
  readonly lease: Run<'task.lease'>;
  readonly extend: Run<'task.extend'>;
  readonly complete: Run<'task.complete'>;
  readonly fail: Run<'task.fail'>;
  /** Hands it back; that is neither a failure nor an attempt. */
  readonly release: Run<'task.release'>;
  readonly kill: Run<'task.kill'>;
  /** With `wait_ms` it answers once the task has ended or the wait is over. */
  readonly get: Run<'task.get'>;
  readonly list: Ask<'task.list'>;
  /** Why it is not running, as a code and a sentence. */
  readonly why: Run<'task.why'>;
  /** Every entry that touched it, as far back as the log reaches. */
  readonly history: Run<'task.history'>;
}

export interface LeaseOperations {
  readonly acquire: Run<'lease.acquire'>;
  /** All of the names or none. */
  readonly acquireAll: Run<'lease.acquire_all'>;
  readonly renew: Run<'lease.renew'>;
  readonly release: Run<'lease.release'>;
  readonly break: Run<'lease.break'>;
  readonly wipe: Run<'lease.wipe'>;
  readonly get: Run<'lease.get'>;
  readonly list: Ask<'lease.list'>;
  readonly history: Run<'lease.history'>;
}

export interface ObjectOperations {
  readonly write: Run<'object.write'>;
  readonly delete: Run<'object.delete'>;
  readonly get: Run<'object.get'>;
  /** Refused writes, newest first. Evidence, not truth: they do not survive a restart. */
  readonly receipts: Ask<'receipt.list'>;
}

/** What may be done to sessions. `start`, `change` and `renew` are for the orchestrator: they need its guard. */
export interface SessionOperations {
  /** Asks for a session; the same intent again gives the session that is there, while that can be shared. */
  readonly request: Run<'intent.accept'>;
  /** A session that has ended is refused: SESSION_TERMINAL, with its state and reason. */
  readonly get: Run<'session.get'>;
  /** Those that have ended as well. */
  readonly list: Ask<'session.list'>;
  /** Says that somebody still watches. */
  readonly heartbeat: Run<'session.heartbeat'>;
  /** Asks for its end, which comes when its pipeline has ended. */
  readonly stop: Run<'session.stop'>;
  readonly start: Run<'session.start'>;
  readonly change: Run<'session.change'>;
  readonly renew: Run<'session.renew'>;
}

export function taskOperations(transport: Transport): TaskOperations {
  return {
    create: run(transport, 'task.create'),
    lease: run(transport, 'task.lease'),
    extend: run(transport, 'task.extend'),
    complete: run(transport, 'task.complete'),
    fail: run(transport, 'task.fail'),
    release: run(transport, 'task.release'),
    kill: run(transport, 'task.kill'),
    get: run(transport, 'task.get'),
    list: ask(transport, 'task.list'),
    why: run(transport, 'task.why'),
    history: run(transport, 'task.history'),
  };
}

export function leaseOperations(transport: Transport): LeaseOperations {
  return {
    acquire: run(transport, 'lease.acquire'),
    acquireAll: run(transport, 'lease.acquire_all'),
    renew: run(transport, 'lease.renew'),
    release: run(transport, 'lease.release'),
    break: run(transport, 'lease.break'),
    wipe: run(transport, 'lease.wipe'),
    get: run(transport, 'lease.get'),
    list: ask(transport, 'lease.list'),
    history: run(transport, 'lease.history'),
  };
}

export function objectOperations(transport: Transport): ObjectOperations {
  return {
    write: run(transport, 'object.write'),
    delete: run(transport, 'object.delete'),
    get: run(transport, 'object.get'),
    receipts: ask(transport, 'receipt.list'),
  };
}

export function sessionOperations(transport: Transport): SessionOperations {
  return {
    request: run(transport, 'intent.accept'),
    get: run(transport, 'session.get'),
    list: ask(transport, 'session.list'),
    heartbeat: run(transport, 'session.heartbeat'),
    stop: run(transport, 'session.stop'),
    start: run(transport, 'session.start'),
    change: run(transport, 'session.change'),
    renew: run(transport, 'session.renew'),
  };
}

export function run<Op extends Operation>(transport: Transport, operation: Op): Run<Op> {
  return (request, options) => transport.call(operation, request, options);
}

function ask<Op extends Operation>(transport: Transport, operation: Op): Ask<Op> {
  return (request = {} as Requests[Op], options?) => transport.call(operation, request, options);
}

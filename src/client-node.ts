/**
 * leasehold/client, which leasehold re-exports: the client for Node, with its own keep-alive connections and defaults
 * from the environment.
 */
import {
  CONNECT_OPTIONS,
  type ConnectOptions,
  connectWith,
  DEFAULT_URL,
  type Servers,
} from './client/connect.ts';
import { Leasehold } from './client/leasehold.ts';
import { refuseUnknown } from './client/unknown-options.ts';
import { nodeWorld } from './world/node-world.ts';
import { type UndiciHttpOptions, undiciHttp } from './world/undici-http.ts';
import { wsSockets } from './world/ws-sockets.ts';

export * from './browser.ts';
export type { Applied } from './client/apply.ts';
export type { Cron } from './client/cron.ts';
export {
  type AnyTask,
  defineTask,
  type InputOf,
  type OutputOf,
  type RetryPolicy,
  type TaskDefinition,
  type TaskOf,
  type TaskPolicy,
  type TaskSchemas,
} from './client/define-task.ts';
export type { WireCall, WireGroup, WireOperations, WireSession } from './client/deprecated.ts';
export type { EnqueueItem, EnqueueReceipt } from './client/enqueue.ts';
export type { Guarded, GuardedMain, GuardOptions } from './client/guard.ts';
export type { CloseOptions, Leasehold } from './client/leasehold.ts';
export type { Receipt, TaskResult, Wait } from './client/receipt.ts';
export type { Schedule, ScheduleOptions, Schedules } from './client/schedules.ts';
export type { Session, SessionFilter, SessionFollowOptions, Sessions } from './client/sessions.ts';
export type {
  SchemaInput,
  SchemaOutput,
  SchemaResult,
  StandardIssue,
  StandardSchema,
} from './client/standard-schema.ts';
export type { PresentedLease, TaskContext } from './client/task-context.ts';
export {
  HandBack,
  NoRetry,
  RetryLater,
  type TaskErrorOptions,
  TaskTimeout,
  WorkerStopping,
} from './client/task-errors.ts';
export type { EnqueueOptions, TraceContext } from './client/task-request.ts';
export type { TaskVerdict, VerdictSubject } from './client/task-verdict.ts';
export type { EntryListing } from './client/transport.ts';
export type { Worker, WorkerCounts } from './client/worker.ts';
export {
  type HandlerOf,
  type Job,
  job,
  type LostTask,
  type TaskHandler,
  type WorkerOptions,
} from './client/worker-options.ts';
export type { DrainSignal } from './client/world.ts';
export type { UndiciHttpOptions } from './world/undici-http.ts';

export interface NodeConnectOptions extends ConnectOptions, UndiciHttpOptions {}

/**
 * Creates a client of the server at the URL, or of a leader and its standbys. The default URL is LEASEHOLD_URL, which
 * may list several separated by commas, else http://127.0.0.1:7420; the default token is LEASEHOLD_TOKEN. Sends nothing
 * before the first call.
 */
export function connect(urls?: Servers, options: NodeConnectOptions = {}): Leasehold {
  refuseUnknown(options, [...CONNECT_OPTIONS, 'ca'], 'connect');
  const { LEASEHOLD_URL, LEASEHOLD_TOKEN } = process.env;
  const { ca, ...rest } = options;
  const trust = ca === undefined ? {} : { ca };
  const token = options.token ?? (LEASEHOLD_TOKEN || undefined);
  return connectWith(
    Leasehold,
    { http: () => undiciHttp(trust), sockets: () => wsSockets(trust) },
    nodeWorld,
    urls ?? (LEASEHOLD_URL || DEFAULT_URL).split(',').map((url) => url.trim()),
    token === undefined ? rest : { ...rest, token },
  );
}

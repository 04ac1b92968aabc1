/** leasehold/client: the client alone, by `fetch`, for browsers and whatever else has one. On Node see `client-node.ts`. */
import { type ConnectOptions, connectWith } from './client/connect.ts';
import type { Leasehold } from './client/leasehold.ts';
import { webHttp } from './world/web-http.ts';
import { webWorld } from './world/web-world.ts';

/** A client of the server at the URL, or of several that stand in for each other. Nothing is sent before the first call. */
export function connect(urls: string | readonly string[], options?: ConnectOptions): Leasehold {
  return connectWith(() => webHttp, webWorld, urls, options);
}

export type { ConnectOptions } from './client/connect.ts';
export {
  type AnyTask,
  defineTask,
  type RetryPolicy,
  type TaskDefinition,
  type TaskPolicy,
} from './client/define-task.ts';
export type { Duration } from './client/durations.ts';
export type { EnqueueOptions, EnqueueReceipt } from './client/enqueue.ts';
export { type Effect, type ErrorCode, LeaseholdError } from './client/error.ts';
export type { Guarded, GuardOptions } from './client/guard.ts';
export type { Lease, LeaseSet } from './client/lease-handle.ts';
export { LeaseLostError, type LossCause } from './client/lease-loss.ts';
export type { WriteOptions, Written } from './client/lease-writer.ts';
export type { Leasehold } from './client/leasehold.ts';
export type { Acquired, LeaseOptions } from './client/named-leases.ts';
export type { RetryOptions } from './client/patience.ts';
export type { ResultOptions, TaskReceipt, TaskResult } from './client/receipt.ts';
export type { StandardSchema } from './client/standard-schema.ts';
export type { PresentedLease, TaskContext } from './client/task-context.ts';
export { HandBack, NoRetry, RetryLater, WorkerStopping } from './client/task-errors.ts';
export type { TaskVerdict } from './client/task-verdict.ts';
export type { CallOptions } from './client/transport.ts';
export type { TaskWorker, WorkerCounts } from './client/worker.ts';
export type { TaskHandler, WorkerOptions } from './client/worker-options.ts';
export type { RefusalCode } from './core/refusals.ts';
export { Json } from './protocol/json.ts';
export type { Problem, Reply } from './protocol/problem.ts';
export type {
  Body,
  EntryRecord,
  LeaseRecord,
  ObjectRecord,
  Replies,
  TaskRecord,
} from './protocol/replies.ts';
export type { Requests } from './protocol/requests.ts';
export type { Operation } from './protocol/routes.ts';

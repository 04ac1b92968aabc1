/** leasehold/client on Node: the same, over kept connections of its own, with defaults from the environment. */
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

export {
  type AnyTask,
  defineTask,
  type RetryPolicy,
  type TaskDefinition,
  type TaskPolicy,
} from './client/define-task.ts';
export type { EnqueueOptions, EnqueueReceipt } from './client/enqueue.ts';
export type { Guarded, GuardOptions } from './client/guard.ts';
export type { Leasehold } from './client/leasehold.ts';
export type { ResultOptions, TaskReceipt, TaskResult } from './client/receipt.ts';
export type { SessionFollowOptions, SessionHandle } from './client/session-handle.ts';
export type { StandardSchema } from './client/standard-schema.ts';
export type { PresentedLease, TaskContext } from './client/task-context.ts';
export { HandBack, NoRetry, RetryLater, TaskTimeout, WorkerStopping } from './client/task-errors.ts';
export type { TaskVerdict } from './client/task-verdict.ts';
export type { TaskWorker, WorkerCounts } from './client/worker.ts';
export type { TaskHandler, WorkerOptions } from './client/worker-options.ts';
export * from './client.ts';

export interface NodeConnectOptions extends ConnectOptions, UndiciHttpOptions {}

/**
 * A client of the server at the URL, or of several that stand in for each other. Without a URL: LEASEHOLD_URL,
 * which may name several with commas, else http://127.0.0.1:7420; without a token: LEASEHOLD_TOKEN. Nothing is sent before the first call.
 */
export function connect(urls?: Servers, options: NodeConnectOptions = {}): Leasehold {
  refuseUnknown(options, [...CONNECT_OPTIONS, 'ca'], 'connect');
  const { LEASEHOLD_URL, LEASEHOLD_TOKEN } = process.env;
  const { ca, ...rest } = options;
  const token = options.token ?? (LEASEHOLD_TOKEN || undefined);
  return connectWith(
    Leasehold,
    () => undiciHttp(ca === undefined ? {} : { ca }),
    nodeWorld,
    urls ?? (LEASEHOLD_URL || DEFAULT_URL).split(',').map((url) => url.trim()),
    token === undefined ? rest : { ...rest, token },
  );
}

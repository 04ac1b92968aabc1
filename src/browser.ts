/**
 * leasehold/browser: the client for browsers and other runtimes with `WebSocket` and `fetch`: leases, reads of the
 * authority's state, the log, and raw operations by `call`. Workers and guards need a process; `client-node.ts` has
 * them.
 */
import { Client } from './client/client.ts';
import { type ConnectOptions, connectWith, type Servers } from './client/connect.ts';
import { webHttp } from './world/web-http.ts';
import { webSockets } from './world/web-sockets.ts';
import { webWorld } from './world/web-world.ts';

const NETWORK = { http: () => webHttp, sockets: () => webSockets };

/** Creates a client of the server at the URL, or of a leader and its standbys. Sends nothing before the first call. */
export function connect(urls: Servers, options?: ConnectOptions): Client {
  return connectWith(Client, NETWORK, webWorld, urls, options);
}

export type {
  Bulk,
  BulkFilter,
  BulkOutcome,
  BulkTotals,
  CancelManyOptions,
  RequeueManyOptions,
  TaskIds,
} from './client/bulk.ts';
export type { Client, EntriesOptions, FollowOptions } from './client/client.ts';
export type { ConnectOptions, Servers } from './client/connect.ts';
export type { Connection } from './client/connection.ts';
export type { Duration } from './client/durations.ts';
export type { Held, HeldNames, Lease, LeaseSet } from './client/held.ts';
export type {
  Identity,
  LeaseEnd,
  LeaseInfo,
  ObjectInfo,
  QueueInfo,
  RefusedWrite,
  SessionInfo,
  SessionReason,
  SessionState,
  Status,
  Task,
  TaskLease,
  TaskState,
  Why,
  WhyCode,
  WorkerInfo,
} from './client/infos.ts';
export { LeaseLostError, type LossDetails } from './client/lease-loss.ts';
export type { WriteOptions, Written } from './client/lease-writer.ts';
export type { KeyLimits, Limits } from './client/limits.ts';
export type { Listing, Page, PageOptions } from './client/listing.ts';
export type { LeasedWork, LeaseOptions } from './client/named-leases.ts';
export type {
  HistoryOptions,
  LeaseFilter,
  Leases,
  Objects,
  Queues,
  RefusalFilter,
  TaskFilter,
  Tasks,
  Workers,
} from './client/namespaces.ts';
export type { RetryOptions } from './client/retry-schedule.ts';
export type { Cancelled, CancelOptions, Requeued, RequeueOptions } from './client/task-operating.ts';
export type { CallOptions } from './client/transport.ts';
export type { CatchUp, Overlap, Skip, Verb } from './core/entries.ts';
export type { RefusalCode } from './core/refusals.ts';
export type { LogRequest } from './operations/pages.ts';
export type {
  EntryRecord,
  LeaseRecord,
  ObjectRecord,
  QueueRecord,
  ReceiptRecord,
  SessionRecord,
  TaskRecord,
  WorkerRecord,
} from './operations/records.ts';
export type { Body, Operation, Replies, Requests } from './operations/table.ts';
export type { Durable, Entry, EntryOf, EntryShapes, Intent, WrittenValue } from './protocol/entry-shapes.ts';
export type { EntryType } from './protocol/entry-types.ts';
export { Json } from './protocol/json.ts';
export {
  type Effect,
  type ErrorCode,
  type ErrorDetails,
  type ErrorMore,
  type Failure,
  LeaseholdError,
  type Loss,
  type SchemaIssue,
} from './protocol/leasehold-error.ts';
export type { Problem, Reply } from './protocol/problem.ts';

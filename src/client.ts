/**
 * leasehold/client: the client alone, by `fetch`, for browsers and whatever else has one: the operations, leases
 * and the log. Workers and guards need a process; on Node `client-node.ts` has them.
 */
import { Client } from './client/client.ts';
import { type ConnectOptions, connectWith, type Servers } from './client/connect.ts';
import { webHttp } from './world/web-http.ts';
import { webWorld } from './world/web-world.ts';

/** A client of the server at the URL, or of several that stand in for each other. Nothing is sent before the first call. */
export function connect(urls: Servers, options?: ConnectOptions): Client {
  return connectWith(Client, () => webHttp, webWorld, urls, options);
}

export type { Client, FollowOptions } from './client/client.ts';
export type { ConnectOptions, Servers } from './client/connect.ts';
export type { Duration } from './client/durations.ts';
export { type Effect, type ErrorCode, LeaseholdError } from './client/error.ts';
export type { Lease, LeaseSet } from './client/lease-handle.ts';
export { LeaseLostError, type LossCause } from './client/lease-loss.ts';
export type { WriteOptions, Written } from './client/lease-writer.ts';
export type { Acquired, LeaseOptions } from './client/named-leases.ts';
export type { RetryOptions } from './client/patience.ts';
export type { CallOptions } from './client/transport.ts';
export type { RefusalCode } from './core/refusals.ts';
export type {
  EntryRecord,
  LeaseRecord,
  ObjectRecord,
  SessionRecord,
  TaskRecord,
} from './operations/records.ts';
export type { Body, Operation, Replies, Requests } from './operations/table.ts';
export type { EntryType } from './protocol/entry-types.ts';
export { Json } from './protocol/json.ts';
export type { Problem, Reply } from './protocol/problem.ts';

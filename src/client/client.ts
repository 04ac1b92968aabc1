/**
 * The handle for browsers: leases that renew themselves, reads of the authority's state, the log, and `call` for raw
 * wire operations. `Leasehold` adds what needs a process.
 */

import type { Body, Operation, Requests } from '../operations/table.ts';
import { camelCased } from '../protocol/camel-case.ts';
import type { Entry, EntryOf } from '../protocol/entry-shapes.ts';
import type { EntryType } from '../protocol/entry-types.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Reply } from '../protocol/problem.ts';
import { unknownOperation, unknownToCallers } from './call-options.ts';
import type { Connection } from './connection.ts';
import type { Lease, LeaseSet } from './held.ts';
import type { Identity, Status } from './infos.ts';
import { type Listing, listing, type PageOptions } from './listing.ts';
import { type LeasedWork, type LeaseOptions, NamedLeases } from './named-leases.ts';
import {
  type Leases,
  leasesOf,
  type Objects,
  objectsOf,
  type Queues,
  queuesOf,
  type Tasks,
  tasksOf,
  type Workers,
  workersOf,
} from './namespaces.ts';
import { ask, checkFilter } from './queries.ts';
import type { CallOptions, Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';
import type { ClientWorld } from './world.ts';

export interface FollowOptions<Type extends EntryType = EntryType> {
  /** Only entries of these types. */
  readonly types?: readonly Type[];
  /**
   * The first position to deliver. By default only new entries: those after the newest entry at the time the server
   * receives the first request, which is sent when the iteration begins.
   */
  readonly from?: number;
  readonly signal?: AbortSignal;
}

export interface EntriesOptions<Type extends EntryType = EntryType> extends PageOptions {
  readonly types?: readonly Type[];
  /** The first position; by default the oldest entry that is kept. */
  readonly from?: number;
}

const IN_PROCESS: Connection = { state: 'live', url: null };

/** The default page size of the log. */
const ENTRIES_A_PAGE = 100;

/** Internals of a handle for the rest of the package, hidden from its users. */
let parts: (client: Client) => { transport: Transport; leases: NamedLeases; closing: AbortSignal };

export class Client implements AsyncDisposable {
  readonly tasks: Tasks;
  readonly queues: Queues;
  readonly leases: Leases;
  readonly objects: Objects;
  readonly workers: Workers;
  readonly #transport: Transport;
  readonly #leases: NamedLeases;
  /** Aborted by `close`, which ends all background work. */
  readonly #closing = new AbortController();

  static {
    parts = (client) => ({
      transport: client.#transport,
      leases: client.#leases,
      closing: client.#closing.signal,
    });
  }

  constructor(transport: Transport, world: ClientWorld) {
    this.#transport = transport;
    this.#leases = new NamedLeases(transport, world);
    this.tasks = tasksOf(transport);
    this.queues = queuesOf(transport);
    this.leases = leasesOf(transport);
    this.objects = objectsOf(transport);
    this.workers = workersOf(transport);
  }

  /** Acquires a lease that renews itself until it is released or lost. Throws LEASE_HELD when it is not free within `wait`. */
  acquire(name: string, options?: LeaseOptions): Promise<Lease> {
    return this.#leases.acquire(name, options);
  }

  /** Like `acquire`, but returns null when the lease is held by another holder. Every other failure is thrown. */
  tryAcquire(name: string, options?: LeaseOptions): Promise<Lease | null> {
    return this.#leases.tryAcquire(name, options);
  }

  /** Acquires all of the names under one fencing number, or none. */
  acquireAll(names: readonly string[], options?: LeaseOptions): Promise<LeaseSet> {
    return this.#leases.acquireAll(names, options);
  }

  /**
   * Runs `work` while holding the lease, and releases it even when `work` throws. Throws LEASE_HELD when the lease is
   * not free within `wait`. When the lease is lost, `lease.signal` aborts, `work` is awaited, and then LEASE_LOST is
   * thrown.
   */
  withLease<T>(name: string, work: LeasedWork<T>): Promise<T>;
  withLease<T>(name: string, options: LeaseOptions, work: LeasedWork<T>): Promise<T>;
  withLease<T>(name: string, ...rest: [LeasedWork<T>] | [LeaseOptions, LeasedWork<T>]): Promise<T> {
    return this.#leases.withLease(name, ...optionsAndWork<LeaseOptions, LeasedWork<T>>(rest));
  }

  status(): Promise<Status> {
    return ask(this.#transport, 'status.get', {});
  }

  /** The name and the scopes of the current token. */
  whoami(): Promise<Identity> {
    return ask(this.#transport, 'whoami.get', {});
  }

  /** Lists durable log entries from a position on, oldest first, up to the newest. */
  entries<Type extends EntryType = EntryType>(options: EntriesOptions<Type> = {}): Listing<EntryOf<Type>> {
    checkFilter(options, ['types', 'from'], 'entries');
    const { types, from, limit = ENTRIES_A_PAGE } = options;
    return listing(options.cursor ?? from?.toString(), async (cursor) => {
      const reply = await this.#transport.log({
        limit,
        ...(cursor === undefined ? {} : { from: Number(cursor) }),
        ...(types === undefined ? {} : { types: [...types] }),
      });
      if (!reply.ok) throw LeaseholdError.of(reply);
      const items = reply.entries.map((entry) => camelCased(entry) as unknown as EntryOf<Type>);
      // A page that is not full is the last one.
      return { items, cursor: items.length < limit ? null : String(items.at(-1)!.seq + 1) };
    });
  }

  /**
   * Streams log entries as they become durable, from a position on; by default only new entries. Ends when the signal
   * aborts or the handle is closed. Once begun, it reconnects for as long as the server is away.
   */
  follow<Type extends EntryType = EntryType>(
    options: FollowOptions<Type> = {},
  ): AsyncIterable<EntryOf<Type>> {
    refuseUnknown(options, ['types', 'from', 'signal'], 'follow');
    const { types, from = null, signal } = options;
    const only = { isPatient: true, ...(types === undefined ? {} : { types }) };
    return shownEntries(this.#transport.follow(from, endOf(this, signal), only)) as AsyncIterable<
      EntryOf<Type>
    >;
  }

  /**
   * Calls a wire operation directly: takes snake_case fields, returns a body with `ok: true` or a refusal with `ok:
   * false`. Only faults are thrown.
   */
  call<Op extends Operation>(
    operation: Op,
    request: Requests[Op],
    options?: CallOptions,
  ): Promise<Reply<Body<Op>>> {
    const refused = unknownOperation(operation) ?? unknownToCallers(options);
    return refused === null ? this.#transport.call(operation, request, options) : Promise.resolve(refused);
  }

  /** How the client currently reaches the authority. */
  get connection(): Connection {
    return this.#transport.connection?.current ?? IN_PROCESS;
  }

  /** Calls the listener when `connection` changes, until the returned object is disposed of. */
  on(event: 'connection', listener: (connection: Connection) => void): Disposable {
    if (event !== 'connection' || typeof listener !== 'function')
      throw new TypeError("on takes 'connection' and a function.");
    return this.#transport.connection?.on(listener) ?? { [Symbol.dispose]: () => undefined };
  }

  /** Closes the connections, or the data directory. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The handle has been closed.'));
    this.#leases.renewal.close();
    await this.#transport.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export function transportOf(client: Client): Transport {
  return parts(client).transport;
}

export function namedLeasesOf(client: Client): NamedLeases {
  return parts(client).leases;
}

/** Aborts when the handle is closed. */
export function closingOf(client: Client): AbortSignal {
  return parts(client).closing;
}

/** A signal that aborts when the handle is closed, or when the caller's own signal aborts. */
export function endOf(client: Client, signal: AbortSignal | undefined): AbortSignal {
  const closing = closingOf(client);
  return signal === undefined ? closing : AbortSignal.any([closing, signal]);
}

export async function* shownEntries(entries: AsyncIterable<object>): AsyncGenerator<Entry, void, undefined> {
  for await (const entry of entries) yield camelCased(entry) as unknown as Entry;
}

/** Splits arguments: the function comes last, the options before it are optional. */
export function optionsAndWork<Options extends object, Work>(
  rest: readonly [Work] | readonly [Options, Work],
): [Options, Work] {
  return rest.length === 1 ? [{} as Options, rest[0]] : [rest[0], rest[1]];
}

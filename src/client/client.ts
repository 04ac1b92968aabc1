/**
 * A handle as small as a browser wants it: the operations as the wire has them (`task`, `lease`, `object`), leases
 * that are held and renewed for a program, and the log. `Leasehold` adds what only a process can do.
 */

import type { LogRequest } from '../operations/pages.ts';
import type { EntryRecord } from '../operations/records.ts';
import type { Body } from '../operations/table.ts';
import type { Reply } from '../protocol/problem.ts';
import { LeaseholdError } from './error.ts';
import type { Lease, LeaseSet } from './lease-handle.ts';
import { type Acquired, type LeaseOptions, NamedLeases } from './named-leases.ts';
import { type Operations, operationsOf, type Run, run } from './operation-methods.ts';
import type { EntryListing, FollowOnly, Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';
import type { ClientWorld } from './world.ts';

export interface FollowOptions extends FollowOnly {
  /** The first position; from now on when there is none. */
  readonly from?: number;
  readonly signal?: AbortSignal;
}

const FOLLOW_OPTIONS = ['from', 'types', 'session', 'signal'];

export class Client implements AsyncDisposable {
  readonly task: Operations<'task'>;
  readonly lease: Operations<'lease'>;
  readonly object: Operations<'object'> & {
    /** Refused writes, newest first. Evidence, not truth: they do not survive a restart. */
    readonly receipts: Run<'receipt.list'>;
  };
  /** Extends every listed lease and tells which are lost. */
  readonly heartbeat: Run<'worker.heartbeat'>;
  readonly pause: Run<'queue.pause'>;
  readonly resume: Run<'queue.resume'>;
  protected readonly transport: Transport;
  protected readonly world: ClientWorld;
  protected readonly leases: NamedLeases;
  /** Aborted by `close`: whatever runs in the background ends. */
  protected readonly closing = new AbortController();

  constructor(transport: Transport, world: ClientWorld) {
    this.transport = transport;
    this.world = world;
    this.leases = new NamedLeases(transport, world);
    this.task = operationsOf(transport, 'task');
    this.lease = operationsOf(transport, 'lease');
    this.object = { ...operationsOf(transport, 'object'), receipts: run(transport, 'receipt.list') };
    this.heartbeat = run(transport, 'worker.heartbeat');
    this.pause = run(transport, 'queue.pause');
    this.resume = run(transport, 'queue.resume');
  }

  /**
   * Runs `work` while it holds the lease, and gives it back in any case. Throws `LEASE_HELD` when it is not to be had
   * within `wait`. When it is lost, `lease.signal` aborts, `work` is awaited, and then `LEASE_LOST` is thrown.
   */
  withLease<T>(name: string, options: LeaseOptions, work: (lease: Lease) => Promise<T> | T): Promise<T> {
    return this.leases.withLease(name, options, work);
  }

  /** A lease that renews itself until it is released or lost; `LEASE_HELD` is thrown. */
  acquire(name: string, options?: LeaseOptions): Promise<Lease> {
    return this.leases.acquire(name, options);
  }

  /** The same, with every refusal as a result. */
  tryAcquire(name: string, options?: LeaseOptions): Promise<Acquired> {
    return this.leases.tryAcquire(name, options);
  }

  /** All of the names under one fencing number, or none. */
  acquireAll(names: readonly string[], options?: LeaseOptions): Promise<LeaseSet> {
    return this.leases.acquireAll(names, options);
  }

  async queues(): Promise<Body<'queue.list'>> {
    return granted(await this.transport.call('queue.list', {}));
  }

  /** Who was heard of lately; soft state that starts empty. */
  async workers(): Promise<Body<'worker.list'>> {
    return granted(await this.transport.call('worker.list', {}));
  }

  async status(): Promise<Body<'status.get'>> {
    return granted(await this.transport.call('status.get', {}));
  }

  /** The name and the scopes of the token in use. */
  async whoami(): Promise<Body<'whoami.get'>> {
    return granted(await this.transport.call('whoami.get', {}));
  }

  /** Durable entries from a position on; without one, from the first that is kept. */
  log(request: Omit<LogRequest, 'follow'> = {}): Promise<Reply<EntryListing>> {
    return this.transport.log(request);
  }

  /** Entries as they become durable, from a position on; without one, from now on. Ends with the signal or the handle. */
  follow(options: FollowOptions = {}): AsyncIterable<EntryRecord> {
    refuseUnknown(options, FOLLOW_OPTIONS, 'follow');
    const { signal } = this.closing;
    const ends = options.signal === undefined ? signal : AbortSignal.any([signal, options.signal]);
    return this.transport.follow(options.from ?? null, ends, options);
  }

  /** Lets go of the connections, or of the data directory. */
  async close(): Promise<void> {
    this.closing.abort(new Error('The handle has been closed.'));
    this.leases.keeper.close();
    await this.transport.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** The body, for calls that only somebody without the right scope is refused. */
function granted<T extends { readonly ok: true }>(reply: Reply<T>): T {
  if (reply.ok) return reply;
  throw LeaseholdError.of(reply);
}

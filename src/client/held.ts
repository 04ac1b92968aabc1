/**
 * What all held things have in common: a named lease, a lease set, a guard, a task, a lease in Postgres. All members
 * can be destructured.
 */
import type { Duration } from './durations.ts';
import type { WriteOptions, Written } from './lease-writer.ts';

export interface Held {
  /** The fencing number: a resource that checks it refuses lower numbers. */
  readonly leaseSeq: number;
  /**
   * Aborts when the lease is lost, with a LEASE_LOST error as its reason. The client learns of a loss within one round
   * trip over the live connection, otherwise with its next renewal.
   */
  readonly signal: AbortSignal;
  /** Milliseconds until this client stops relying on the lease unless it is renewed; 0 once it is lost or released. */
  remaining(): number;
  /**
   * Throws LEASE_LOST unless the lease is still held. Synchronous, and checks both clocks, so it is right after a
   * blocked event loop too.
   */
  assertHeld(): void;
  /** Renews the lease once so that it lasts at least this long from now: for work that blocks the event loop. Throws LEASE_LOST. */
  extend(atLeast: Duration): Promise<void>;
}

/** What a lease on one name and one on several have in common. */
export interface HeldNames extends Held {
  readonly holder: string;
  /**
   * Aborts when another caller asks for the lease (`lh.leases.ask`), with a LEASE_ASKED error as its reason. The lease
   * stays held: finish soon and release it, or ignore the request. Works over the live connection and in process.
   */
  readonly asked: AbortSignal;
  /**
   * Releases the lease, also after it was lost, and retries for as long as it could last. True when this call ended it;
   * false when it was already over, or when no server answered and it will expire by itself. Idempotent. In a handler
   * that wrote under it with `task.write`, it is kept until the task is completed.
   */
  release(): Promise<boolean>;
  /** @deprecated since 0.2, gone in 0.3: `extend`, which leaves later renewals as they are. */
  renew(ttl?: Duration): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A lease on one name. */
export interface Lease extends HeldNames {
  readonly name: string;
  /**
   * Writes the object of the same name, fenced: the write is refused once the name has been granted again. Takes effect
   * exactly once, even when replies are lost. Throws when it is refused, with the code of the refusal.
   */
  write(value: unknown, options?: WriteOptions): Promise<Written>;
}

/** A lease on several names, acquired together: they share one fencing number, and losing one loses all. */
export interface LeaseSet extends HeldNames {
  readonly names: readonly string[];
  /** Writes the object of one of the names; see `Lease.write`. */
  write(name: string, value: unknown, options?: WriteOptions): Promise<Written>;
}

/**
 * What a program holds: a named lease, several of them, a guard, a task, a lease in Postgres. All members may be taken
 * out by destructuring.
 */
import type { Duration } from './durations.ts';
import type { WriteOptions, Written } from './lease-writer.ts';

export interface Held {
  /** The fencing number: whatever checks it refuses lower numbers. */
  readonly leaseSeq: number;
  /** Aborts when the lease is lost, with a LEASE_LOST as its reason. A holder is told within a round trip over the live connection, with its next renewal otherwise. */
  readonly signal: AbortSignal;
  /** Milliseconds until this client stops relying on the lease, unless it is renewed; 0 once it is lost or given back. */
  remaining(): number;
  /** Throws LEASE_LOST unless the lease is held at this very moment, by both clocks; true after a blocked event loop too. */
  assertHeld(): void;
  /** Makes the lease last at least this long from now, once: for work that lets nothing else run. Throws LEASE_LOST. */
  extend(atLeast: Duration): Promise<void>;
}

/** What a lease on one name and one on several have in common. */
export interface HeldNames extends Held {
  readonly holder: string;
  /**
   * Aborts when another caller asks for the lease (`lh.leases.ask`), with a LEASE_ASKED as its reason. The lease stays held: finish
   * soon and release it, or take no notice. Told over the live connection, or in process.
   */
  readonly asked: AbortSignal;
  /**
   * Gives the lease back, also after it was lost, and retries while it could last. True when that is what ended it;
   * false when it was over, or will run out by itself because no server answered. Harmless twice. In a handler that wrote under it
   * with `task.write` it is kept until the task is completed.
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
   * Writes the object of the same name, fenced: refused as soon as the name was granted again. Exactly one effect, lost
   * replies included. Throws the code of the refusal.
   */
  write(value: unknown, options?: WriteOptions): Promise<Written>;
}

/** A lease on several names, taken together: they share one fencing number, and losing one is losing all. */
export interface LeaseSet extends HeldNames {
  readonly names: readonly string[];
  /** Writes the object of one of the names, as `Lease.write` does. */
  write(name: string, value: unknown, options?: WriteOptions): Promise<Written>;
}

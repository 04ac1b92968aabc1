/**
 * The handle of a named lease. It renews itself until it is released or lost. `signal` aborts when the lease is lost,
 * with a LEASE_LOST that says how; a release is not a loss and does not abort it. `assertHeld` reads the clocks, so it
 * is right even when no timer had a chance to run. Methods are getters of functions, so that they can be destructured.
 * The token of the grant is never visible.
 */
import { type Duration, durationMs } from './durations.ts';
import type { Lease, LeaseSet } from './held.ts';
import type { Grant } from './lease-grant.ts';
import type { LeaseLostError } from './lease-loss.ts';
import type { LeaseRenewal } from './lease-renewal.ts';
import { LeaseWriter, type WriteOptions, type Written } from './lease-writer.ts';
import type { Transport } from './transport.ts';

/** The key that Node's `util.inspect` looks for; unused elsewhere. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/**
 * Delays the release of a lease handle until the returned function is called; null for an object that only carries a
 * lease's numbers.
 */
export let lend: (lease: object) => (() => void) | null;

abstract class Handle implements AsyncDisposable {
  readonly #renewal: LeaseRenewal;
  readonly #grant: Grant;
  readonly #transport: Transport;
  /** Created with the first write: most leases never write. */
  #writers: Map<string, LeaseWriter> | null = null;
  #released: Promise<unknown> | null = null;
  #finished: Promise<LeaseLostError | null> | null = null;

  static {
    lend = (lease) => (#grant in lease ? lease.#renewal.lend(lease.#grant) : null);
  }

  constructor(transport: Transport, renewal: LeaseRenewal, grant: Grant) {
    this.#transport = transport;
    this.#renewal = renewal;
    this.#grant = grant;
  }

  get holder(): string {
    return this.#grant.holder;
  }

  get leaseSeq(): number {
    return this.#grant.leaseSeq;
  }

  get signal(): AbortSignal {
    return this.#grant.signal;
  }

  get asked(): AbortSignal {
    return this.#grant.asked;
  }

  get remaining(): () => number {
    return () => this.#renewal.remainingMs(this.#grant);
  }

  get assertHeld(): () => void {
    return () => this.#renewal.assertHeld(this.#grant);
  }

  get extend(): (atLeast: Duration) => Promise<void> {
    return async (atLeast) => this.#renewal.extend(this.#grant, durationMs(atLeast, 'time'));
  }

  get renew(): (ttl?: Duration) => Promise<void> {
    return async (ttl) =>
      this.#renewal.renew(this.#grant, ttl === undefined ? this.#grant.ttlMs : durationMs(ttl, 'ttl'));
  }

  get release(): () => Promise<boolean> {
    return async () => {
      if (this.#released !== null) {
        await this.#released;
        return false;
      }
      this.#released = this.#renewal.release(this.#grant);
      return (await this.#released) === true;
    };
  }

  /**
   * Releases the lease at the end of its work. Returns null if it was held until now, else how it was lost, including a
   * loss since the last renewal that was not detected yet.
   */
  finish(): Promise<LeaseLostError | null> {
    this.#finished ??= this.#finish();
    return this.#finished;
  }

  async #finish(): Promise<LeaseLostError | null> {
    if (this.#released !== null) {
      await this.#released;
      const { loss } = this.#grant;
      return loss?.details.loss === 'released' ? null : loss;
    }
    const finished = this.#renewal.finish(this.#grant);
    // The caller of `finish` gets the failure; a later release only waits for it.
    this.#released = finished.catch(() => null);
    return finished;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  protected abstract subject(): object;

  toJSON(): Record<string, unknown> {
    const { holder, leaseSeq } = this;
    return { ...this.subject(), holder, leaseSeq, state: this.#grant.loss?.details.loss ?? 'held' };
  }

  protected abstract readonly kind: string;

  [INSPECT](_depth: number, _options: unknown, inspect?: (value: unknown) => string): string {
    const shown = this.toJSON();
    return `${this.kind} ${inspect === undefined ? JSON.stringify(shown) : inspect(shown)}`;
  }

  get names(): readonly string[] {
    return this.#grant.names;
  }

  protected writeObject(objectId: string, value: unknown, options?: WriteOptions): Promise<Written> {
    this.#writers ??= new Map();
    let writer = this.#writers.get(objectId);
    if (writer === undefined) {
      writer = new LeaseWriter(this.#transport, {
        objectId,
        leaseSeq: this.leaseSeq,
        holder: this.holder,
        assertHeld: this.assertHeld,
        onRefusal: (problem) => this.#renewal.refute(this.#grant, objectId, problem),
      });
      this.#writers.set(objectId, writer);
    }
    return writer.write(value, options);
  }
}

export class LeaseHandle extends Handle implements Lease {
  get name(): string {
    return this.names[0]!;
  }

  get write(): Lease['write'] {
    return (value, options) => this.writeObject(this.name, value, options);
  }

  protected get kind(): string {
    return 'Lease';
  }

  protected subject(): object {
    return { name: this.name };
  }
}

export class LeaseSetHandle extends Handle implements LeaseSet {
  get write(): LeaseSet['write'] {
    return async (name, value, options) => {
      if (!this.names.includes(name))
        throw new TypeError(`The name "${name}" does not belong to this lease.`);
      return this.writeObject(name, value, options);
    };
  }

  protected get kind(): string {
    return 'LeaseSet';
  }

  protected subject(): object {
    return { names: this.names };
  }
}

/**
 * What a program holds while it holds a lease. The handle renews itself until it is released or lost. `signal`
 * aborts when the lease is lost, with a `LeaseLostError` whose `cause` says how; giving it back yourself is no loss and
 * does not abort. `assertHeld` asks the clocks, so it tells the truth even when no timer had a chance to run.
 * The secret of the grant can be seen nowhere.
 */
import { type Duration, durationMs } from './durations.ts';
import type { Grant } from './lease-grant.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import type { LeaseLostError } from './lease-loss.ts';
import { LeaseWriter, type WriteOptions, type Written } from './lease-writer.ts';
import type { Transport } from './transport.ts';

/** What Node's `util.inspect` looks for; elsewhere nobody does. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

abstract class Handle implements AsyncDisposable {
  readonly #keeper: LeaseKeeper;
  readonly #grant: Grant;
  readonly #transport: Transport;
  /** Made with the first write: most leases of many never write. */
  #writers: Map<string, LeaseWriter> | null = null;
  #released: Promise<unknown> | null = null;
  #finished: Promise<LeaseLostError | null> | null = null;

  constructor(transport: Transport, keeper: LeaseKeeper, grant: Grant) {
    this.#transport = transport;
    this.#keeper = keeper;
    this.#grant = grant;
  }

  get holder(): string {
    return this.#grant.holder;
  }

  /** The fencing number: whatever checks it refuses everybody with a lower one. */
  get leaseSeq(): number {
    return this.#grant.leaseSeq;
  }

  /** Aborts when the lease is lost; the reason is a `LeaseLostError`. */
  get signal(): AbortSignal {
    return this.#grant.signal;
  }

  /** Milliseconds until this client stops relying on the lease, unless it is renewed; 0 once it is lost or given back. */
  remaining(): number {
    return this.#keeper.remainingMs(this.#grant);
  }

  /** Throws a `LeaseLostError` unless the lease is held at this very moment, by both clocks. */
  assertHeld(): void {
    this.#keeper.assertHeld(this.#grant);
  }

  /** Renews at once, from now on by this much each time. It renews itself, so this is for a longer breath. */
  async renew(ttl?: Duration): Promise<void> {
    await this.#keeper.renew(this.#grant, ttl === undefined ? this.#grant.ttlMs : durationMs(ttl, 'ttl'));
  }

  /**
   * Gives the lease back, also after it was lost, and tries again while it could last. True when that is what ended it;
   * false when it was over, or will run out by itself because nobody could be reached. Harmless twice.
   */
  async release(): Promise<boolean> {
    if (this.#released !== null) {
      await this.#released;
      return false;
    }
    this.#released = this.#keeper.release(this.#grant);
    return (await this.#released) === true;
  }

  /**
   * Gives the lease back at the end of the work it was for, and tells whether it was held to this moment: null, or
   * how it had been lost, also when that happened after the last renewal and nobody has noticed yet.
   */
  finish(): Promise<LeaseLostError | null> {
    this.#finished ??= this.#finish();
    return this.#finished;
  }

  async #finish(): Promise<LeaseLostError | null> {
    if (this.#released !== null) {
      await this.#released;
      const { loss } = this.#grant;
      return loss === null || loss.cause === 'released' ? null : loss;
    }
    const finished = this.#keeper.finish(this.#grant);
    // Whoever asked is told when it fails; a later release has only to wait for it.
    this.#released = finished.catch(() => null);
    return finished;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  protected shown(): Record<string, unknown> {
    const { loss } = this.#grant;
    const { holder, leaseSeq } = this;
    return { holder, leaseSeq, state: loss === null ? 'held' : loss.cause };
  }

  toJSON(): Record<string, unknown> {
    return this.shown();
  }

  [INSPECT](_depth: number, _options: unknown, inspect?: (value: unknown) => string): string {
    const shown = this.shown();
    return `${this.constructor.name} ${inspect === undefined ? JSON.stringify(shown) : inspect(shown)}`;
  }

  protected get names(): readonly string[] {
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
        assertHeld: () => this.assertHeld(),
        onRefusal: (problem) => this.#keeper.refute(this.#grant, problem),
      });
      this.#writers.set(objectId, writer);
    }
    return writer.write(value, options);
  }
}

/** A lease on one name. */
export class Lease extends Handle {
  get name(): string {
    return this.names[0]!;
  }

  /**
   * Writes the object of the same name, fenced: refused as soon as anybody was granted the name later. Exactly one
   * effect, lost replies included. Throws a `LeaseholdError` with the code of the refusal.
   */
  write(value: unknown, options?: WriteOptions): Promise<Written> {
    return this.writeObject(this.name, value, options);
  }

  protected override shown(): Record<string, unknown> {
    return { name: this.name, ...super.shown() };
  }
}

/** A lease on several names, taken together: they share one fencing number, and losing one is losing all. */
export class LeaseSet extends Handle {
  override get names(): readonly string[] {
    return super.names;
  }

  /** Writes the object of one of the names, as `Lease.write` does. */
  async write(name: string, value: unknown, options?: WriteOptions): Promise<Written> {
    if (!this.names.includes(name)) throw new TypeError(`The name "${name}" is none of this lease.`);
    return this.writeObject(name, value, options);
  }

  protected override shown(): Record<string, unknown> {
    return { names: this.names, ...super.shown() };
  }
}

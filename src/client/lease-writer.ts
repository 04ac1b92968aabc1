/**
 * Fenced writes to one object under one lease, each with exactly one effect even when its reply is lost. Every
 * write names the version it replaces, so a request that is sent twice can take effect only once; and since
 * nobody without this lease can write, a version that has moved on to our own value is our own write. Writes go
 * one after the other, because each needs to know the version the one before has made.
 */

import type { ObjectRecord } from '../operations/records.ts';
import { Json } from '../protocol/json.ts';
import type { Problem } from '../protocol/problem.ts';
import { LeaseholdError } from './error.ts';
import type { Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';

export interface WriteOptions {
  /** Writes only if the object has this version; 0 means that there must be none. */
  readonly ifVersion?: number;
}

export interface Written {
  readonly version: number;
  /** The position in the log at which the write is durable. */
  readonly seq: number;
}

const OPTIONS = ['ifVersion'];

/** An object that is not there, or was deleted, counts as this. */
const NO_VERSION = 0;
/** How often a write without a version of its own steps aside for somebody else who writes under the same lease. */
const TRIES_MAX = 16;

export interface WriterTerms {
  readonly objectId: string;
  readonly leaseSeq: number;
  readonly holder: string;
  /** Throws when the lease is no longer held; asked right before anything is sent. */
  readonly assertHeld: () => void;
  /** Told when the authority finds the lease to be over. */
  readonly onRefusal: (problem: Problem) => void;
}

export class LeaseWriter {
  readonly #transport: Transport;
  readonly #terms: WriterTerms;
  /** Of the last reply; null when it has to be asked for. */
  #version: number | null = null;
  /** The newest version that a reply named: what we are told later and is not newer was not made by a later write. */
  #toldVersion = -1;
  #last: Promise<unknown> = Promise.resolve();

  constructor(transport: Transport, terms: WriterTerms) {
    this.#transport = transport;
    this.#terms = terms;
  }

  async write(value: unknown, options: WriteOptions = {}): Promise<Written> {
    refuseUnknown(options, OPTIONS, 'write');
    this.#terms.assertHeld();
    // Made into text now: whoever changes the value while it waits its turn must not change what is written.
    const json = value instanceof Json ? value : Json.of(value);
    const turn = this.#last.then(() => this.#writeNow(json, options.ifVersion ?? null));
    // The next in line goes on whatever became of this one; its own caller hears of the failure.
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #writeNow(value: Json, ifVersion: number | null): Promise<Written> {
    for (let tries = 1; ; tries++) {
      const base = ifVersion ?? this.#version ?? (await this.#askVersion());
      const reply = await this.#send(value, base);
      if (reply.ok) return this.#written(reply);
      if (reply.code !== 'VERSION_MISMATCH') return this.#refused(reply);
      const found = await this.#find();
      this.#version = found?.version ?? NO_VERSION;
      if (found !== null && this.#isOurs(found, value, base)) return this.#written(found);
      const hadNoEffect = this.#hadNoEffect(found, base);
      if (ifVersion !== null || !hadNoEffect || tries === TRIES_MAX) {
        const effect = hadNoEffect ? 'none' : 'unknown';
        throw new LeaseholdError(reply.code, reply.detail, { problem: reply, effect });
      }
    }
  }

  async #send(value: Json, base: number) {
    const { objectId, leaseSeq, holder, assertHeld } = this.#terms;
    assertHeld();
    const lease = { lease_seq: leaseSeq, object_id: objectId, holder_id: holder };
    try {
      const request = { object_id: objectId, value, lease, if_version: base };
      return await this.#transport.call('object.write', request);
    } catch (fault) {
      // Whether it was written is unknown, and so is the version.
      this.#version = null;
      throw fault;
    }
  }

  #written({ version, seq }: Written): Written {
    this.#version = version;
    this.#toldVersion = version;
    return { version, seq };
  }

  #refused(problem: Problem): never {
    if (OVER.has(problem.code)) this.#terms.onRefusal(problem);
    throw LeaseholdError.of(problem);
  }

  /** Whether what is there was made by the very write that is refused now: its first reply was lost. */
  #isOurs(found: ObjectRecord, value: Json, base: number): boolean {
    const isNext = found.version === base + 1 || base === NO_VERSION;
    return (
      isNext &&
      found.version > this.#toldVersion &&
      found.lease_seq === this.#terms.leaseSeq &&
      found.value?.text() === value.text()
    );
  }

  /**
   * Whether a write that replaced `base` and is not what is there now can have had no effect: that version had been
   * replaced before or has never been, or nothing was ever written under this lease, or the one write that replaced it is another's.
   */
  #hadNoEffect(found: ObjectRecord | null, base: number): boolean {
    if (base < this.#toldVersion) return true;
    if (found === null) return false;
    if (found.version <= base) return true;
    return found.lease_seq < this.#terms.leaseSeq || (found.version === base + 1 && found.value !== null);
  }

  async #askVersion(): Promise<number> {
    return (await this.#find())?.version ?? NO_VERSION;
  }

  async #find(): Promise<ObjectRecord | null> {
    const { objectId, assertHeld } = this.#terms;
    assertHeld();
    const found = await this.#transport.call('object.get', { object_id: objectId });
    if (found.ok) return found;
    if (found.code === 'OBJECT_NOT_FOUND') return null;
    throw LeaseholdError.of(found);
  }
}

/** Refusals that no lease gets which is live. */
const OVER: ReadonlySet<string> = new Set<Problem['code']>([
  'LEASE_OBJECT_MISMATCH',
  'WRITE_STALE_FENCE',
  'WRITE_UNKNOWN_FENCE',
  'LEASE_HOLDER_MISMATCH',
  'LEASE_EXPIRED',
]);

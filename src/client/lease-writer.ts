/**
 * Fenced writes to one object under one lease, each with exactly one effect even when its reply is lost: every write
 * names the version it replaces, so the transport can send it again, and a refusal from it is certain. Writes go one
 * after the other, because each needs to know the version the one before has made.
 */

import { Json } from '../protocol/json.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Problem } from '../protocol/problem.ts';
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
/** How often a write without a version of its own is tried when another writer under the same lease is faster. */
const TRIES_MAX = 16;

export interface WriterTerms {
  readonly objectId: string;
  readonly leaseSeq: number;
  readonly holder: string;
  /** Throws when the lease is no longer held; asked right before anything is sent. */
  readonly assertHeld: () => void;
  /** Told when the authority finds the lease to be over; resolves once it is known how it ended. */
  readonly onRefusal: (problem: Problem) => Promise<void>;
}

export class LeaseWriter {
  readonly #transport: Transport;
  readonly #terms: WriterTerms;
  /** Of the last reply; null when it has to be asked for. */
  #version: number | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(transport: Transport, terms: WriterTerms) {
    this.#transport = transport;
    this.#terms = terms;
  }

  async write(value: unknown, options: WriteOptions = {}): Promise<Written> {
    refuseUnknown(options, OPTIONS, 'write');
    this.#terms.assertHeld();
    // Made into text now: a caller that changes the value later must not change what is written.
    const json = value instanceof Json ? value : Json.of(value);
    const turn = this.#last.then(() => this.#writeNow(json, options.ifVersion ?? null));
    // The next write runs whatever became of this one; a failure is reported to its own caller.
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #writeNow(value: Json, ifVersion: number | null): Promise<Written> {
    const { objectId, leaseSeq, holder, assertHeld, onRefusal } = this.#terms;
    const lease = { lease_seq: leaseSeq, object_id: objectId, holder_id: holder };
    for (let tries = 1; ; tries++) {
      const if_version = ifVersion ?? this.#version ?? (await this.#askVersion());
      assertHeld();
      // Unknown until a reply tells: the write may be lost, or another writer under the same lease was faster.
      this.#version = null;
      const reply = await this.#transport.call('object.write', {
        object_id: objectId,
        value,
        lease,
        if_version,
      });
      if (reply.ok) {
        const { version, seq } = reply;
        this.#version = version;
        return { version, seq };
      }
      if (FENCED_OUT.has(reply.code)) await onRefusal(reply);
      if (reply.code !== 'VERSION_MISMATCH' || ifVersion !== null || tries === TRIES_MAX) {
        throw LeaseholdError.of(reply);
      }
    }
  }

  async #askVersion(): Promise<number> {
    const { objectId, assertHeld } = this.#terms;
    assertHeld();
    const found = await this.#transport.call('object.get', { object_id: objectId });
    if (found.ok) return found.version;
    if (found.code === 'OBJECT_NOT_FOUND') return NO_VERSION;
    throw LeaseholdError.of(found);
  }
}

/** Refusals that no lease gets which is live. */
export const FENCED_OUT: ReadonlySet<string> = new Set<Problem['code']>([
  'LEASE_OBJECT_MISMATCH',
  'WRITE_STALE_FENCE',
  'WRITE_UNKNOWN_FENCE',
  'LEASE_HOLDER_MISMATCH',
  'LEASE_EXPIRED',
]);

/** For a task that writes under something else. */
export function howToWrite(objectId: string): string {
  return `Write it under a lease on its name that the handler has acquired: lh.acquire(${JSON.stringify(objectId)}).`;
}

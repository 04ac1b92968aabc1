/**
 * Fenced writes to one object under one lease. Each takes effect exactly once even when its reply is lost: it names the
 * version it replaces, so the transport can retry it, and a refusal is certain. Writes run one at a time, because each
 * needs the version that the one before created.
 */

import { Json } from '../protocol/json.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Problem } from '../protocol/problem.ts';
import type { Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';

export interface WriteOptions {
  /** Writes only if the object has this version; 0: only if it does not exist. */
  readonly ifVersion?: number;
}

export interface Written {
  readonly version: number;
  /** The position in the log at which the write is durable. */
  readonly seq: number;
}

const OPTIONS = ['ifVersion'];

/** The version of an object that does not exist or was deleted. */
const NO_VERSION = 0;
/** How often a write without `ifVersion` is tried when another writer under the same lease is faster. */
const TRIES_MAX = 16;

export interface WriterTerms {
  readonly objectId: string;
  readonly leaseSeq: number;
  readonly holder: string;
  /** Throws when the lease is no longer held; called right before each send. */
  readonly assertHeld: () => void;
  /** Called when a refusal shows that the lease is over; resolves once it is known how it ended. */
  readonly onRefusal: (problem: Problem) => Promise<void>;
}

export class LeaseWriter {
  readonly #transport: Transport;
  readonly #terms: WriterTerms;
  /** The version in the last reply; null when it must be looked up. */
  #version: number | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(transport: Transport, terms: WriterTerms) {
    this.#transport = transport;
    this.#terms = terms;
  }

  async write(value: unknown, options: WriteOptions = {}): Promise<Written> {
    refuseUnknown(options, OPTIONS, 'write');
    this.#terms.assertHeld();
    // Serialised now, so that later changes to the value do not change what is written.
    const json = value instanceof Json ? value : Json.of(value);
    const turn = this.#last.then(() => this.#writeNow(json, options.ifVersion ?? null));
    // The next write runs even if this one fails; the failure goes to its own caller.
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #writeNow(value: Json, ifVersion: number | null): Promise<Written> {
    const { objectId, leaseSeq, holder, assertHeld, onRefusal } = this.#terms;
    const lease = { lease_seq: leaseSeq, object_id: objectId, holder_id: holder };
    for (let tries = 1; ; tries++) {
      const if_version = ifVersion ?? this.#version ?? (await this.#askVersion());
      assertHeld();
      // Unknown until a reply arrives: the write may be lost, or another writer under the same lease may be faster.
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

/** Refusals that a live lease never gets. */
export const FENCED_OUT: ReadonlySet<string> = new Set<Problem['code']>([
  'LEASE_OBJECT_MISMATCH',
  'WRITE_STALE_FENCE',
  'WRITE_UNKNOWN_FENCE',
  'LEASE_HOLDER_MISMATCH',
  'LEASE_EXPIRED',
]);

/** The advice for a task that writes under something else. */
export function howToWrite(objectId: string): string {
  return `Write it under a lease on its name that the handler has acquired: lh.acquire(${JSON.stringify(objectId)}).`;
}

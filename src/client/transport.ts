/**
 * Carries operations to an authority and answers back: over a network, or within the process. Refusals are values with
 * `ok: false`; a refused call changed nothing, even if it was retried after a lost reply. Only faults are thrown,
 * always a `LeaseholdError`, except that an aborted call rejects with the reason of its signal.
 */

import type { LogRequest } from '../operations/pages.ts';
import type { EntryRecord } from '../operations/records.ts';
import type { Body, Operation, Requests } from '../operations/table.ts';
import type { EntryType } from '../protocol/entry-types.ts';
import type { Told } from '../protocol/live-frames.ts';
import type { Reply } from '../protocol/problem.ts';
import type { Moment } from '../seams/deadline.ts';
import type { ConnectionWatch } from './connection.ts';

export interface CallOptions {
  /** Aborts the wait; a grant that arrives later is released. */
  readonly signal?: AbortSignal;
  /** Recorded in the server's log, and with refused writes. */
  readonly requestId?: string;
}

/** Options that only the client itself sets. */
export interface TransportOptions extends CallOptions {
  /** Renewals must not queue behind other calls: over HTTP they have separate connections. */
  readonly isRenewal?: boolean;
  /** The token was generated for this call alone: a grant that arrives after the caller gave up is released. */
  readonly isTokenOwn?: boolean;
}

export interface EntryListing {
  readonly ok: true;
  readonly entries: readonly EntryRecord[];
}

/** Which entries to follow; all by default. */
export interface FollowOnly {
  readonly types?: readonly EntryType[];
  /** Once a server has answered, reconnects without limit while it is away. */
  readonly isPatient?: boolean;
  /** Only the entries of one session, by default from its intent on. Needs only the scope v3:read. */
  readonly session?: { readonly id: string; readonly path: string };
}

/** Called with the authority's notices; returns true when a notice concerned the listener. */
export type NoticeListener = (notice: Told) => boolean;

export interface Transport {
  call<Op extends Operation>(
    operation: Op,
    request: Requests[Op],
    options?: TransportOptions,
  ): Promise<Reply<Body<Op>>>;

  /** Durable entries from a position on; by default from the oldest that is kept. */
  log(request: Omit<LogRequest, 'follow'>): Promise<Reply<EntryListing>>;

  /** Entries as they become durable, from a position on; by default only new ones. Ends when the signal aborts. */
  follow(fromSeq: number | null, signal: AbortSignal, only?: FollowOnly): AsyncIterable<EntryRecord>;

  close(): Promise<void>;

  /** How the authority is reached; absent in process. */
  readonly connection?: ConnectionWatch;

  /** Subscribes to the authority's notices; returns the function that unsubscribes. */
  listen?(listener: NoticeListener): () => void;

  /** In process only: registers that the name is held under this number. Over a network the server knows. */
  holds?(name: string, leaseSeq: number): void;

  /** The earliest moment at which the grant in this reply was made; null when unknown, as always over HTTP. */
  earliestOf?(reply: object): Moment | null;
}

/**
 * What carries operations to an authority and answers back: over HTTP, or within the process. Refusals come
 * back as values with `ok: false`, and then nothing was carried out, also when a lost reply was followed by another try;
 * only faults are thrown, always a `LeaseholdError`, except that an aborted call rejects with the reason of its signal.
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
  /** Gives up waiting; a grant that arrives after that is released. */
  readonly signal?: AbortSignal;
  /** Kept in the server's log, and with refused writes. */
  readonly requestId?: string;
}

/** What the client itself says beside that. */
export interface TransportOptions extends CallOptions {
  /** Renewals must not stand behind other calls: by HTTP they have connections of their own. */
  readonly isRenewal?: boolean;
  /** The token was generated for this call alone: a grant that arrives after the caller gave up is released. */
  readonly isTokenOwn?: boolean;
}

export interface EntryListing {
  readonly ok: true;
  readonly entries: readonly EntryRecord[];
}

/** Which entries to follow; without any of these, all of them. */
export interface FollowOnly {
  readonly types?: readonly EntryType[];
  /** Once a server has answered, one that is away is waited for without end. */
  readonly isPatient?: boolean;
  /** The life of one session; without a position it is followed from its intent on. Needs the scope v3:read only. */
  readonly session?: { readonly id: string; readonly path: string };
}

/** True when it concerned the listener. */
export type Hear = (told: Told) => boolean;

export interface Transport {
  call<Op extends Operation>(
    operation: Op,
    request: Requests[Op],
    options?: TransportOptions,
  ): Promise<Reply<Body<Op>>>;

  /** Durable entries from a position on; without one, from the first that is kept. */
  log(request: Omit<LogRequest, 'follow'>): Promise<Reply<EntryListing>>;

  /** Entries as they become durable, from a position on; without one, from now on. Ends when the signal aborts. */
  follow(fromSeq: number | null, signal: AbortSignal, only?: FollowOnly): AsyncIterable<EntryRecord>;

  close(): Promise<void>;

  /** How the authority is reached; absent in process. */
  readonly connection?: ConnectionWatch;

  /** Calls with what the authority tells without being asked; gives the call that ends this. */
  listen?(listener: Hear): () => void;

  /** In process: the name is held from here on, under this number. Over a wire its server knows. */
  holds?(name: string, leaseSeq: number): void;

  /** When the grant in this reply was made, at the earliest; null when that is not known, and never for a reply by HTTP. */
  earliestOf?(reply: object): Moment | null;
}

/** Sessions for client programs: request, wait, follow, stop. Orchestrators use `call`. */
import type { SessionState } from '../core/entries.ts';
import type { EntryOf, Intent } from '../protocol/entry-shapes.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { shownEntries } from './client.ts';
import { durationMs } from './durations.ts';
import type { SessionInfo } from './infos.ts';
import type { Listing, PageOptions } from './listing.ts';
import { ask, checkFilter, given, pages } from './queries.ts';
import type { Wait } from './receipt.ts';
import type { Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';
import type { ClientWorld } from './world.ts';

export interface SessionFilter extends PageOptions {
  readonly state?: SessionState;
}

export interface SessionFollowOptions {
  /** The first log position; by default that of the session's intent. */
  readonly from?: number;
  readonly signal?: AbortSignal;
}

export interface Sessions {
  /** Requests a session. The same intent returns the existing session while that can be shared. */
  request(intent: Intent): Promise<Session>;
  /** The handle of a session requested elsewhere. Sends nothing. */
  attach(sessionId: string): Session;
  /** Reads a session, also one that has ended. Throws SESSION_NOT_FOUND. */
  get(sessionId: string): Promise<SessionInfo>;
  /** Sessions that have not ended first, then those that have. */
  list(filter?: SessionFilter): Listing<SessionInfo>;
}

/** A session handle. Disposing of it stops the session. All members can be destructured. */
export interface Session {
  readonly sessionId: string;
  /** True when this request created the session; false when it existed already. */
  readonly isNew: boolean;
  /** Reads the session, also when it has ended. */
  get(): Promise<SessionInfo>;
  /** Resolves once it is READY. Throws SESSION_TERMINAL when it has ended, and SESSION_PENDING when `wait` is over first. */
  ready(options?: Wait): Promise<SessionInfo>;
  /** Reports that the session is still in use. Throws SESSION_TERMINAL when it has ended. */
  heartbeat(): Promise<SessionInfo>;
  /** Asks for the session to end. Does nothing when it has ended. */
  stop(): Promise<void>;
  /**
   * Streams the session's entries, from its intent on as far back as the log reaches; ends with the entry that ends it.
   * Throws SESSION_NOT_FOUND, and SESSION_TERMINAL when no entry is left to deliver.
   */
  follow(options?: SessionFollowOptions): AsyncIterable<EntryOf<'IntentAccepted' | 'SessionChanged'>>;
  [Symbol.asyncDispose](): Promise<void>;
}

type SessionEntry = EntryOf<'IntentAccepted' | 'SessionChanged'>;

const TERMINAL: ReadonlySet<SessionState> = new Set<SessionState>(['STOPPED', 'FAILED', 'CANCELLED']);

/** The signal that ends following: the handle is closed or the caller's signal aborts. */
type EndOf = (signal: AbortSignal | undefined) => AbortSignal;

export function sessionsOf(transport: Transport, { timers }: ClientWorld, endOf: EndOf): Sessions {
  async function get(sessionId: string): Promise<SessionInfo> {
    try {
      return await ask(transport, 'session.get', { session_id: sessionId });
    } catch (fault) {
      if (!LeaseholdError.is(fault, 'SESSION_TERMINAL')) throw fault;
      return ask(transport, 'session.get', { session_id: sessionId, ended: 'ok' });
    }
  }

  function follow(sessionId: string, options: SessionFollowOptions = {}): AsyncIterable<SessionEntry> {
    refuseUnknown(options, ['from', 'signal'], 'follow');
    // The HTTP path is given here rather than in the transport, to keep it out of the browser bundle.
    const session = { id: sessionId, path: `/api/v3/sessions/${encodeURIComponent(sessionId)}/events` };
    const entries = transport.follow(options.from ?? null, endOf(options.signal), { session });
    return untilEnd(shownEntries(entries) as AsyncIterable<SessionEntry>);
  }

  async function ready(sessionId: string, options: Wait = {}): Promise<SessionInfo> {
    refuseUnknown(options, ['wait', 'signal'], 'ready');
    const { wait, signal } = options;
    const over = new AbortController();
    const timer =
      wait === undefined ? null : timers.after(durationMs(wait, 'wait'), () => over.abort(undefined));
    const hold = timers.hold();
    try {
      const ends = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
      for await (const entry of follow(sessionId, { signal: ends })) {
        if (entry.type === 'SessionChanged' && entry.state === 'READY') break;
      }
      signal?.throwIfAborted();
      // A session that has ended meanwhile is refused.
      const session = await ask(transport, 'session.get', { session_id: sessionId });
      if (session.state === 'READY') return session;
      const says = `Session ${sessionId} is ${session.state}, and the wait is over.`;
      throw new LeaseholdError('SESSION_PENDING', says, { retryable: true, details: { sessionId } });
    } finally {
      timer?.cancel();
      hold.cancel();
    }
  }

  async function stop(sessionId: string): Promise<void> {
    try {
      await ask(transport, 'session.stop', { session_id: sessionId });
    } catch (fault) {
      if (!LeaseholdError.is(fault, 'SESSION_TERMINAL')) throw fault;
    }
  }

  function attach(sessionId: string, isNew = false): Session {
    return {
      sessionId,
      isNew,
      get: () => get(sessionId),
      ready: (options) => ready(sessionId, options),
      heartbeat: () => ask(transport, 'session.heartbeat', { session_id: sessionId }),
      stop: () => stop(sessionId),
      follow: (options) => follow(sessionId, options),
      [Symbol.asyncDispose]: () => stop(sessionId),
    };
  }

  return {
    async request(intent) {
      const { sessionId, status } = await ask(transport, 'intent.accept', requestOf(intent));
      return attach(sessionId, status === 'accepted');
    },
    attach: (sessionId) => attach(sessionId),
    get,
    list(filter = {}) {
      checkFilter(filter, ['state'], 'list');
      const request = filter.state === undefined ? {} : { state: filter.state };
      return pages(
        transport,
        'session.list',
        request,
        filter,
        ({ sessions }): readonly SessionInfo[] => sessions,
      );
    },
  };
}

/** Sends all fields that are given: the server refuses those that do not belong to the type. */
function requestOf(intent: Intent) {
  refuseUnknown(intent, ['type', 'serviceRef', 'recordingId', 'profileId', 'startMs'], 'a session');
  const { type, serviceRef, recordingId, profileId, startMs }: Given = intent;
  return {
    type,
    profileID: profileId,
    ...given('serviceRef', serviceRef),
    ...given('recordingID', recordingId),
    ...given('start_ms', startMs),
  };
}

/** An intent, as a caller without the compiler may combine its fields. */
interface Given extends Pick<Intent, 'type' | 'profileId'> {
  readonly serviceRef?: string;
  readonly recordingId?: string;
  readonly startMs?: number;
}

async function* untilEnd(
  entries: AsyncIterable<SessionEntry>,
): AsyncGenerator<SessionEntry, void, undefined> {
  for await (const entry of entries) {
    yield entry;
    if (entry.type === 'SessionChanged' && TERMINAL.has(entry.state)) return;
  }
}

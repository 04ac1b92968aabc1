/** The transport to an authority in the same process: no wire, the same operations, checks and answers. */
import type { Authority } from '../authority/authority.ts';
import type { HolderNews, HolderSubscription } from '../authority/holders.ts';
import { RefusedReadError } from '../authority/refused-read.ts';
import { ClosedError, UnavailableError } from '../authority/unavailable.ts';
import { settledByOptions } from '../client/call-options.ts';
import { closedEntries, handleClosed } from '../client/closed.ts';
import type { FollowOnly, NoticeListener, Transport } from '../client/transport.ts';
import { seqOfSessionId } from '../core/ids.ts';
import type { LoggedEntry } from '../engines/log.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { problem } from '../protocol/problem.ts';
import type { Timers } from '../seams/clock.ts';
import type { Calls } from './calls.ts';
import { LOG_CHECK, SESSION_EVENTS_CHECK } from './checks.ts';
import { entryBody } from './entry-bodies.ts';
import type { EntryRecord } from './records.ts';
import { relayed } from './relayed-signals.ts';
import { sessionBegin } from './sessions.ts';
import { toldOf } from './told.ts';

export function localTransport(
  authority: Authority,
  calls: Calls,
  timers: Pick<Timers, 'hold' | 'soon'>,
): Transport {
  const { log, feed } = authority;
  authority.toCallerFault = leaseholdError;
  let closed: Promise<void> | null = null;
  const { holders } = authority.soft;
  const listeners = new Set<NoticeListener>();
  let subscription: HolderSubscription | null = null;

  const notify = (news: HolderNews): boolean => {
    const told = toldOf(news);
    const tell = (): boolean => [...listeners].map((listener) => listener(told)).includes(true);
    // The reply to `lease.ask` says whether the holder was notified, so this one is synchronous.
    if (news.type === 'asked') return tell();
    // A grant of the same batch is held once its answer has been taken.
    timers.soon(tell);
    return true;
  };

  const compacted = (fromSeq: number): boolean => Math.max(1, fromSeq) < log.position.firstSeq;

  return {
    call(operation, request, options) {
      if (closed !== null) return Promise.reject(handleClosed());
      if (options === undefined) return calls[operation](request);
      const settled = settledByOptions(options);
      if (settled !== null) return settled;
      const { signal, requestId } = options;
      if (signal === undefined) return calls[operation](request, options);
      const relay = { signal: relayed(signal) };
      return calls[operation](request, requestId === undefined ? relay : { ...relay, requestId });
    },

    async log(request) {
      if (closed !== null) throw handleClosed();
      if (authority.hasEnded) throw leaseholdError(new UnavailableError('The authority has ended.'));
      if (!LOG_CHECK.accepts(request)) {
        return problem({ refused: 'INVALID_ARGUMENT', detail: LOG_CHECK.explain(request) });
      }
      const { firstSeq } = log.position;
      const { from = firstSeq, limit = 100, types } = request;
      if (compacted(from)) return problem({ refused: 'LOG_COMPACTED', firstSeq });
      const isWanted = wanted(types === undefined ? {} : { types });
      const entries: EntryRecord[] = [];
      const count = types === undefined ? limit : Number.POSITIVE_INFINITY;
      try {
        for await (const logged of log.entries(from, count)) {
          if (isWanted(logged)) entries.push(await entryBody(log, logged));
          if (entries.length === limit) break;
        }
      } catch (fault) {
        throw closed === null ? fault : handleClosed('none', fault);
      }
      return { ok: true, entries };
    },

    follow(fromSeq, signal, only = {}) {
      if (closed !== null) return closedEntries();
      const isWanted = wanted(only);
      let nextSeq = fromSeq ?? log.position.lastSeq + 1;
      async function* entries(): AsyncGenerator<EntryRecord, void, undefined> {
        let wake = (): void => undefined;
        const stop = [
          feed.onBatch(() => wake()),
          authority.whenEnded(() => wake()),
          abortCall(signal, () => wake()),
        ];
        try {
          if (only.session === undefined) assertFollowable(fromSeq, only);
          else if (!signal.aborted) nextSeq = await beginOf(authority, only.session.id, fromSeq ?? 0);
          while (!signal.aborted) {
            if (compacted(nextSeq)) {
              throw LeaseholdError.of(problem({ refused: 'LOG_COMPACTED', firstSeq: log.position.firstSeq }));
            }
            const more = new Promise<void>((resolve) => {
              wake = resolve;
            });
            for await (const logged of log.entries(nextSeq, Number.POSITIVE_INFINITY)) {
              if (isWanted(logged)) yield (await entryBody(log, logged)) as EntryRecord;
              nextSeq = logged.seq + 1;
              if (signal.aborted) return;
            }
            if (signal.aborted) return;
            if (closed !== null) throw handleClosed();
            if (authority.hasEnded) throw new LeaseholdError('UNAVAILABLE', 'The authority has ended.');
            // Like a connection to a server, it keeps the process alive: more entries may follow.
            const hold = timers.hold();
            await more.finally(() => hold.cancel());
          }
        } finally {
          for (const call of stop) call();
        }
      }
      return entries();
    },

    listen(listener) {
      listeners.add(listener);
      if (subscription === null) {
        subscription = holders.subscribe(notify);
        // Tasks are known by their leases, whichever worker leased them.
        holders.listen((news) => 'task_id' in news.subject && notify(news));
      }
      return () => listeners.delete(listener);
    },

    holds(name, leaseSeq) {
      if (subscription !== null) holders.holdName(subscription, name, leaseSeq);
    },

    close() {
      closed ??= authority.close();
      return closed;
    },
  };
}

/** Throws what a server would refuse. */
function assertFollowable(from: number | null, { types }: FollowOnly): void {
  const request = { ...(from === null ? {} : { from }), ...(types === undefined ? {} : { types }) };
  if (LOG_CHECK.accepts(request)) return;
  throw LeaseholdError.of(problem({ refused: 'INVALID_ARGUMENT', detail: LOG_CHECK.explain(request) }));
}

/** The position from which a session is followed; throws what a server would refuse. */
async function beginOf(authority: Authority, sessionId: string, fromSeq: number): Promise<number> {
  const request = { session_id: sessionId, from: fromSeq };
  if (!SESSION_EVENTS_CHECK.accepts(request)) {
    const detail = SESSION_EVENTS_CHECK.explain(request);
    throw LeaseholdError.of(problem({ refused: 'INVALID_ARGUMENT', detail }));
  }
  const begin = await authority
    .read((machine) => sessionBegin(machine, authority.log, sessionId, fromSeq))
    .catch((fault: Error) => {
      throw leaseholdError(fault);
    });
  if (typeof begin === 'number') return begin;
  throw LeaseholdError.of(problem(begin));
}

/** Whether the follower wants this entry. */
function wanted({ types, session: only }: FollowOnly): (logged: LoggedEntry) => boolean {
  if (only !== undefined) {
    const session = seqOfSessionId(only.id);
    return ({ seq, entry }) =>
      seq === session || (entry.type === 'SessionChanged' && entry.session === session);
  }
  if (types === undefined) return () => true;
  const known = new Set<string>(types);
  return ({ entry }) => known.has(entry.type);
}

function abortCall(signal: AbortSignal, call: () => void): () => void {
  signal.addEventListener('abort', call, { once: true });
  return () => signal.removeEventListener('abort', call);
}

/** A dead authority does not come back to its handle, so no fault is retryable. */
function leaseholdError(fault: Error): Error {
  if (fault instanceof ClosedError) return handleClosed();
  if (fault instanceof RefusedReadError) return LeaseholdError.of(problem(fault.refusal));
  if (!(fault instanceof UnavailableError)) return fault;
  const { message, effect, cause = fault } = fault;
  return new LeaseholdError('UNAVAILABLE', message, { retryable: false, effect, cause });
}

/** The way to an authority in the same process: no wire, the same operations, checks and answers. */
import { type Authority, UnavailableError } from '../authority/authority.ts';
import { LeaseholdError } from '../client/error.ts';
import type { Transport } from '../client/transport.ts';
import { LOG_CHECK } from '../protocol/checks.ts';
import { problem } from '../protocol/problem.ts';
import type { EntryRecord } from '../protocol/replies.ts';
import type { Calls } from './calls.ts';
import { entryBody } from './entry-bodies.ts';

export function localTransport(authority: Authority, calls: Calls): Transport {
  const { log, feed } = authority;

  const compacted = (fromSeq: number): boolean => Math.max(1, fromSeq) < log.position.firstSeq;

  return {
    call: (operation, request, options) => calls[operation](request, options).catch(rethrow),

    async log(request) {
      if (!LOG_CHECK.accepts(request)) {
        return problem({ refused: 'INVALID_ARGUMENT', detail: LOG_CHECK.explain(request) });
      }
      const { firstSeq } = log.position;
      const { from = firstSeq, limit = 100 } = request;
      if (compacted(from)) return problem({ refused: 'LOG_COMPACTED', firstSeq });
      const entries: EntryRecord[] = [];
      for await (const logged of log.entries(from, limit)) entries.push(await entryBody(log, logged));
      return { ok: true, entries };
    },

    follow(fromSeq, signal) {
      let nextSeq = fromSeq ?? log.position.lastSeq + 1;
      let wake = (): void => undefined;
      const stop = [
        feed.hear(() => wake()),
        authority.whenEnded(() => wake()),
        abortCall(signal, () => wake()),
      ];
      async function* entries(): AsyncGenerator<EntryRecord, void, undefined> {
        try {
          while (!signal.aborted) {
            if (compacted(nextSeq)) {
              throw LeaseholdError.of(problem({ refused: 'LOG_COMPACTED', firstSeq: log.position.firstSeq }));
            }
            const more = new Promise<void>((resolve) => {
              wake = resolve;
            });
            for await (const logged of log.entries(nextSeq, Number.POSITIVE_INFINITY)) {
              yield (await entryBody(log, logged)) as EntryRecord;
              nextSeq = logged.seq + 1;
              if (signal.aborted) return;
            }
            if (authority.hasEnded) throw new LeaseholdError('UNAVAILABLE', 'The authority has ended.');
            await more;
          }
        } finally {
          for (const call of stop) call();
        }
      }
      return entries();
    },

    close: () => authority.close(),
  };
}

function abortCall(signal: AbortSignal, call: () => void): () => void {
  signal.addEventListener('abort', call, { once: true });
  return () => signal.removeEventListener('abort', call);
}

function rethrow(fault: unknown): never {
  if (!(fault instanceof UnavailableError)) throw fault;
  const { message } = fault;
  throw new LeaseholdError('UNAVAILABLE', message, {
    retryable: true,
    effect: 'unknown',
    cause: fault.cause ?? fault,
  });
}

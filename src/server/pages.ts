/** The streams, pages and files of a leader: the log, events, backup and metrics. */

import { invalid, isRefusal } from '../core/decision.ts';
import { seqOfSessionId } from '../core/ids.ts';
import type { Refusal } from '../core/refusals.ts';
import type { OpenCore } from '../open.ts';
import { EVENTS_CHECK, LOG_CHECK, SESSION_EVENTS_CHECK } from '../operations/checks.ts';
import type { LogRequest, PAGES, SessionEventsRequest } from '../operations/pages.ts';
import { sessionBegin } from '../operations/sessions.ts';
import type { Clock } from '../seams/clock.ts';
import { backupStream, NoBackupError } from './backup.ts';
import type { Exchange } from './exchange.ts';
import type { FixedPage } from './fixed-pages.ts';
import type { FollowHub, FollowOptions } from './follow-hub.ts';
import { hidingOpaques, type LineFilter, onlySession, onlyTypes } from './follow-slices.ts';
import type { LongReads } from './long-reads.ts';
import type { Metrics } from './metrics.ts';
import {
  type Arrival,
  type Handle,
  isUnavailable,
  type ReportFault,
  refuseFault,
} from './operation-handler.ts';
import { readQuery, withPathFields } from './request-bytes.ts';
import { drained, streamLog, writeCounted } from './stream-log.ts';

export interface PageParts extends OpenCore {
  readonly clock: Clock;
  readonly hub: FollowHub;
  readonly metrics: Metrics;
  readonly longReads: LongReads;
  readonly reportFault: ReportFault;
}

const SEQ = /^(0|[1-9]\d{0,14})$/;
const NUMBERS: ReadonlySet<string> = new Set(['from', 'limit', 'follow']);

export function pageHandlers(
  parts: PageParts,
): Record<Exclude<keyof typeof PAGES, 'batch' | FixedPage>, Handle> {
  const { authority, clock, hub, metrics, longReads, reportFault } = parts;

  /** For pages that make no call on the authority. A call would find out by itself that the authority is dead. */
  const ifMayAnswer =
    (handle: Handle): Handle =>
    (exchange, arrival) => {
      if (authority.mayAnswer()) handle(exchange, arrival);
      else exchange.refuse({ refused: 'UNAVAILABLE' });
    };

  /** A fault after a stream has begun can only be reported in the server's log. */
  const stream = (work: Promise<void>, exchange: Exchange): void => {
    work.catch((fault: unknown) => {
      if (!exchange.response.headersSent) return refuseFault(fault, exchange, reportFault);
      if (!exchange.isGone()) reportFault(fault, exchange);
      exchange.response.destroy();
    });
  };

  /** Sends the head of a stream. False for a HEAD request, which is then done. */
  const begin = ({ request, response, requestId }: Exchange, type: string): boolean => {
    response.writeHead(200, {
      'content-type': type,
      'x-request-id': requestId,
      'cache-control': 'no-store',
      // A proxy that collects what it passes on would hold entries back for as long as few come.
      'x-accel-buffering': 'no',
    });
    response.flushHeaders();
    if (request.method !== 'HEAD') return true;
    response.end();
    return false;
  };

  const follow = (exchange: Exchange, options: FollowOptions): void => {
    const type = options.format === 'sse' ? 'text/event-stream' : 'application/x-ndjson';
    if (!begin(exchange, type)) return;
    const { response } = exchange;
    const stop = hub.attach(response, options);
    // Half-closed ends the stream, as it ends a wait: a client that died looks the same.
    exchange.onLeaving(() => {
      stop();
      response.end();
    });
  };

  return {
    log: ifMayAnswer((exchange, arrival) => {
      const request = logRequest(arrival);
      if (isRefusal(request)) return exchange.refuse(request);
      const { firstSeq, lastSeq } = authority.log.position;
      const { from = request.follow === 1 ? lastSeq + 1 : firstSeq, limit = Number.POSITIVE_INFINITY } =
        request;
      if (Math.max(1, from) < firstSeq) return exchange.refuse({ refused: 'LOG_COMPACTED', firstSeq });
      const filter = filterOf(request, exchange);
      if (request.follow === 1) {
        return follow(exchange, { format: 'ndjson', fromSeq: from, filter, linesMax: limit });
      }
      if (!begin(exchange, 'application/x-ndjson')) return;
      stream(streamLog(exchange.response, authority, { from, limit, filter }, longReads), exchange);
    }),

    events: ifMayAnswer((exchange, arrival) => {
      const request = logRequest(arrival, EVENTS_CHECK);
      if (isRefusal(request)) return exchange.refuse(request);
      const { firstSeq, lastSeq } = authority.log.position;
      const resumed = resumedFrom(exchange);
      if (isRefusal(resumed)) return exchange.refuse(resumed);
      const from = resumed.fromSeq ?? request.from ?? lastSeq + 1;
      if (Math.max(1, from) < firstSeq) return exchange.refuse({ refused: 'LOG_COMPACTED', firstSeq });
      follow(exchange, { format: 'sse', fromSeq: from, filter: filterOf(request, exchange) });
    }),

    session_events: ifMayAnswer((exchange, arrival) => {
      const request = sessionEventsRequest(arrival);
      if (isRefusal(request)) return exchange.refuse(request);
      const resumed = resumedFrom(exchange);
      if (isRefusal(resumed)) return exchange.refuse(resumed);
      const { session_id: sessionId, from = null } = request as SessionEventsRequest;
      const asked = resumed.fromSeq ?? from;
      const look = authority.read((machine) => sessionBegin(machine, authority.log, sessionId, asked));
      const attach = look.then((fromSeq) => {
        if (typeof fromSeq !== 'number') exchange.refuse(fromSeq);
        else if (!exchange.isGone()) {
          const only = onlySession(seqOfSessionId(sessionId));
          follow(exchange, {
            format: 'sse',
            fromSeq,
            filter: exchange.hidesOpaques ? hidingOpaques(only) : only,
          });
        }
      });
      stream(attach, exchange);
    }),

    backup: ifMayAnswer((exchange) => {
      stream(writeBackup(exchange, begin, backupStream(authority, clock), longReads, reportFault), exchange);
    }),

    metrics(exchange) {
      stream(
        metrics.text().then((text) => exchange.answer(200, metrics.contentType, text)),
        exchange,
      );
    },

    ready: ifMayAnswer((exchange) => {
      // Not `full`: a full disk still takes renewals, so a load balancer must keep sending them here.
      if (authority.log.batchBytesMax > 0) return exchange.json(200, '{"status":"ready"}');
      // While this answers no, there may be no other request that makes the log look for space.
      authority.log.seekSpace();
      exchange.refuse({ refused: 'UNAVAILABLE' });
    }),
  };
}

function logRequest({ query }: Arrival, check = LOG_CHECK): LogRequest | Refusal {
  const fields = readQuery(query, NUMBERS);
  const { types } = fields;
  // A field given twice is not a list here either.
  const list = typeof types === 'string' ? types.split(',') : null;
  const request = types === undefined ? fields : { ...fields, types: list };
  if (check.accepts(request)) return request as LogRequest;
  return invalid(check.explain(request));
}

function filterOf({ types }: LogRequest, { hidesOpaques }: Exchange): LineFilter | null {
  const filter = types === undefined ? null : onlyTypes(types);
  return hidesOpaques ? hidingOpaques(filter) : filter;
}

function sessionEventsRequest({ params, query }: Arrival): SessionEventsRequest | Refusal {
  const request = withPathFields(readQuery(query, NUMBERS), params);
  if (isRefusal(request)) return request;
  if (SESSION_EVENTS_CHECK.accepts(request)) return request as SessionEventsRequest;
  return invalid(SESSION_EVENTS_CHECK.explain(request));
}

/** The position after Last-Event-ID; null without that header. */
function resumedFrom({ request }: Exchange): { readonly fromSeq: number | null } | Refusal {
  const lastId = request.headers['last-event-id'];
  if (lastId === undefined || lastId === '') return { fromSeq: null };
  if (SEQ.test(String(lastId))) return { fromSeq: Number(lastId) + 1 };
  return invalid('Last-Event-ID must be a seq.');
}

/** Reads the first piece before sending the head, so that a log that cannot be copied gets a problem, not half an archive. */
async function writeBackup(
  exchange: Exchange,
  begin: (exchange: Exchange, type: string) => boolean,
  chunks: AsyncIterable<Uint8Array>,
  longReads: LongReads,
  reportFault: ReportFault,
): Promise<void> {
  const { response } = exchange;
  try {
    for await (const chunk of chunks) {
      if (!response.headersSent && !begin(exchange, 'application/x-tar')) return;
      if (exchange.isGone()) return;
      if (!writeCounted(response, chunk, longReads)) await drained(response);
    }
  } catch (fault) {
    if (response.headersSent) throw fault;
    if (fault instanceof NoBackupError) {
      exchange.refuse({ refused: 'ROUTE_NOT_FOUND', detail: fault.message });
      return;
    }
    if (!isUnavailable(fault)) reportFault(fault, exchange);
    const detail = fault instanceof Error ? fault.message : String(fault);
    exchange.refuse({ refused: 'UNAVAILABLE', detail });
    return;
  }
  response.end();
}

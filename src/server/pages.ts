/** What a leader answers with a stream, a page or a file: the log, events, backup, metrics, and the first page. */
import type { Clock } from '../authority/seams.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import type { OpenCore } from '../embedded/open.ts';
import { LOG_CHECK } from '../protocol/checks.ts';
import type { Body } from '../protocol/replies.ts';
import type { LogRequest } from '../protocol/requests.ts';
import type { PAGES } from '../protocol/routes.ts';
import { backupStream } from './backup.ts';
import type { Exchange } from './exchange.ts';
import { type FixedPage, HTML, PAGE_HEADERS } from './fixed-pages.ts';
import type { FollowHub } from './follow-hub.ts';
import { homePage } from './home-page.ts';
import type { Metrics } from './metrics.ts';
import { type Arrival, type Handle, isProblem, refuseFault, type Trouble } from './operation-handler.ts';
import { readQuery } from './request-bytes.ts';
import { drained, writeLog } from './write-log.ts';

export interface PageParts extends OpenCore {
  readonly clock: Clock;
  readonly hub: FollowHub;
  readonly metrics: Metrics;
  readonly trouble: Trouble;
}

const SEQ = /^(0|[1-9]\d{0,14})$/;
const NUMBERS: ReadonlySet<string> = new Set(['from', 'limit', 'follow']);

export function pageHandlers(
  parts: PageParts,
): Record<Exclude<keyof typeof PAGES, 'batch' | FixedPage>, Handle> {
  const { authority, calls, clock, hub, metrics, trouble } = parts;

  /** For what does not ask the authority by a call, which would find it out by itself. */
  const ifMayAnswer =
    (handle: Handle): Handle =>
    (exchange, arrival) => {
      if (authority.mayAnswer()) handle(exchange, arrival);
      else exchange.refuse({ refused: 'UNAVAILABLE' });
    };

  /** Streams end by themselves; what goes wrong once they have begun can only be told to the server's log. */
  const stream = (work: Promise<void>, exchange: Exchange): void => {
    work.catch((fault: unknown) => {
      if (!exchange.response.headersSent) return refuseFault(fault, exchange, trouble);
      if (!exchange.isGone()) trouble(fault, exchange);
      exchange.response.destroy();
    });
  };

  const begin = ({ response, requestId }: Exchange, type: string): void => {
    response.writeHead(200, { 'content-type': type, 'x-request-id': requestId, 'cache-control': 'no-store' });
    response.flushHeaders();
  };

  const follow = (exchange: Exchange, format: 'ndjson' | 'sse', type: string, fromSeq: number): void => {
    begin(exchange, type);
    hub.attach(exchange.response, { format, fromSeq });
  };

  return {
    log: ifMayAnswer((exchange, arrival) => {
      const request = logRequest(arrival);
      if (isRefusal(request)) return exchange.refuse(request);
      const { firstSeq, lastSeq } = authority.log.position;
      const { from = request.follow === 1 ? lastSeq + 1 : firstSeq, limit = 100 } = request;
      if (Math.max(1, from) < firstSeq) return exchange.refuse({ refused: 'LOG_COMPACTED', firstSeq });
      if (request.follow === 1) return follow(exchange, 'ndjson', 'application/x-ndjson', from);
      begin(exchange, 'application/x-ndjson');
      exchange.cutIfStalled();
      stream(writeLog(exchange.response, authority, { from, limit }), exchange);
    }),

    events: ifMayAnswer((exchange, arrival) => {
      const request = logRequest(arrival);
      if (isRefusal(request)) return exchange.refuse(request);
      const { firstSeq, lastSeq } = authority.log.position;
      const lastId = exchange.request.headers['last-event-id'];
      const resumed = lastId === undefined || lastId === '' ? undefined : Number(lastId) + 1;
      if (resumed !== undefined && !SEQ.test(String(lastId))) {
        return exchange.refuse({ refused: 'INVALID_ARGUMENT', detail: 'Last-Event-ID must be a seq.' });
      }
      const from = resumed ?? request.from ?? lastSeq + 1;
      if (Math.max(1, from) < firstSeq) return exchange.refuse({ refused: 'LOG_COMPACTED', firstSeq });
      follow(exchange, 'sse', 'text/event-stream', from);
    }),

    backup: ifMayAnswer((exchange) => {
      stream(writeBackup(exchange, begin, backupStream(authority, clock)), exchange);
    }),

    metrics(exchange) {
      stream(
        metrics.text().then((text) => exchange.answer(200, metrics.contentType, text)),
        exchange,
      );
    },

    ready: ifMayAnswer((exchange) => exchange.json(200, '{"status":"ready"}')),

    home(exchange) {
      // Whoever has not shown a token sees where to go, and nothing else.
      const mayLook = exchange.caller.scopes.has('*');
      const status = mayLook ? calls['status.get']({}) : Promise.resolve(null);
      stream(
        status.then((body) => {
          if (body !== null && isProblem(body)) exchange.problem(body);
          else exchange.answer(200, HTML, homePage(body as Body<'status.get'> | null), PAGE_HEADERS);
        }),
        exchange,
      );
    },
  };
}

function logRequest({ query }: Arrival): LogRequest | Refusal {
  const request = readQuery(query, NUMBERS);
  if (LOG_CHECK.accepts(request)) return request as LogRequest;
  return { refused: 'INVALID_ARGUMENT', detail: LOG_CHECK.explain(request) };
}

/** The first piece is asked for before anything is said: a log that cannot be copied is a problem and not half an archive. */
async function writeBackup(
  exchange: Exchange,
  begin: (exchange: Exchange, type: string) => void,
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  const { response } = exchange;
  try {
    for await (const chunk of chunks) {
      if (!response.headersSent) begin(exchange, 'application/x-tar');
      exchange.cutIfStalled();
      if (exchange.isGone()) return;
      if (!response.write(chunk)) await drained(response);
    }
  } catch (fault) {
    if (response.headersSent) throw fault;
    const detail = fault instanceof Error ? fault.message : String(fault);
    exchange.refuse({ refused: 'UNAVAILABLE', detail });
    return;
  }
  response.end();
}

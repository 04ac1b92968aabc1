/**
 * The server without its sockets: the product's own handlers, fed with the bytes of a request, answering into a response
 * that belongs to the simulated network. What Fastify and Node do around them is the router beside this file and the
 * few members of a response that the handlers use.
 */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OpenCore } from '../../../src/open.ts';
import { PAGES } from '../../../src/operations/pages.ts';
import { OPERATIONS, type Operation } from '../../../src/operations/table.ts';
import type { Clock, Timers } from '../../../src/seams/clock.ts';
import { batchHandler } from '../../../src/server/batch.ts';
import { Exchange } from '../../../src/server/exchange.ts';
import { FollowHub } from '../../../src/server/follow-hub.ts';
import type { HttpCounts } from '../../../src/server/http-counts.ts';
import { leaderLive } from '../../../src/server/live-operations.ts';
import { LongPolls } from '../../../src/server/long-polls.ts';
import { LongReads } from '../../../src/server/long-reads.ts';
import type { Metrics } from '../../../src/server/metrics.ts';
import {
  type Arrival,
  type Handle,
  operationHandler,
  type ReportFault,
  refuseFault,
} from '../../../src/server/operation-handler.ts';
import { pageHandlers } from '../../../src/server/pages.ts';
import { LOCAL_CALLER } from '../../../src/server/scopes.ts';
import type { StreamResponse } from '../../../src/server/stream-log.ts';
import { LiveServer } from './live-server.ts';
import { routeOf } from './wire-routes.ts';

export interface WireRequest {
  readonly method: string;
  readonly url: string;
  /** By their names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  readonly requestId: string;
  readonly body: string | null;
}

/** Receives what a response writes. */
export interface ResponseSink {
  head(status: number, headers: Readonly<Record<string, string>>): void;
  chunk(text: string): void;
  end(): void;
  /** The server has cut the connection. */
  cut(): void;
}

/** The server's end of one exchange. It accepts everything at once: slow readers are simulated by the network. */
export class SimResponse extends EventEmitter implements StreamResponse {
  destroyed = false;
  headersSent = false;
  readonly writableLength = 0;
  readonly socket = Object.assign(new EventEmitter(), { writable: true, isPaused: () => false });
  readonly #sink: ResponseSink;

  constructor(sink: ResponseSink) {
    super();
    this.#sink = sink;
  }

  writeHead(status: number, headers: Record<string, string | number>): void {
    this.headersSent = true;
    this.#sink.head(
      status,
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    );
  }

  flushHeaders(): void {}

  setTimeout(): void {}

  write(content: string | Uint8Array): boolean {
    this.#sink.chunk(typeof content === 'string' ? content : Buffer.from(content).toString());
    return true;
  }

  end(content?: string | Uint8Array): void {
    if (content !== undefined) this.write(content);
    this.#sink.end();
  }

  /** The other side has closed the connection. */
  close(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.socket.writable = false;
    this.emit('close');
  }

  destroy(): void {
    if (this.destroyed) return;
    this.close();
    this.#sink.cut();
  }
}

export class WireServer {
  readonly live: LiveServer;
  readonly #longPolls = new LongPolls();
  readonly #handles = new Map<string, Handle>();
  readonly #reportFault: ReportFault;
  readonly #hub: FollowHub;
  readonly #house = {
    isStopping: false,
    counts: { refused: () => undefined },
    // What is sent here is taken at once.
    longReads: { sending: () => undefined },
  };

  constructor(
    core: OpenCore,
    { clock, timers }: { readonly clock: Clock; readonly timers: Timers },
    onBug: (fault: unknown) => void,
  ) {
    const { authority, calls, sends } = core;
    const reportFault: ReportFault = (fault) => onBug(fault);
    this.#reportFault = reportFault;
    const longReads = new LongReads(timers);
    this.#hub = new FollowHub(authority, timers, longReads, onBug);
    for (const operation of Object.keys(OPERATIONS) as Operation[]) {
      const handle = operationHandler(operation, calls[operation], this.#longPolls, longReads, reportFault);
      this.#handles.set(operation, handle);
    }
    this.#handles.set('batch', batchHandler(sends, reportFault));
    // Of the pages only the two streams are of use here, and neither counts anything.
    const metrics = {} as Metrics;
    const pages = pageHandlers({ ...core, clock, hub: this.#hub, metrics, longReads, reportFault });
    for (const page of STREAMS) this.#handles.set(page, pages[page]);
    const { counts } = this.#house;
    const house = this.#house;
    this.live = new LiveServer(
      {
        service: leaderLive(core, longReads),
        get isStopping() {
          return house.isStopping;
        },
        longReads,
        counts: counts as unknown as HttpCounts,
        reportFault,
        stallMs: 60_000,
        hidesPayloads: false,
      },
      timers,
    );
  }

  handle({ method, url, headers, requestId, body }: WireRequest, response: SimResponse): void {
    const incoming = { url, headers, socket: response.socket } as unknown as IncomingMessage;
    const outgoing = response as unknown as ServerResponse;
    const exchange = new Exchange(incoming, outgoing, requestId, LOCAL_CALLER, this.#house);
    const isBatch = url === PAGES.batch.path;
    const routed = isBatch ? null : (streamOf(url) ?? routeOf(method, url));
    const handle = this.#handles.get(isBatch ? 'batch' : (routed?.operation ?? ''));
    if (handle === undefined) return exchange.refuse({ refused: 'ROUTE_NOT_FOUND' });
    try {
      handle(exchange, {
        params: routed?.params ?? {},
        query: routed?.query ?? {},
        body: body === null ? undefined : Buffer.from(body),
      });
    } catch (fault) {
      refuseFault(fault, exchange, this.#reportFault);
    }
  }

  /** The caller no longer waits. */
  stop(): void {
    this.#house.isStopping = true;
    this.#longPolls.stop();
    this.live.stop();
    this.#hub.close();
  }
}

/** Answers that keep coming. */
const STREAMS = ['log', 'session_events'] as const;
const SESSION_EVENTS = new RegExp(`^${PAGES.session_events.path.replace('{session_id}', '([^/]+)')}$`);

function streamOf(
  url: string,
): { operation: string; params: Arrival['params']; query: Arrival['query'] } | null {
  const [path = '', search = ''] = url.split('?', 2);
  const query = Object.fromEntries(new URLSearchParams(search));
  if (path === PAGES.log.path) return { operation: 'log', params: {}, query };
  const [, id] = SESSION_EVENTS.exec(path) ?? [];
  if (id === undefined) return null;
  return { operation: 'session_events', params: { session_id: decodeURIComponent(id) }, query };
}

/**
 * The server: the operations of the table over HTTP, and the pages that an operator needs. It has no rules of its own; an
 * admitted request goes to the current service, and from there to the authority. Every refusal, from any layer, is a
 * problem with a code.
 *
 *   socket → access control (network, Host, token, scope) → service: handler → authority → reply
 */
import type { X509Certificate } from 'node:crypto';
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import type { FastifyInstance, FastifyRequest, onRequestHookHandler, RouteHandlerMethod } from 'fastify';
import type { Refusal } from '../core/refusals.ts';
import type { Scope } from '../operations/operation.ts';
import { PAGES, type Page } from '../operations/pages.ts';
import { isPast } from '../operations/past-fields.ts';
import { type AnyOperation, isOperation, OPERATIONS } from '../operations/table.ts';
import type { Clock, Timers } from '../seams/clock.ts';
import { AccessControl, ANONYMOUS } from './access-control.ts';
import { Bodies } from './body-bytes.ts';
import { type ConsoleFile, type ConsoleOptions, ConsolePages } from './console-files.ts';
import { Exchange, type ExchangeContext } from './exchange.ts';
import { fixedPages } from './fixed-pages.ts';
import { HttpCounts } from './http-counts.ts';
import { makeListener, TIMEOUTS, type Timeouts, withHead } from './listener.ts';
import { LiveConnections, type LiveServer } from './live-connections.ts';
import type { LiveService } from './live-operations.ts';
import type { Logger } from './logger.ts';
import { LongPolls, StoppingError } from './long-polls.ts';
import { LongReads } from './long-reads.ts';
import type { LoopLag } from './metrics.ts';
import { addressToListenOn } from './network.ts';
import { type Arrival, type Handle, type ReportFault, refuseFault } from './operation-handler.ts';
import { isDecodable, pathOf } from './request-bytes.ts';
import type { Caller, TokenGrant } from './scopes.ts';
import type { RouteName, Service, ServiceParts } from './service.ts';
import { traceOf } from './trace-id.ts';
import { assertUsableTls, type TlsPair } from './usable-tls.ts';

export interface ServerOptions {
  readonly tokens?: readonly TokenGrant[];
  readonly allowNets?: readonly string[];
  readonly trustedProxies?: readonly string[];
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly timeouts?: Partial<Timeouts>;
  /** Connections beyond it are closed at once. Without it the limit is that of the system. */
  readonly connectionsMax?: number;
  readonly version: string;
  /** The files of the web console. */
  readonly consoleFiles?: readonly ConsoleFile[];
  readonly console?: ConsoleOptions;
  /** The path prefix under which a proxy exposes this server, such as `/leasehold`; paths without it are served too. */
  readonly basePath?: string;
  /** Opaque values are shown only to callers with the scope v1:write. */
  readonly hidePayloads?: boolean;
}

export interface ServerWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newToken: () => string;
  readonly logger: Logger;
  readonly loopLag?: LoopLag;
  /** Free bytes on the file system of the log; absent where unknown. */
  readonly freeBytes?: () => Promise<number>;
}

interface RouteConfig {
  readonly scope: Scope | null;
  readonly name: string;
}

const NO_MOMENT: Refusal = {
  refused: 'INVALID_ARGUMENT',
  detail:
    'This path takes neither at_seq nor at; reads of tasks, leases, objects, queues, schedules, sessions and status do.',
};
const GARBLED: Refusal = { refused: 'INVALID_ARGUMENT', detail: 'The query is not well formed.' };
const STOPPING: Refusal = { refused: 'UNAVAILABLE', detail: new StoppingError().message };

/** The caller of each request, between access control and the handler. */
const callers = new WeakMap<IncomingMessage, Caller>();

/** The statuses of refused access. */
const DENIED: ReadonlySet<number> = new Set([401, 403]);

/** How long a stopping server waits for what is in flight, and how long of that for the rest of a body. */
const STOP_MS = 10_000;
const ARRIVE_MS = 1_000;
/**
 * How long a stopping server sends its last entries to followers of the log. They were written a moment ago, so this
 * takes no time unless the disk hangs; a follower reads what it missed from the next server.
 */
const SETTLE_MS = 2_000;
/**
 * How long it then keeps idle connections open for clients that are just sending their next request: they are answered
 * with `connection: close`. Closing a connection under a request would leave its outcome unknown.
 */
const LINGER_MS = 100;

export class Server implements ExchangeContext {
  private readonly longPolls = new LongPolls();
  private readonly app: FastifyInstance;
  private readonly world: ServerWorld;
  private readonly accessControl: AccessControl;
  readonly counts = new HttpCounts();
  readonly longReads: LongReads;
  isStopping = false;
  readonly hidesPayloads: boolean;
  private readonly bodies = new Bodies();
  /** Every open socket, including those that Node does not count yet: without a byte received or a handshake. */
  private readonly sockets = new Set<Socket>();
  private readonly isTalkative: boolean;
  private inFlight = 0;
  private whenQuiet: (() => void) | null = null;
  private whenAlone: (() => void) | null = null;
  private stopped: Promise<void> | null = null;
  private service: Service;
  private handlers: Readonly<Record<RouteName, Handle>>;
  private readonly fixed: ReturnType<typeof fixedPages>;
  private readonly live: LiveConnections;

  /** `begin` makes the first service; `offer` replaces it. */
  constructor(world: ServerWorld, options: ServerOptions, begin: (parts: ServiceParts) => Service) {
    this.world = world;
    this.hidesPayloads = options.hidePayloads ?? false;
    this.longReads = new LongReads(world.timers, options.timeouts?.stallMs ?? TIMEOUTS.stallMs);
    this.isTalkative = world.logger.isLevelEnabled('debug');
    this.accessControl = new AccessControl(options);
    this.live = new LiveConnections(this.liveServer(options.timeouts?.stallMs ?? TIMEOUTS.stallMs));
    this.app = makeListener(options, world, this.counts, this.bodies, this.live.upgrade);
    this.app.addHook('onRequest', this.checkAccess);
    this.app.server.on('connection', (socket: Socket) => {
      // A refused upgrade hands its socket back as a new connection.
      if (this.sockets.has(socket)) return;
      this.counts.connected();
      this.sockets.add(socket);
      socket.once('close', () => {
        this.counts.disconnected();
        this.sockets.delete(socket);
        if (this.sockets.size === 0) this.whenAlone?.();
      });
    });
    const { version, consoleFiles = [], console, basePath = '' } = options;
    this.fixed = fixedPages(version, new ConsolePages(consoleFiles, console), basePath);
    if (basePath !== '') this.redirectToFolder(basePath);
    this.service = begin(this.parts);
    this.handlers = { ...this.service.handlers, ...this.fixed };
    for (const [name, route] of [...Object.entries(OPERATIONS), ...Object.entries(PAGES)]) {
      this.route(route, name as RouteName);
    }
  }

  /** What the server lends to its services. */
  get parts(): ServiceParts {
    const { longPolls, longReads, counts, reportFault } = this;
    const { clock, timers, loopLag, freeBytes, logger } = this.world;
    return {
      clock,
      timers,
      ...(loopLag === undefined ? {} : { loopLag }),
      ...(freeBytes === undefined ? {} : { freeBytes }),
      counts,
      longPolls,
      longReads,
      reportFault,
      warn: (fields, says) => logger.warn(fields, says),
      onStreamFault: (fault) => logger.error({ err: fault }, 'the log could not be read for a follower'),
    };
  }

  /** Replaces the service for new requests. */
  offer(service: Service): void {
    this.live.flush();
    this.service.close();
    this.service = service;
    this.handlers = { ...service.handlers, ...this.fixed };
  }

  /** Replaces the tokens. Connections stay; streams and waits of removed tokens end. */
  replaceTokens(grants: readonly TokenGrant[]): void {
    this.accessControl.replaceTokens(grants);
  }

  /** Replaces the certificate for new connections. Throws, with nothing changed, if it cannot be served. */
  replaceTls(tls: TlsPair): X509Certificate {
    const certificate = assertUsableTls(tls);
    (this.app.server as unknown as TlsServer).setSecureContext({ ...tls });
    return certificate;
  }

  /** Resolves with the address it listens on. */
  async listen(host: string, port: number): Promise<AddressInfo> {
    this.accessControl.assertMayListenOn(host);
    // One address only: the limits and `stop` would not cover the socket of a second.
    await this.app.listen({ host: addressToListenOn(host), port });
    return this.app.server.address() as AddressInfo;
  }

  /** Finishes what is in flight, answers the rest with 503, then closes every connection. */
  stop(): Promise<void> {
    this.stopped ??= this.stopNow();
    return this.stopped;
  }

  private async stopNow(): Promise<void> {
    const { timers } = this.world;
    this.isStopping = true;
    this.longPolls.stop();
    // Our timers do not keep the process alive, and nothing else may do so now.
    const hold = timers.hold();
    await this.atMost(SETTLE_MS, this.service.settle?.());
    this.service.close();
    const server = this.app.server as HttpServer;
    // Stops accepting but keeps open connections: closing the HTTP server would cut the idle ones.
    NetServer.prototype.close.call(server);
    const quiet = new Promise<void>((resolve) => {
      this.whenQuiet = resolve;
      if (this.inFlight === 0) resolve();
    });
    const alone = new Promise<void>((resolve) => {
      this.whenAlone = resolve;
      if (this.sockets.size === 0) resolve();
    });
    const answered = Promise.all([quiet, this.live.stop()]).then(() => undefined);
    await this.atMost(ARRIVE_MS, answered);
    this.bodies.refuse(new StoppingError());
    await this.atMost(STOP_MS - ARRIVE_MS, answered);
    await this.atMost(LINGER_MS, alone);
    const closed = this.app.close();
    // Answers have been handed to the sockets; one turn lets them reach the kernel before idle sockets are closed.
    await new Promise<void>((resolve) => timers.soon(resolve));
    this.destroySockets();
    await closed;
    hold.cancel();
  }

  private async atMost(ms: number, work: Promise<void> | undefined): Promise<void> {
    let isOver = (): void => undefined;
    const over = new Promise<void>((resolve) => {
      isOver = resolve;
    });
    const timer = this.world.timers.after(ms, isOver);
    await Promise.race([work, over]);
    timer.cancel();
  }

  private destroySockets(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private route(
    { method, path, scope }: Pick<AnyOperation | Page, 'method' | 'path' | 'scope'>,
    name: RouteName,
  ): void {
    const isPage = !isOperation(name);
    const handler: RouteHandlerMethod = (request, reply) => {
      reply.hijack();
      const exchange = this.exchange(request, reply.raw);
      if (!isDecodable(request.url)) return exchange.refuse(GARBLED);
      if (isPage && isPast(request.query)) return exchange.refuse(NO_MOMENT);
      try {
        this.handlers[name](exchange, request as unknown as Arrival);
      } catch (fault) {
        refuseFault(fault, exchange, this.reportFault);
      }
      // The body has been read; a call that waits ten minutes would keep it in memory as long.
      request.body = undefined;
    };
    const config = { scope, name };
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
    this.app.route({ method: withHead(method), url, handler, config });
  }

  /** The console uses relative URLs, so its own URL must end with a slash. */
  private redirectToFolder(basePath: string): void {
    const handler: RouteHandlerMethod = (_, reply) => reply.redirect(`${basePath}/`, 308);
    this.app.route({ method: 'GET', url: basePath, handler, config: { scope: null, name: 'console' } });
  }

  /** Runs before the body is read: a client without access must not make us read a megabyte first. */
  private readonly checkAccess: onRequestHookHandler = (request, reply, done) => {
    const { scope = null, name = 'none' } = request.routeOptions.config as Partial<RouteConfig>;
    const response = reply.raw;
    this.inFlight += 1;
    this.counts.began();
    const fromMs = this.isTalkative ? this.world.clock.monotonicMs() : 0;
    response.once('close', () => this.requestEnded(name, request, response, fromMs));
    const { caller, refusal } = this.accessControl.admit(request.raw, scope);
    callers.set(request.raw, caller);
    if (refusal === null && !this.isStopping) {
      done();
      return;
    }
    reply.hijack();
    this.exchange(request, response).refuse(refusal ?? STOPPING);
  };

  /** What live connections need of the server. `service` and `isStopping` are getters because they change. */
  private liveServer(stallMs: number): LiveServer {
    const { longReads, counts, reportFault, accessControl: access, world, hidesPayloads } = this;
    const service = (): LiveService => this.service.live;
    const isStopping = (): boolean => this.isStopping;
    return {
      get service() {
        return service();
      },
      get isStopping() {
        return isStopping();
      },
      longReads,
      counts,
      reportFault,
      stallMs,
      hidesPayloads,
      access,
      timers: world.timers,
      onAttempt: (request, id, status) => {
        counts.began();
        counts.ended('live', status);
        if (this.isTalkative || DENIED.has(status)) {
          this.logRequest('live', { id, method: 'GET', raw: request }, status, world.clock.monotonicMs());
        }
      },
    };
  }

  private exchange(request: FastifyRequest, response: ServerResponse): Exchange {
    const incoming = request.raw;
    return new Exchange(incoming, response, request.id, callers.get(incoming)!, this);
  }

  private readonly reportFault: ReportFault = (fault, { requestId, path, request }) => {
    const { logger } = this.world;
    logger.error(
      { err: fault, request_id: requestId, ...(request === undefined ? {} : traceOf(request)), path },
      'a request failed inside the server',
    );
  };

  private requestEnded(
    name: string,
    request: FastifyRequest,
    response: ServerResponse,
    fromMs: number,
  ): void {
    const { statusCode } = response;
    this.inFlight -= 1;
    this.counts.ended(name, statusCode);
    if (this.isTalkative || DENIED.has(statusCode)) this.logRequest(name, request, statusCode, fromMs);
    if (this.inFlight === 0) this.whenQuiet?.();
  }

  /** Who was refused: the name of the token, and the address that a trusted proxy gave. */
  private whoIs(raw: IncomingMessage): { readonly token?: string; readonly client?: string } {
    const caller = callers.get(raw) ?? ANONYMOUS;
    const client = this.accessControl.forwardedFrom(raw);
    return {
      ...(caller === ANONYMOUS ? {} : { token: caller.name }),
      ...(client === null ? {} : { client }),
    };
  }

  /** Logs every request at level debug, and refused access at level warn. */
  private logRequest(
    operation: string,
    { id, method, raw }: Pick<FastifyRequest, 'id' | 'method' | 'raw'>,
    status: number,
    fromMs: number,
  ): void {
    const { logger, clock } = this.world;
    const path = pathOf(raw.url);
    const fields = {
      request_id: id,
      ...traceOf(raw),
      operation,
      method,
      path,
      status,
      peer: raw.socket.remoteAddress,
    };
    if (DENIED.has(status)) logger.warn({ ...fields, ...this.whoIs(raw) }, 'turned away');
    else logger.debug({ ...fields, ms: Math.round(clock.monotonicMs() - fromMs) }, 'answered');
  }
}

/**
 * The HTTP side of the server: Fastify on raw bodies. Every error of Fastify, Node's parser or a socket becomes a problem.
 * Node's own timers cut slow and half-open connections.
 */
import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerOptions as NodeOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createTlsServer, type ServerOptions as TlsOptions } from 'node:https';
import type { Server, Socket } from 'node:net';
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify';
import type { Refusal } from '../core/refusals.ts';
import { PAGES } from '../operations/pages.ts';
import { OPERATIONS } from '../operations/table.ts';
import { LIMITS } from '../protocol/limits.ts';
import { problem } from '../protocol/problem.ts';
import type { Timer, Timers } from '../seams/clock.ts';
import type { Bodies } from './body-bytes.ts';
import { limitConnections } from './connection-limit.ts';
import type { HttpCounts } from './http-counts.ts';
import type { Logger } from './logger.ts';
import { StoppingError } from './long-polls.ts';
import { Pipelines } from './pipelines.ts';
import { PROBLEM_TYPE, problemHeaders, problemText } from './problem-text.ts';
import { pathOf } from './request-bytes.ts';
import { onUpgrade } from './upgrades.ts';

/** The timeouts of a connection. Tests use shorter ones. */
export interface Timeouts {
  readonly headersMs: number;
  readonly requestMs: number;
  readonly keepAliveMs: number;
  /** How long a client may stop reading a long answer. */
  readonly stallMs: number;
  /** How often the timeouts of heads and requests are checked. */
  readonly checkMs: number;
}

export const TIMEOUTS: Timeouts = {
  headersMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 75_000,
  stallMs: 60_000,
  checkMs: 5_000,
};
const HEADER_BYTES_MAX = 16 * 1024;

export interface ListenerWorld {
  readonly newToken: () => string;
  readonly logger: Logger;
  readonly timers: Timers;
}

export interface ListenerOptions {
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly timeouts?: Partial<Timeouts>;
  readonly connectionsMax?: number;
  readonly basePath?: string;
}

export function makeListener(
  { tls, timeouts, connectionsMax, basePath = '' }: ListenerOptions,
  { newToken, logger, timers }: ListenerWorld,
  counts: HttpCounts,
  bodies: Bodies,
  upgrade: (request: IncomingMessage, socket: Socket, head: Buffer, requestId: string) => void,
): FastifyInstance {
  const { headersMs, requestMs, keepAliveMs, checkMs } = { ...TIMEOUTS, ...timeouts };
  const nextId = requestIds(newToken);
  const condemned = new WeakSet<Socket>();
  const answer: typeof sendProblem = (request, reply, refusal) => {
    counts.refused(refusal.refused);
    return sendProblem(request, reply, refusal);
  };
  let pipelines: Pipelines;
  const http: NodeOptions = {
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkMs,
    keepAliveTimeout: keepAliveMs,
    // Node's own answer to a missing Host header is not problem+json. Access control refuses it instead.
    requireHostHeader: false,
    noDelay: true,
  };
  const app = fastify({
    serverFactory: (handle: (request: IncomingMessage, response: ServerResponse) => void) => {
      pipelines = new Pipelines(timers, basePath === '' ? handle : below(basePath, handle));
      const server =
        tls === undefined
          ? createServer(http, pipelines.take)
          : createTlsServer({ ...http, ...tls, allowHalfOpen: true } as TlsOptions, pipelines.take);
      // A client that has closed its sending side is answered before the connection is closed.
      (server as HttpServer & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
      return server;
    },
    logger: false,
    genReqId: (request: IncomingMessage) => keptId(request) ?? nextId(),
    return503OnClosing: false,
    exposeHeadRoutes: false,
    forceCloseConnections: false,
    // The request check refuses names that are too long, with a sentence.
    routerOptions: { maxParamLength: HEADER_BYTES_MAX },
    frameworkErrors: (fault: FastifyError, request: FastifyRequest, reply: FastifyReply) =>
      answer(request, reply, refusalOf(fault)),
    clientErrorHandler: (fault: NodeJS.ErrnoException, socket: Socket) => {
      // Every further piece of a malformed request raises the error again.
      if (condemned.has(socket)) return;
      // We have stopped reading from this connection, so its client is not late.
      if (fault.code === 'ERR_HTTP_REQUEST_TIMEOUT' && pipelines.isFull(socket)) return;
      condemned.add(socket);
      counts.refusedEarly();
      condemn(socket, pipelines.lastOwed(socket), earlyRefusal(fault), nextId());
    },
  } as Parameters<typeof fastify>[0]) as unknown as FastifyInstance;

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', (_request: FastifyRequest, stream: IncomingMessage, done) => {
    const { 'content-encoding': coding = '' } = stream.headers;
    if (coding === '' || coding.toLowerCase() === 'identity') bodies.take(stream, LIMITS.bodyBytes, done);
    else done(new CodedBodyError());
  });
  app.setErrorHandler((fault: FastifyError, request, reply) => {
    const refusal = refusalOf(fault);
    if (refusal.refused === 'INTERNAL') {
      logger.error(
        { err: fault, request_id: request.id, path: request.url },
        'a request failed inside the server',
      );
    }
    return answer(request, reply, refusal);
  });
  app.setNotFoundHandler((request, reply) => {
    const methods = methodsOf(pathOf(request.url));
    if (methods.length === 0) return answer(request, reply, { refused: 'ROUTE_NOT_FOUND' });
    reply.header('allow', methods.join(', '));
    const detail = `The path takes ${methods.join(' and ')}, not ${request.method}.`;
    return answer(request, reply, { refused: 'METHOD_NOT_ALLOWED', detail });
  });
  app.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const refusal: Refusal = {
      refused: 'INVALID_ARGUMENT',
      detail: 'The Expect header is not supported, except 100-continue.',
    };
    counts.refused(refusal.refused);
    answerPlainly(response, refusal, pathOf(request.url), keptId(request) ?? nextId());
  });
  app.server.on('connect', (request: IncomingMessage, socket: Socket) => {
    // Node has detached the socket, including its own error listener.
    socket.on('error', () => socket.destroy());
    const refusal: Refusal = { refused: 'METHOD_NOT_ALLOWED', detail: 'This server is not a proxy.' };
    counts.refused(refusal.refused);
    answerSocket(socket, refusal, '/', keptId(request) ?? nextId(), `allow: ${METHODS.join(', ')}`);
  });
  if (basePath !== '') app.server.on('upgrade', (request: IncomingMessage) => strip(basePath, request));
  onUpgrade(
    app.server as HttpServer,
    (socket) => pipelines.lastOwed(socket),
    (request, socket, head) => upgrade(request, socket, head, keptId(request) ?? nextId()),
  );
  if (tls !== undefined) limitHandshakes(app.server, timers, headersMs);
  if (connectionsMax !== undefined) limitConnections(app.server, connectionsMax, { logger, timers }, counts);
  return app;
}

/** Removes the base path from URLs, for a proxy that does not remove it. */
function below(
  basePath: string,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): typeof handle {
  return (request, response) => {
    strip(basePath, request);
    handle(request, response);
  };
}

function strip(basePath: string, request: IncomingMessage): void {
  if (request.url?.startsWith(`${basePath}/`)) request.url = request.url.slice(basePath.length);
}

class CodedBodyError extends Error {
  readonly code = 'CODED_BODY';
}

/** Node's own handshake timeout restarts with every byte received. */
function limitHandshakes(server: Server, timers: Timers, limitMs: number): void {
  const pending = new Map<string, Timer>();
  const end = (peer: string): void => {
    pending.get(peer)?.cancel();
    pending.delete(peer);
  };
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    pending.set(
      peer,
      timers.after(limitMs, () => socket.destroy()),
    );
    socket.once('close', () => end(peer));
  });
  server.on('secureConnection', (socket: Socket) => end(peerOf(socket)));
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** The client's own request id, if it is safe to put into a header and a log line. */
function keptId({ headers }: IncomingMessage): string | undefined {
  const id = headers['x-request-id'];
  return typeof id === 'string' && /^[\x21-\x7e]{1,128}$/.test(id) ? id : undefined;
}

/** A random prefix and a counter: unique across servers and restarts, and cheap. */
function requestIds(newToken: () => string): () => string {
  const prefix = newToken().slice(0, 8);
  let count = 0;
  return () => {
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}

function refusalOf(fault: FastifyError | StoppingError): Refusal {
  if (fault instanceof StoppingError) return { refused: 'UNAVAILABLE', detail: fault.message };
  switch (fault.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return { refused: 'PAYLOAD_TOO_LARGE', detail: `The body may have ${LIMITS.bodyBytes} bytes.` };
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return { refused: 'UNSUPPORTED_MEDIA_TYPE', detail: 'The body must be sent as application/json.' };
    case 'CODED_BODY':
      return {
        refused: 'UNSUPPORTED_MEDIA_TYPE',
        detail: 'The body must be sent without a Content-Encoding.',
      };
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return {
        refused: 'INVALID_ARGUMENT',
        detail: 'The length of the body does not match its Content-Length.',
      };
    case 'FST_ERR_BAD_URL':
      return { refused: 'INVALID_ARGUMENT', detail: 'The path is not well formed.' };
    default: {
      const status = fault.statusCode ?? 500;
      return status < 500 ? { refused: 'INVALID_ARGUMENT', detail: fault.message } : { refused: 'INTERNAL' };
    }
  }
}

function sendProblem(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): FastifyReply {
  const told = problem(refusal);
  return reply
    .code(told.status)
    .headers({ ...problemHeaders(told), 'x-request-id': request.id })
    .type(PROBLEM_TYPE)
    .send(Buffer.from(problemText(told, pathOf(request.url), request.id)));
}

function earlyRefusal({ code, reason }: NodeJS.ErrnoException & { reason?: string }): Refusal | null {
  switch (code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return null;
    case 'HPE_HEADER_OVERFLOW':
      return { refused: 'HEADERS_TOO_LARGE', detail: `The headers may have ${HEADER_BYTES_MAX} bytes.` };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { refused: 'REQUEST_TIMEOUT' };
    default:
      // The parser says what it stumbled over, such as the first bytes of TLS.
      return {
        refused: 'INVALID_ARGUMENT',
        detail: `The request is not well-formed HTTP/1.1${reason === undefined ? '' : `: ${reason}`}.`,
      };
  }
}

/**
 * Ends a connection that sent a malformed request. Earlier requests of the connection are answered first: they have taken
 * effect, and a refusal in their place would be wrong. In the middle of a stream the connection is just closed.
 */
function condemn(
  socket: Socket,
  owed: ServerResponse | undefined,
  refusal: Refusal | null,
  requestId: string,
): void {
  if (owed === undefined) answerSocket(socket, refusal, '/', requestId);
  else if (refusal === null || owed.headersSent) socket.destroy();
  else owed.once('finish', () => answerSocket(socket, refusal, '/', requestId));
}

function answerPlainly(response: ServerResponse, refusal: Refusal, path: string, requestId: string): void {
  const told = problem(refusal);
  const text = problemText(told, path, requestId);
  const headers = {
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(text),
    'x-request-id': requestId,
    connection: 'close',
  };
  response.writeHead(told.status, headers).end(text);
}

/** Answers on a socket without a response, then closes the connection. `path` is `/` where none is known. */
export function answerSocket(
  socket: Socket,
  refusal: Refusal | null,
  path: string,
  requestId: string,
  ...more: string[]
): void {
  if (refusal === null || !socket.writable) {
    socket.destroy();
    return;
  }
  const told = problem(refusal);
  const text = problemText(told, path, requestId);
  const head = [
    `HTTP/1.1 ${told.status} ${STATUS_CODES[told.status]}`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${Buffer.byteLength(text)}`,
    `x-request-id: ${requestId}`,
    ...Object.entries(problemHeaders(told)).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
    ...more,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy());
}

const PATTERNS = [...Object.values(OPERATIONS), ...Object.values(PAGES)].map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

const METHODS = [...new Set(PATTERNS.flatMap(({ method }) => withHead(method)))];

/** A path that takes GET takes HEAD too: Node leaves out the body. */
export function withHead(method: string): string[] {
  return method === 'GET' ? [method, 'HEAD'] : [method];
}

/** The methods that a path takes, for a 405. */
function methodsOf(path: string): string[] {
  const methods = PATTERNS.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  return [...new Set(methods.flatMap(withHead))];
}

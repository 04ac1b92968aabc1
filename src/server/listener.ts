/**
 * The HTTP side of the server: Fastify on raw bodies, with every error it, Node's parser or a socket can make
 * turned into a problem. Slow and half-open connections are cut by Node's own timers and cost nothing lasting.
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

/** How long a connection may take for what; tests are less patient. */
export interface Timeouts {
  readonly headersMs: number;
  readonly requestMs: number;
  readonly keepAliveMs: number;
  /** How long a client may read nothing of a long answer. */
  readonly stallMs: number;
  /** How often it is looked after heads and requests. */
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
    // Node's own answer to a missing Host header is no problem; access control gives a better one.
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
    // Names that are too long are refused by the check, which says so in a sentence.
    routerOptions: { maxParamLength: HEADER_BYTES_MAX },
    frameworkErrors: (fault: FastifyError, request: FastifyRequest, reply: FastifyReply) =>
      answer(request, reply, refusalOf(fault)),
    clientErrorHandler: (fault: NodeJS.ErrnoException, socket: Socket) => {
      // Every further piece of the same rubbish is an error again.
      if (condemned.has(socket)) return;
      // The rest of a request that we do not read is not late.
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
      detail: 'The Expect header asks for something unknown.',
    };
    counts.refused(refusal.refused);
    answerPlainly(response, refusal, pathOf(request.url), keptId(request) ?? nextId());
  });
  app.server.on('connect', (request: IncomingMessage, socket: Socket) => {
    const refusal: Refusal = { refused: 'METHOD_NOT_ALLOWED', detail: 'This server is no proxy.' };
    answerSocket(socket, refusal, keptId(request) ?? nextId(), `allow: ${METHODS.join(', ')}`);
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

/** Removes the prefix of a proxy that does not remove it itself. */
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

/** Node's own limit begins anew with every byte that comes. */
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

/** An id the client brought is kept when it is fit to stand in a header and a log. */
function keptId({ headers }: IncomingMessage): string | undefined {
  const id = headers['x-request-id'];
  return typeof id === 'string' && /^[\x21-\x7e]{1,128}$/.test(id) ? id : undefined;
}

/** Random once, then counted: unique in every log, and cheap. */
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
        detail: 'The body must be sent as it is, without a coding.',
      };
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return { refused: 'INVALID_ARGUMENT', detail: 'The body is not as long as its Content-Length says.' };
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

function earlyRefusal({ code }: NodeJS.ErrnoException): Refusal | null {
  switch (code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return null;
    case 'HPE_HEADER_OVERFLOW':
      return { refused: 'HEADERS_TOO_LARGE', detail: `The headers may have ${HEADER_BYTES_MAX} bytes.` };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { refused: 'REQUEST_TIMEOUT' };
    default:
      return { refused: 'INVALID_ARGUMENT', detail: 'This is not HTTP as we know it.' };
  }
}

/**
 * Ends a connection on which rubbish came. What was asked before is answered first: its effect has been had, and
 * a refusal in its place would be a lie. In the midst of a stream nothing else can be said.
 */
function condemn(
  socket: Socket,
  owed: ServerResponse | undefined,
  refusal: Refusal | null,
  requestId: string,
): void {
  if (owed === undefined) answerSocket(socket, refusal, requestId);
  else if (refusal === null || owed.headersSent) socket.destroy();
  else owed.once('finish', () => answerSocket(socket, refusal, requestId));
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

/** Answers where there is no request yet; the connection is of no use afterwards. */
export function answerSocket(
  socket: Socket,
  refusal: Refusal | null,
  requestId: string,
  ...more: string[]
): void {
  if (refusal === null || !socket.writable) {
    socket.destroy();
    return;
  }
  const told = problem(refusal);
  const text = problemText(told, '/', requestId);
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

/** A path that takes GET takes HEAD: Node leaves out the body by itself. */
export function withHead(method: string): string[] {
  return method === 'GET' ? [method, 'HEAD'] : [method];
}

/** What a path would take, for those who came with another method. */
function methodsOf(path: string): string[] {
  const methods = PATTERNS.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  return [...new Set(methods.flatMap(withHead))];
}

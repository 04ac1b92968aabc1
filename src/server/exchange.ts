/**
 * One request and its answer, independent of the framework: the caller, the request id, whether the client is still
 * connected, and the ways to answer. Every JSON answer over HTTP is sent from here.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Refusal } from '../core/refusals.ts';
import { type Problem, problem } from '../protocol/problem.ts';
import type { HttpCounts } from './http-counts.ts';
import type { LongReads } from './long-reads.ts';
import { PROBLEM_TYPE, problemHeaders, problemText } from './problem-text.ts';
import { pathOf } from './request-bytes.ts';
import { type Caller, may } from './scopes.ts';

/** Longer texts are encoded once up front; a shorter text is sent with its head as a single string. */
const SHORT_TEXT = 16_384;
const JSON_TYPE = 'application/json; charset=utf-8';

/** What all exchanges of a server share. */
export interface ExchangeContext {
  /** While the server is stopping, answers carry `connection: close`. */
  readonly isStopping: boolean;
  /** Whether opaque values are shown only to callers with the scope v1:write. */
  readonly hidesPayloads?: boolean;
  readonly counts: Pick<HttpCounts, 'refused'>;
  readonly longReads: Pick<LongReads, 'sending'>;
}

export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly caller: Caller;
  private readonly context: ExchangeContext;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    caller: Caller,
    context: ExchangeContext,
  ) {
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.caller = caller;
    this.context = context;
  }

  /** The connection is closed, so the answer cannot be sent. */
  readonly isGone = (): boolean => this.response.destroyed || !this.request.socket.writable;

  /**
   * Nothing may be granted to this client: its connection is closed or half-closed. A client that died is seen only as
   * half-closed. A field, so that a grant needs no closure of its own.
   */
  readonly isLeaving = (): boolean => this.isGone() || this.request.socket.readableEnded;

  /** Calls when the client closes its side of the connection or its token is revoked; at once if that already happened. */
  onLeaving(call: () => void): void {
    const { socket } = this.request;
    if (socket.readableEnded) return call();
    socket.once('end', call);
    const forget = this.caller.revocation.onRevoked(call);
    this.response.once('close', () => {
      socket.off('end', call);
      forget();
    });
  }

  /** Whether its answers leave out payloads, results, values, checkpoints and metadata. */
  get hidesOpaques(): boolean {
    return this.context.hidesPayloads === true && !may(this.caller, 'v1:write');
  }

  get path(): string {
    return pathOf(this.request.url);
  }

  json(status: number, body: string | Uint8Array, outcome?: string): void {
    this.answer(
      status,
      JSON_TYPE,
      body,
      outcome === undefined ? undefined : { 'leasehold-outcome': outcome },
    );
  }

  refuse(refusal: Refusal): void {
    this.problem(problem(refusal));
  }

  problem(problem: Problem, headers?: Record<string, string>): void {
    this.context.counts.refused(problem.code);
    const text = problemText(problem, this.path, this.requestId);
    this.answer(problem.status, PROBLEM_TYPE, text, { ...problemHeaders(problem), ...headers });
  }

  answer(status: number, type: string, body: string | Uint8Array, headers?: Record<string, string>): void {
    const { response } = this;
    if (response.headersSent || response.destroyed) return;
    const isLong = body.length > SHORT_TEXT;
    const content = isLong && typeof body === 'string' ? Buffer.from(body) : body;
    const length = typeof content === 'string' ? Buffer.byteLength(content) : content.length;
    response.writeHead(status, {
      'content-type': type,
      'content-length': length,
      'x-request-id': this.requestId,
      ...(this.context.isStopping ? { connection: 'close' } : undefined),
      ...headers,
    });
    if (isLong) this.context.longReads.sending(response, length);
    response.end(content);
  }
}

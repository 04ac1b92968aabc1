/**
 * Sends one HTTP request to the current server: address, headers, timeout. With several servers it stays with one until
 * that fails or refuses as not the leader, then moves to the leader or to the next server. Only servers passed to
 * `connect` are used: the token is never sent to an address that a server names.
 */
import type { Timers } from '../seams/clock.ts';
import {
  type Http,
  type HttpReply,
  type HttpRequest,
  type HttpStream,
  httpFault,
  isHttpFault,
} from '../seams/http.ts';
import type { LinkTarget } from './live-link.ts';

export interface ServerAddress {
  readonly origin: string;
  /** The prefix of every path, without a trailing slash. */
  readonly prefix: string;
}

/** A request without the fields that the wire adds. */
export type Ask = Pick<HttpRequest, 'lane' | 'method' | 'path' | 'body'> & {
  readonly signal?: AbortSignal;
  readonly requestId?: string;
};

/** The statuses of a proxy that gets no answer; the server itself answers with a problem. */
const GATEWAY_STATUSES = [502, 503, 504];
/** The codes in a problem after which another server may be able to answer. */
const GOES_ELSEWHERE = /"(NOT_LEADER|UNAVAILABLE)"/;

const decoder = new TextDecoder();

export class Wire {
  readonly #http: Http;
  readonly #timers: Timers;
  readonly #servers: readonly ServerAddress[];
  readonly #token: string | null;
  readonly #headers: Readonly<Record<string, string>>;
  #current = 0;

  constructor(http: Http, timers: Timers, servers: readonly ServerAddress[], token: string | null) {
    this.#http = http;
    this.#timers = timers;
    this.#servers = servers;
    this.#token = token;
    this.#headers = token === null ? {} : { authorization: `Bearer ${token}` };
  }

  /** The current server, for messages. */
  get server(): string {
    return this.#nameOf(this.#current);
  }

  /** The index of the current server, for `judge`. */
  get current(): number {
    return this.#current;
  }

  /** The target of a live connection to the current server. */
  get liveTarget(): LinkTarget {
    const { server, current: index } = this;
    return { index, server, url: server.replace(/^http/, 'ws'), token: this.#token };
  }

  #nameOf(index: number): string {
    const { origin, prefix } = this.#servers[index]!;
    return origin + prefix;
  }

  async send(ask: Ask, timeoutMs: number): Promise<HttpReply> {
    const index = this.#current;
    const { server } = this;
    const limit = new AbortController();
    const giveUp = (): void => {
      limit.abort(httpFault(`${server} did not answer within ${timeoutMs} ms.`, 'unknown', true));
    };
    const timer = this.#timers.after(timeoutMs, giveUp);
    const unlink = link(ask.signal, limit);
    try {
      const reply = await this.#http.send(this.#request(index, ask, limit.signal));
      this.judge(reply, index);
      return reply;
    } catch (fault) {
      if (isHttpFault(fault)) this.moveOn(index);
      throw fault;
    } finally {
      timer.cancel();
      unlink();
    }
  }

  async stream(ask: Ask & { readonly signal: AbortSignal }): Promise<HttpStream> {
    const index = this.#current;
    try {
      return await this.#http.stream(this.#request(index, ask, ask.signal));
    } catch (fault) {
      if (isHttpFault(fault)) this.moveOn(index);
      throw fault;
    }
  }

  #request(index: number, { lane, method, path, body, requestId }: Ask, signal: AbortSignal): HttpRequest {
    const { origin, prefix } = this.#servers[index]!;
    const headers = { ...this.#headers };
    if (body !== null) headers['content-type'] = 'application/json';
    if (requestId !== undefined) headers['x-request-id'] = requestId;
    return { lane, method, origin, path: prefix + path, headers, body, signal };
  }

  /** Moves to another server if this reply says that the one it came from cannot answer. */
  judge(reply: HttpReply, index: number): void {
    if (!GATEWAY_STATUSES.includes(reply.status)) return;
    if (!reply.header('content-type')?.includes('json')) {
      this.moveOn(index);
      throw httpFault(`A gateway before ${this.#nameOf(index)} answered ${reply.status}.`, 'unknown');
    }
    if (GOES_ELSEWHERE.test(decoder.decode(reply.body))) this.moveOn(index, reply.header('leasehold-leader'));
  }

  /** Only the first failing call switches servers; later ones see that it has changed. */
  moveOn(index: number, leader?: string | null): void {
    if (this.#current !== index) return;
    const named = this.#servers.findIndex(({ origin, prefix }) => origin + prefix === leader);
    this.#current = (named < 0 ? index + 1 : named) % this.#servers.length;
  }
}

export function link(signal: AbortSignal | undefined, controller: AbortController): () => void {
  if (signal === undefined) return () => undefined;
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}

/**
 * The seam between the client and the network: one request and its reply, or a reply that keeps coming. Who
 * implements it decides about sockets and TLS and nothing else; retries, time limits and meaning are ours.
 */

/**
 * Each lane has connections of its own, so that renewals never stand behind a large batch, and calls that
 * wait for minutes never keep others from leaving. As many calls may wait at once as there are.
 */
export type Lane = 'calls' | 'waits' | 'renewals';

export interface HttpRequest {
  readonly lane: Lane;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Scheme, host and port, without a slash behind them. */
  readonly origin: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Ends the request and its connection; it then rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

export interface HttpReply {
  readonly status: number;
  /** By its name in small letters; null when the reply has none. */
  header(name: string): string | null;
  /** UTF-8. */
  readonly body: Uint8Array;
}

export interface HttpStream {
  readonly status: number;
  header(name: string): string | null;
  /** Text as it comes, cut anywhere. Whoever stops reading ends the connection. */
  readonly chunks: AsyncIterable<string>;
}

/** What every rejection is that is not the reason of an aborted signal. Its message is a sentence that names the server. */
export interface HttpFault extends Error {
  readonly name: 'HttpFault';
  /** 'none': the request has not left. 'unknown': it may have reached the server. */
  readonly effect: 'none' | 'unknown';
  /** An answer was waited for, for as long as anybody should. */
  readonly isLate?: boolean;
}

export interface Http {
  send(request: HttpRequest): Promise<HttpReply>;
  stream(request: HttpRequest): Promise<HttpStream>;
  /** Lets go of all connections; whatever is still under way rejects. */
  close(): Promise<void>;
}

export function httpFault(message: string, effect: HttpFault['effect'], isLate = false): HttpFault {
  return Object.assign(new Error(message), { name: 'HttpFault', effect, isLate } as const);
}

export function isHttpFault(fault: unknown): fault is HttpFault {
  return fault instanceof Error && fault.name === 'HttpFault';
}

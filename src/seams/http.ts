/**
 * The seam between the client and the network: one request and its reply, or a streamed reply. The implementation
 * handles sockets and TLS only. Retries, timeouts and meaning belong to the client.
 */

/**
 * Each lane has its own connections, so that renewals never queue behind other calls and long polls never block
 * them. The number of concurrent long polls is not limited.
 */
export type Lane = 'calls' | 'waits' | 'renewals';

export interface HttpRequest {
  readonly lane: Lane;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Scheme, host and port, without a trailing slash. */
  readonly origin: string;
  /** Path and query, percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Aborts the request and closes its connection. The request rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

export interface HttpReply {
  readonly status: number;
  /** Looked up by lower-case name; null when the reply has none. */
  header(name: string): string | null;
  /** UTF-8. */
  readonly body: Uint8Array;
}

export interface HttpStream {
  readonly status: number;
  header(name: string): string | null;
  /** Text as it arrives, split anywhere. Breaking out of the iteration closes the connection. */
  readonly chunks: AsyncIterable<string>;
}

/** Every rejection except that of an aborted signal. Its message is a sentence that names the server. */
export interface HttpFault extends Error {
  readonly name: 'HttpFault';
  /** 'none': the request was not sent. 'unknown': it may have reached the server. */
  readonly effect: 'none' | 'unknown';
  /** The request timed out waiting for an answer. */
  readonly isLate?: boolean;
}

export interface Http {
  send(request: HttpRequest): Promise<HttpReply>;
  stream(request: HttpRequest): Promise<HttpStream>;
  /** Closes all connections. Requests in flight reject. */
  close(): Promise<void>;
}

export function httpFault(message: string, effect: HttpFault['effect'], isLate = false): HttpFault {
  return Object.assign(new Error(message), { name: 'HttpFault', effect, isLate } as const);
}

export function isHttpFault(fault: unknown): fault is HttpFault {
  return fault instanceof Error && fault.name === 'HttpFault';
}

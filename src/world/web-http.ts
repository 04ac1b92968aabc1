/**
 * HTTP for clients in browsers, by `fetch`. A browser manages its own connections, so lanes have no effect; over
 * HTTP/1.1 it opens about six per server, and long polls occupy them. It does not tell why a request failed, so any
 * request may have reached the server.
 */
import type { Http, HttpFault, HttpRequest } from '../seams/http.ts';

export const webHttp: Http = {
  async send(request) {
    const response = await open(request);
    const body = new Uint8Array(await guarded(request, response.arrayBuffer()));
    return { status: response.status, header: (name) => response.headers.get(name), body };
  },

  async stream(request) {
    const response = await open(request);
    return {
      status: response.status,
      header: (name) => response.headers.get(name),
      chunks: chunksOf(request, response),
    };
  },

  async close() {},
};

function open(request: HttpRequest): Promise<Response> {
  const { method, headers, body, signal } = request;
  // A separate variable, because the types of Node lack `cache`.
  const init = {
    method,
    headers,
    body,
    signal,
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
  } as const;
  return guarded(request, fetch(request.origin + request.path, init));
}

async function* chunksOf(request: HttpRequest, { body }: Response): AsyncIterable<string> {
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await guarded(request, reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    // Cancelling closes the connection. A stream that has failed has nothing to cancel.
    reader.cancel().catch(() => undefined);
  }
}

async function guarded<T>({ origin, signal }: HttpRequest, step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (cause) {
    throw signal.aborted ? signal.reason : faultOf(origin, cause);
  }
}

function faultOf(origin: string, cause: unknown): HttpFault {
  const fault = new Error(`${origin} could not be reached.`, { cause });
  return Object.assign(fault, { name: 'HttpFault', effect: wasRefused(cause) ? 'none' : 'unknown' } as const);
}

/** Whether the connection was refused, so that nothing was sent; where `fetch` reports that, as on Node. */
function wasRefused(cause: unknown): boolean {
  const inner = cause instanceof Error ? (cause.cause as { code?: string } | undefined) : undefined;
  return inner?.code === 'ECONNREFUSED';
}

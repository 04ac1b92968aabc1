/**
 * HTTP for clients in browsers, by `fetch`. A browser keeps its own connections and decides how many there are,
 * so lanes mean nothing here; over HTTP/1.1 it opens about six to a server, and calls that wait take them up.
 * It also does not tell why a request failed, so that any of them may have reached the server.
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
  // A name of its own, because the types of Node do not know `cache`, and browsers do.
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
    // Whoever stops reading ends the connection; a stream that has failed already has nothing left to cancel.
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

/** Where `fetch` does tell, as on Node: a connection that was refused carried nothing. */
function wasRefused(cause: unknown): boolean {
  const inner = cause instanceof Error ? (cause.cause as { code?: string } | undefined) : undefined;
  return inner?.code === 'ECONNREFUSED';
}

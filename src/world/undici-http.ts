/**
 * HTTP for clients on Node: a pool of keep-alive connections per lane. Undici is loaded with the first client,
 * because programs that only open a data directory do not need it. Timeouts come from the caller's signal: a long
 * poll may take ten minutes, so undici's own are off.
 */
import type { Dispatcher, Pool } from 'undici';
import type { Http, HttpFault, HttpReply, HttpRequest, Lane } from '../seams/http.ts';

export interface UndiciHttpOptions {
  /** Certificates in PEM to trust instead of Node's own. */
  readonly ca?: string;
}

type Undici = typeof import('undici');
type Headers = Readonly<Record<string, string | string[] | undefined>>;

const CONNECT_TIMEOUT_MS = 5_000;
const USER_AGENT = 'leasehold';

/** Null: one per call. */
const CONNECTIONS: Readonly<Record<Lane, number | null>> = { calls: 32, waits: null, renewals: 4 };

export function undiciHttp(options: UndiciHttpOptions = {}): Http {
  // With invalid certificates every connection would fail without a clear reason.
  if (options.ca !== undefined && !/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/.test(String(options.ca)))
    throw new TypeError('The option ca must hold certificates in PEM.');
  const loading = import('undici');
  const pools = new Map<string, Pool>();
  let isClosed = false;

  const poolOf = ({ Pool }: Undici, { origin, lane }: HttpRequest): Pool => {
    if (isClosed) throw faultOf(origin, new Error('the client has been closed'), false);
    const key = `${lane} ${origin}`;
    let pool = pools.get(key);
    if (pool === undefined) {
      pool = new Pool(origin, {
        connections: CONNECTIONS[lane],
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: { timeout: CONNECT_TIMEOUT_MS, ...options },
      });
      pools.set(key, pool);
    }
    return pool;
  };

  return {
    async send(request) {
      const pool = poolOf(await loading, request);
      return await new Promise<HttpReply>((resolve, reject) => {
        pool.dispatch(dispatchOptions(request), new Exchange(request, resolve, reject));
      });
    },

    async stream(request) {
      const pool = poolOf(await loading, request);
      const { origin, signal } = request;
      try {
        const { statusCode, headers, body } = await pool.request({ ...dispatchOptions(request), signal });
        return { status: statusCode, header: headerOf(headers), chunks: chunksOf(body, request) };
      } catch (fault) {
        throw signal.aborted ? signal.reason : faultOf(origin, fault, true);
      }
    },

    async close() {
      isClosed = true;
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
    },
  };
}

function dispatchOptions({ method, path, headers, body }: HttpRequest): Dispatcher.DispatchOptions {
  return { method, path, headers: { 'user-agent': USER_AGENT, ...headers }, body };
}

/** One request and its reply. Undici's promises do not tell whether the request was sent. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: HttpRequest;
  readonly #resolve: (reply: HttpReply) => void;
  readonly #reject: (fault: unknown) => void;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | null = null;
  #status = 0;
  #headers: Headers = {};

  constructor(request: HttpRequest, resolve: (reply: HttpReply) => void, reject: (fault: unknown) => void) {
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
    const { signal } = request;
    if (signal.aborted) this.#abort();
    else signal.addEventListener('abort', this.#abort, { once: true });
  }

  readonly #abort = (): void => {
    const { reason } = this.#request.signal;
    this.#reject(reason);
    this.#controller?.abort(reason);
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const { signal } = this.#request;
    if (signal.aborted) controller.abort(signal.reason);
    else this.#controller = controller;
  }

  onResponseStart(_: unknown, status: number, headers: Headers): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#end();
    const body = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#resolve({ status: this.#status, header: headerOf(this.#headers), body });
  }

  onResponseError(_: unknown, fault: Error): void {
    this.#end();
    this.#reject(faultOf(this.#request.origin, fault, this.#controller !== null));
  }

  #end(): void {
    this.#request.signal.removeEventListener('abort', this.#abort);
  }
}

async function* chunksOf(
  body: AsyncIterable<Uint8Array>,
  { origin, signal }: HttpRequest,
): AsyncIterable<string> {
  // A character may be split between chunks.
  const decoder = new TextDecoder();
  try {
    for await (const chunk of body) yield decoder.decode(chunk, { stream: true });
  } catch (fault) {
    throw signal.aborted ? signal.reason : faultOf(origin, fault, true);
  }
}

function headerOf(headers: Headers): HttpReply['header'] {
  return (name) => {
    const value = headers[name];
    return value === undefined ? null : String(value);
  };
}

/** `hasLeft`: the request was passed to a connection, so it may have reached the server. */
function faultOf(origin: string, cause: unknown, hasLeft: boolean): HttpFault {
  // OpenSSL's message contains line breaks and source locations. `reason` is the readable part.
  const { code = '', message, reason } = cause as Error & { code?: string; reason?: string };
  const says = hasLeft
    ? `The connection to ${origin} broke before the answer came`
    : `No connection to ${origin} could be made`;
  const why = REASONS[code] ?? (reason || message || code);
  const fault = new Error(`${says}: ${why}.`, { cause });
  return Object.assign(fault, { name: 'HttpFault', effect: hasLeft ? 'unknown' : 'none' } as const);
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'it was reset',
  ENOTFOUND: 'the host is unknown',
  EAI_AGAIN: 'the host could not be looked up',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS; its URL may begin with http:// instead',
  UND_ERR_CONNECT_TIMEOUT: 'the host does not answer',
  UND_ERR_SOCKET: 'the server closed it',
};

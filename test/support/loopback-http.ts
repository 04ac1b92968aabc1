// HTTP without a network: requests go to an authority in the same process, and a test decides what becomes of each:
// answered, lost before it arrives, or carried out with its reply lost. What was sent stays to be looked at.

import { HttpTransport } from '../../src/client/http-transport.ts';
import type { RetryOptions } from '../../src/client/retry-schedule.ts';
import type { Transport } from '../../src/client/transport.ts';
import { memoryEngine } from '../../src/engines/memory/memory-engine.ts';
import { openCore } from '../../src/open.ts';
import { type Calls, openCalls } from '../../src/operations/calls.ts';
import { localTransport } from '../../src/operations/local-transport.ts';
import { type AnyOperation, OPERATIONS, type Operation } from '../../src/operations/table.ts';
import { jsonText } from '../../src/protocol/json.ts';
import { type Problem, problem } from '../../src/protocol/problem.ts';
import { JsonError, readJson } from '../../src/protocol/read-json.ts';
import {
  type Http,
  type HttpReply,
  type HttpRequest,
  type HttpStream,
  httpFault,
} from '../../src/seams/http.ts';
import { problemText } from '../../src/server/problem-text.ts';
import type { ManualWorld } from './manual-world.ts';

/** What becomes of a request. A reply of the test's own is given without asking the authority. */
export type Fate = 'answered' | 'refused' | 'reply lost' | 'request lost' | HttpReply;

interface Sent {
  readonly request: HttpRequest;
  /** The operation in it; none for the log. */
  readonly operations: readonly string[];
}

type Fields = Record<string, unknown>;

export class LoopbackHttp implements Http {
  readonly sent: Sent[] = [];
  /** Asked for every request, in order. */
  fate: (request: HttpRequest, operations: readonly string[]) => Fate = () => 'answered';
  /** While it holds, replies wait. */
  isHolding = false;
  isClosed = false;
  /** The authority's own way in, for looking at what became of it. */
  readonly authority: Transport;
  readonly #calls: Calls;
  readonly #held: (() => void)[] = [];

  constructor(calls: Calls, authority: Transport) {
    this.#calls = calls;
    this.authority = authority;
  }

  /** The operations of each request so far. */
  get operations(): readonly (readonly string[])[] {
    return this.sent.map(({ operations }) => operations);
  }

  letGo(): void {
    for (const go of this.#held.splice(0)) go();
  }

  async send(request: HttpRequest): Promise<HttpReply> {
    const fate = this.#note(request);
    if (typeof fate === 'object') return fate;
    // A request travels; nothing is answered in the turn it was sent in.
    await null;
    if (fate === 'refused') throw httpFault(`No connection to ${request.origin} could be made.`, 'none');
    if (fate === 'request lost') throw lost(request);
    const reply = await this.#answer(request);
    if (this.isHolding) {
      await new Promise<void>((resolve) => {
        this.#held.push(resolve);
        request.signal.addEventListener('abort', () => resolve());
      });
    }
    request.signal.throwIfAborted();
    if (fate === 'reply lost') throw lost(request);
    return reply;
  }

  #note(request: HttpRequest): Fate {
    const operations = operationsOf(request);
    this.sent.push({ request, operations });
    return this.fate(request, operations);
  }

  async #answer(request: HttpRequest): Promise<HttpReply> {
    try {
      return await this.#carryOut(request);
    } catch (fault) {
      if (!(fault instanceof JsonError)) throw fault;
      const refusal = problem({ refused: 'INVALID_ARGUMENT', detail: fault.message });
      return replyOf(400, problemText(refusal, request.path, 'r'));
    }
  }

  async #carryOut(request: HttpRequest): Promise<HttpReply> {
    if (request.path.startsWith('/v1/log')) return this.#page(request);
    const { operation, inPath } = routeOf(request)!;
    const inBody = request.body === null ? {} : (readJson(request.body) as Fields);
    const { status, text } = await this.#call(operation, { ...inBody, ...inPath }, request);
    return replyOf(status, text);
  }

  async #call(operation: Operation, fields: Fields, { path, signal }: HttpRequest) {
    const call = this.#calls[operation] as (request: Fields, options: object) => Promise<object>;
    // A call that waits ends with its connection, as it does on a server.
    const isGone = () => signal.aborted;
    const reply = await call(fields, fields.wait_ms === undefined ? { isGone } : { isGone, signal });
    if (!(reply as { ok: boolean }).ok) {
      const refusal = reply as Problem;
      return { status: refusal.status, text: problemText(refusal, path, 'r') };
    }
    const { ok: _, ...body } = reply as { ok: true };
    return { status: OPERATIONS[operation].status, text: jsonText(body) };
  }

  async #page({ path }: HttpRequest): Promise<HttpReply> {
    const query = Object.fromEntries(new URL(path, 'http://x').searchParams);
    const request = Object.fromEntries(Object.entries(query).map(([field, value]) => [field, Number(value)]));
    const page = await this.authority.log(request);
    if (!page.ok) return replyOf(page.status, problemText(page, path, 'r'));
    return replyOf(200, page.entries.map((entry) => `${jsonText(entry)}\n`).join(''));
  }

  async stream(request: HttpRequest): Promise<HttpStream> {
    const fate = this.#note(request);
    if (typeof fate === 'object') return { ...fate, chunks: inOnePiece(Buffer.from(fate.body).toString()) };
    if (fate !== 'answered') throw lost(request);
    const from = Number(new URL(request.path, 'http://x').searchParams.get('from'));
    const { authority } = this;
    const ended = new Promise<never>((_, reject) => {
      request.signal.addEventListener('abort', () => reject(request.signal.reason), { once: true });
    });
    ended.catch(() => undefined);
    async function* chunks(): AsyncIterable<string> {
      const entries = authority.follow(from, request.signal)[Symbol.asyncIterator]();
      for (;;) {
        const { done, value } = await Promise.race([entries.next(), ended]);
        request.signal.throwIfAborted();
        if (done) return;
        // Cut where it hurts: in the middle of a line.
        const line = `${jsonText(value)}\n`;
        yield line.slice(0, 20);
        yield line.slice(20);
      }
    }
    return { status: 200, header: () => null, chunks: chunks() };
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

export interface Loopback {
  readonly http: LoopbackHttp;
  readonly transport: HttpTransport;
}

/** A client over HTTP without a network, and the authority behind it. */
export async function openLoopback(
  world: ManualWorld,
  { servers = 1, retry = {} }: { readonly servers?: number; readonly retry?: RetryOptions } = {},
): Promise<Loopback> {
  const { authority, calls } = await world.finish(openCore(memoryEngine(), world));
  const opened = openCalls(calls);
  const http = new LoopbackHttp(opened, localTransport(authority, opened, world.timers));
  const addresses = Array.from({ length: servers }, (_, index) => ({
    origin: `http://server-${index}`,
    prefix: '',
  }));
  return { http, transport: new HttpTransport(http, world, { servers: addresses, token: null, retry }) };
}

export function replyOf(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): HttpReply {
  const all: Readonly<Record<string, string>> = {
    'content-type': status < 400 ? 'application/json' : 'application/problem+json',
    ...headers,
  };
  return { status, body: Buffer.from(text), header: (name) => all[name] ?? null };
}

export function problemReply(
  status: number,
  code: string,
  headers?: Readonly<Record<string, string>>,
): HttpReply {
  return replyOf(status, JSON.stringify({ code, status, title: code, detail: `It is ${code}.` }), headers);
}

function lost({ origin }: HttpRequest): Error {
  return httpFault(`The connection to ${origin} broke before the answer came.`, 'unknown');
}

async function* inOnePiece(text: string): AsyncIterable<string> {
  yield text;
}

function operationsOf(request: HttpRequest): readonly string[] {
  const route = routeOf(request);
  return route === null ? [] : [route.operation];
}

/** The operation and the fields in path and query; null for what is none. */
function routeOf({ method, path }: HttpRequest): { operation: Operation; inPath: Fields } | null {
  const { pathname, searchParams } = new URL(path, 'http://x');
  for (const [operation, route] of Object.entries(OPERATIONS) as [Operation, AnyOperation][]) {
    const match = new RegExp(`^${route.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`).exec(pathname);
    if (route.method !== method || match === null) continue;
    // A path without fields may look like one with them: /v1/tasks/lease is no task.
    if (match.groups !== undefined && Object.values(OPERATIONS).some((other) => other.path === pathname))
      continue;
    const query = [...searchParams].map(([field, value]) => [
      field,
      /_ms$|limit|from/.test(field) ? Number(value) : value,
    ]);
    const groups = Object.entries(match.groups ?? {});
    const fields = groups.map(([field, value]) => [field, decodeURIComponent(value)]);
    return { operation, inPath: { ...Object.fromEntries(query), ...Object.fromEntries(fields) } };
  }
  return null;
}

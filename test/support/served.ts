// A real server in the test's own process, on a port the system chose, and clients for it: whole requests by
// node:http, and bare sockets for what no HTTP client would send. Its clock can be moved ahead; otherwise time is real.
import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Authority } from '../../src/authority/authority.ts';
import type { Engine } from '../../src/engines/log.ts';
import { memoryEngine } from '../../src/engines/memory/memory-engine.ts';
import { type Operation, operationOf } from '../../src/operations/table.ts';
import { jsonText } from '../../src/protocol/json.ts';
import { restoreOpaque } from '../../src/protocol/live-frames.ts';
import type { Timers } from '../../src/seams/clock.ts';
import type { ServingThreads } from '../../src/seams/threads.ts';
import { PROBLEM_TYPE, problemHeaders } from '../../src/server/problem-text.ts';
import { type ServedAlone, type ServeOptions, serve } from '../../src/server/serve.ts';
import { systemTimers } from '../../src/world/system-clock.ts';
import { systemIds } from '../../src/world/system-ids.ts';
import { type LiveOptions, LiveWire } from './live-wire.ts';
import { expectWithinContract, expectWithinLive } from './wire-contract.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Any JSON of the wire, as a test reads it. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies whose shape it has just checked.
export type Body = any;

export interface CallAnswer extends Answer {
  readonly body: Body;
}

export interface Sent {
  /** Text goes as it is, everything else as JSON; a `Json` inside keeps its own text. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
  readonly signal?: AbortSignal;
}

export type ServedOptions = Partial<ServeOptions> & {
  readonly engine?: Engine;
  /** Where a test does not want to wait as long as the server does. */
  readonly timers?: Timers;
  readonly servingThreads?: ServingThreads;
};

export interface Said {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: object;
  readonly says: string;
}

const GIVE_UP_MS = 15_000;
/** Operations go over a live connection instead of HTTP, for tests that do not care how. */
const IS_LIVE = process.env.LEASEHOLD_WIRE === 'live';
const running = new Set<Served>();

export async function startServed({
  engine = memoryEngine(),
  timers = systemTimers,
  servingThreads,
  ...options
}: ServedOptions = {}): Promise<Served> {
  const clock = new MovableClock();
  const said: Said[] = [];
  const note = (level: Said['level']) => (fields: object, says: string) =>
    void said.push({ level, fields, says });
  const logger = {
    debug: note('debug'),
    info: note('info'),
    warn: note('warn'),
    error: note('error'),
    isLevelEnabled: () => true,
  };
  const world = {
    clock,
    timers,
    newToken: systemIds.token,
    hashSeed: systemIds.seed(),
    logger,
    ...(servingThreads === undefined ? {} : { servingThreads }),
  };
  const server = await serve(engine, world, { host: '127.0.0.1', port: 0, version: '0.0.0', ...options });
  const served = new Served(server, clock, said);
  running.add(served);
  return served;
}

/** For `afterEach`: nothing a test started outlives it. */
export async function stopAllServed(): Promise<void> {
  await Promise.all([...running].map((served) => served.stop()));
}

class MovableClock {
  private aheadMs = 0;
  readonly wallMs = (): number => Date.now() + this.aheadMs;
  readonly monotonicMs = (): number => performance.now() + this.aheadMs;
  readonly uptimeMs = this.monotonicMs;

  advance(ms: number): void {
    this.aheadMs += ms;
  }
}

export class Served {
  readonly url: string;
  readonly port: number;
  readonly authority: Authority;
  readonly access: ServedAlone['access'];
  readonly said: readonly Said[];
  private readonly clock: MovableClock;
  private readonly agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  private readonly stopServer: () => Promise<void>;
  private readonly sockets = new Set<RawConnection>();
  /** Live connections, one for each token and those that are used once. */
  private readonly wires = new Map<string | undefined, LiveWire>();
  private readonly loose = new Set<LiveWire>();

  constructor(server: ServedAlone, clock: MovableClock, said: readonly Said[]) {
    this.url = server.url;
    this.port = Number(new URL(server.url).port);
    this.authority = server.authority;
    this.access = server.access;
    this.stopServer = () => server.stop();
    this.clock = clock;
    this.said = said;
  }

  /** Advances the server's time. An expired lease is found by the next call that names it. */
  advance(ms: number): void {
    this.clock.advance(ms);
  }

  /** Waits, turn by turn, for a condition. */
  async until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    const from = performance.now();
    while (!(await isSo())) {
      if (performance.now() - from > GIVE_UP_MS) throw new Error(`It never came about: ${isSo}`);
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  /** How many connections the server has, that of this question included, as its metrics tell. */
  async connections(): Promise<number> {
    const { text } = await this.send('GET', '/metrics');
    return Number(/leasehold_http_connections (\d+)/.exec(text)?.[1]);
  }

  /** What the server itself said went wrong. */
  get troubles(): readonly Said[] {
    return this.said.filter(({ level }) => level === 'error');
  }

  /** One request, whatever it is; nothing is checked. */
  send(method: string, path: string, { body, headers = {}, token, signal }: Sent = {}): Promise<Answer> {
    const text =
      body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : jsonText(body);
    const type = text === undefined ? {} : { 'content-type': 'application/json' };
    const length = text === undefined ? {} : { 'content-length': Buffer.byteLength(text) };
    const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const options = {
      host: '127.0.0.1',
      port: this.port,
      method,
      path,
      headers: { ...type, ...length, ...bearer, ...headers },
      agent: this.agent,
      ...(signal === undefined ? {} : { signal }),
    };
    return new Promise((resolve, reject) => {
      const request = httpRequest(options, (response) => {
        readAll(response).then(
          (answer) => resolve({ status: response.statusCode!, headers: response.headers, text: answer }),
          reject,
        );
      });
      request.on('error', reject);
      request.end(text);
    });
  }

  /** One operation, from its fields; the answer must be one that the table of operations knows. */
  async call(operation: Operation, fields: object = {}, sent: Omit<Sent, 'body'> = {}): Promise<CallAnswer> {
    if (IS_LIVE && sent.headers === undefined) return this.callLive(operation, fields, sent);
    const { method, path, body } = requestOf(operation, fields);
    const answer = await this.send(method, path, { ...sent, ...(body === undefined ? {} : { body }) });
    const parsed = expectWithinContract(operation, answer, path);
    return { ...answer, body: parsed };
  }

  /** The same over a live connection; what waits or may be aborted has one of its own. */
  private async callLive(
    operation: Operation,
    fields: object,
    sent: Omit<Sent, 'body'>,
  ): Promise<CallAnswer> {
    const { token, signal } = sent;
    const isAlone = signal !== undefined || 'wait_ms' in fields;
    const opening = isAlone ? null : this.wires.get(token);
    const wire = await (opening ?? LiveWire.open(this.port, token === undefined ? {} : { token }));
    if (isAlone) this.loose.add(wire);
    else this.wires.set(token, wire);
    signal?.addEventListener('abort', () => wire.close());
    if (signal?.aborted) wire.close();
    const { id, status, body } = await wire.call(operation, fields);
    const parsed = expectWithinLive(operation, status, body, id);
    restoreOpaque(body);
    const headers = status < 400 ? {} : { 'content-type': PROBLEM_TYPE, ...problemHeaders(body) };
    const requestId = body.requestId === undefined ? {} : { 'x-request-id': body.requestId };
    const outcome = parsed.outcome === undefined ? {} : { 'leasehold-outcome': parsed.outcome };
    return {
      status,
      headers: { ...headers, ...requestId, ...outcome },
      text: jsonText(body),
      body: JSON.parse(jsonText(body)),
    };
  }

  /** A live connection of the test's own. */
  async live(options: LiveOptions = {}): Promise<LiveWire> {
    const wire = await LiveWire.open(this.port, options);
    this.loose.add(wire);
    return wire;
  }

  /** The body of an operation that must not be refused. */
  async done(operation: Operation, fields: object = {}, sent: Omit<Sent, 'body'> = {}): Promise<Body> {
    const { status, body } = await this.call(operation, fields, sent);
    if (status >= 400) throw new Error(`${operation} was refused: ${JSON.stringify(body)}`);
    return body;
  }

  async json(path: string, sent: Sent = {}): Promise<Body> {
    return JSON.parse((await this.send('GET', path, sent)).text);
  }

  /** Begins a stream and gives its parts as they come. */
  async stream(path: string, sent: Sent = {}): Promise<Stream> {
    const { headers = {}, token } = sent;
    const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const connection = await this.connect();
    const lines = Object.entries({ host: `127.0.0.1:${this.port}`, ...bearer, ...headers });
    connection.write(
      `GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
    );
    return new Stream(connection, await connection.head());
  }

  /** A bare connection. */
  async connect(options: { readonly allowHalfOpen?: boolean } = {}): Promise<RawConnection> {
    const connection = await RawConnection.to(this.port, options);
    this.sockets.add(connection);
    return connection;
  }

  async stop(): Promise<void> {
    const stopped = this.stopServer();
    // Only once the server has closed its side are ours of no use: until then they may still be answered.
    await stopped;
    running.delete(this);
    this.agent.destroy();
    for (const connection of this.sockets) connection.destroy();
    for (const wire of [...this.wires.values(), ...this.loose]) wire.close();
  }
}

/** Where the fields of an operation go. */
export function requestOf(
  operation: Operation,
  fields: object,
): { readonly method: string; readonly path: string; readonly body?: string } {
  const { method, path } = operationOf(operation);
  const rest: Record<string, unknown> = { ...fields };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = encodeURIComponent(String(rest[field]));
    delete rest[field];
    return value;
  });
  if (method !== 'GET') return { method, path: filled, body: jsonText(rest) };
  const query = new URLSearchParams(rest as Record<string, string>).toString();
  return { method, path: query === '' ? filled : `${filled}?${query}` };
}

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** A socket with what has come over it, and a reader of the answers in it. */
export class RawConnection {
  readonly socket: Socket;
  /** Resolves when it is closed, however that came about. */
  readonly closed: Promise<void>;
  private bytes = Buffer.alloc(0);
  private wake: () => void = () => undefined;
  private isClosed = false;

  /** A connection to a port of this machine. */
  static async to(port: number, options: { readonly allowHalfOpen?: boolean } = {}): Promise<RawConnection> {
    const socket = connect({ host: '127.0.0.1', port, ...options });
    const connection = new RawConnection(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return connection;
  }

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (more: Buffer) => {
      this.bytes = Buffer.concat([this.bytes, more]);
      this.wake();
    });
    // A reset is one way to be closed.
    socket.on('error', () => undefined);
    // The other side has said all it will ever say.
    socket.on('end', () => this.end());
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.end();
        resolve();
      });
    });
  }

  private end(): void {
    this.isClosed = true;
    this.wake();
  }

  write(text: string | Uint8Array): void {
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text);
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Without a farewell, as a machine goes that has lost its power. */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  /** What has come and was not taken. */
  get rest(): string {
    return this.bytes.toString('latin1');
  }

  /** Takes the text up to and with the first match; null when the connection ends before. */
  async take(pattern: RegExp): Promise<string | null> {
    for (;;) {
      const match = pattern.exec(this.rest);
      if (match !== null) return this.takeBytes(match.index + match[0].length).toString('latin1');
      if (this.isClosed) return null;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  async takeLength(length: number): Promise<Buffer> {
    while (this.bytes.length < length && !this.isClosed) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    return this.takeBytes(length);
  }

  private takeBytes(length: number): Buffer {
    const taken = this.bytes.subarray(0, length);
    this.bytes = this.bytes.subarray(length);
    return taken;
  }

  /** The status line and headers that come next. */
  async head(): Promise<Pick<Answer, 'status' | 'headers'>> {
    const head = await this.take(/\r\n\r\n/);
    if (head === null)
      throw new Error(`The connection ended without an answer, after ${JSON.stringify(this.rest)}.`);
    const [first = '', ...lines] = head.trimEnd().split('\r\n');
    const headers: Record<string, string> = {};
    for (const line of lines) {
      const colon = line.indexOf(':');
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1]), headers };
  }

  /** The whole answer that comes next; one to HEAD has no body, whatever its headers say. */
  async answer({ isHead = false } = {}): Promise<Answer> {
    const head = await this.head();
    return { ...head, text: isHead ? '' : await this.body(head) };
  }

  /** What follows a head. */
  async body({ headers }: Pick<Answer, 'headers'>): Promise<string> {
    if (headers['transfer-encoding'] === 'chunked') return this.chunks();
    return (await this.takeLength(Number(headers['content-length'] ?? 0))).toString();
  }

  private async chunks(): Promise<string> {
    const found: Buffer[] = [];
    for (;;) {
      const size = Number.parseInt((await this.take(/^[0-9a-f]+\r\n/)) ?? '0', 16);
      found.push(await this.takeLength(size));
      await this.takeLength(2);
      if (size === 0) return Buffer.concat(found).toString();
    }
  }
}

/** An answer that comes in parts. */
export class Stream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  private readonly connection: RawConnection;
  private text = '';

  constructor(connection: RawConnection, { status, headers }: Pick<Answer, 'status' | 'headers'>) {
    this.connection = connection;
    this.status = status;
    this.headers = headers;
  }

  /** The text up to and with the next match, out of however many chunks; null when the stream ends before. */
  async take(pattern: RegExp): Promise<string | null> {
    for (;;) {
      const match = pattern.exec(this.text);
      if (match !== null) {
        const end = match.index + match[0].length;
        const taken = this.text.slice(0, end);
        this.text = this.text.slice(end);
        return taken;
      }
      const size = Number.parseInt((await this.connection.take(/^[0-9a-f]+\r\n/)) ?? '0', 16);
      if (size === 0) return null;
      this.text += (await this.connection.takeLength(size)).toString();
      await this.connection.takeLength(2);
    }
  }

  /** The next line that has something in it, as JSON. */
  async line(): Promise<Body> {
    const line = await this.take(/[^\n]*\n/);
    return line === null ? null : JSON.parse(line);
  }

  /** The next event, by its fields; comments are passed over. */
  async event(): Promise<{ id: string; event: string; data: Body } | null> {
    for (;;) {
      const block = await this.take(/\n\n/);
      if (block === null) return null;
      const fields = Object.fromEntries(
        block
          .trimEnd()
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      if (fields.event !== undefined)
        return { id: fields.id!, event: fields.event, data: JSON.parse(fields.data!) };
    }
  }

  /** Sends something into the connection that the other side is not waiting for. */
  write(text: string): void {
    this.connection.write(text);
  }

  destroy(): void {
    this.connection.destroy();
  }
}

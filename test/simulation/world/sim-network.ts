/**
 * The network between clients and the authority, under the client's Http seam. Every request is its own exchange.
 * Both ends learn about each other only through messages, which take time, get lost, overtake each other or arrive
 * twice. A partitioned end receives nothing: no refusal, no reset, no close.
 */
import {
  type Http,
  type HttpReply,
  type HttpRequest,
  type HttpStream,
  httpFault,
} from '../../../src/seams/http.ts';
import type { Sockets } from '../../../src/seams/sockets.ts';
import type { Kernel } from './kernel.ts';
import type { Random } from './random.ts';
import type { Recorder } from './recorder.ts';
import { never, type SimProcess } from './sim-process.ts';
import { SimSockets } from './sim-sockets.ts';
import { SimStream } from './sim-stream.ts';
import { WireCalls } from './wire-calls.ts';
import { type ResponseSink, SimResponse, type WireServer } from './wire-server.ts';

/** What is wrong between one client and the authority. */
export class Link {
  /** Until when nothing gets through, each way. */
  cutToServerMs = 0;
  cutToClientMs = 0;
  delayMs = 0;
  jitterMs = 0;
  lossChance = 0;
  duplicateChance = 0;
  resetChance = 0;
}

export interface Listener {
  readonly process: SimProcess;
  readonly server: WireServer;
}

/** One request, from both sides. */
interface Flight {
  readonly client: SimProcess;
  /** The operations in it; null for a stream. */
  readonly calls: WireCalls | null;
  isOver: boolean;
  response: SimResponse | null;
  /** Where the server's answer goes. */
  readonly sink: ResponseSink;
  fail(fault: unknown, why: string, effect: 'none' | 'unknown'): void;
}

const ORIGIN = 'http://authority';

export class SimNetwork {
  readonly #kernel: Kernel;
  readonly #random: Random;
  readonly #recorder: Recorder;
  /** Where streams are cut into pieces; null when they are not. */
  readonly #cuts: Random | null;
  readonly #links = new Map<string, Link>();
  readonly #flights = new Set<Flight>();
  /** Live connections; they draw from chance of their own. */
  readonly #sockets: SimSockets | null;
  #listener: Listener | null = null;
  /** While the authority's machine has no power, connections are not even refused. */
  isDark = false;
  #requests = 0;

  constructor(
    kernel: Kernel,
    random: Random,
    recorder: Recorder,
    cuts: Random | null = null,
    live: Random | null = null,
  ) {
    this.#kernel = kernel;
    this.#random = random;
    this.#recorder = recorder;
    this.#cuts = cuts;
    this.#sockets = live === null ? null : new SimSockets(kernel, live, recorder, this);
  }

  link(client: string): Link {
    let link = this.#links.get(client);
    if (link === undefined) {
      link = new Link();
      this.#links.set(client, link);
    }
    return link;
  }

  get listener(): Listener | null {
    return this.#listener;
  }

  get clients(): readonly string[] {
    return [...this.#links.keys()];
  }

  /** From now on requests go here. */
  listen(listener: Listener): void {
    this.#listener = listener;
    this.isDark = false;
    listener.process.whenDead(() => {
      if (this.#listener === listener) this.#listener = null;
    });
  }

  /** From now on no server answers. */
  unlisten(): void {
    this.#listener = null;
  }

  /** A process that ended while its machine lives: every connection to it is reset. */
  resetFrom(cause: string): void {
    for (const flight of [...this.#flights]) {
      if (flight.response !== null) this.#reset(flight, cause);
    }
    this.#sockets?.resetFrom(cause);
  }

  /** Everything is quiet again: nothing is cut, lost or delayed. Calls that are under way stay as they are. */
  heal(): void {
    for (const link of this.#links.values()) Object.assign(link, new Link());
  }

  /** Both ends of every connection of a client see it break. */
  breakAll(client: string): void {
    for (const flight of [...this.#flights]) {
      if (flight.client.name !== client) continue;
      this.#closeAtServer(flight);
      this.#reset(flight, 'The connection broke.');
    }
    this.#sockets?.break(client, false);
  }

  /** The client sees its connections break, and the server never does. */
  breakHalf(client: string): void {
    for (const flight of [...this.#flights]) {
      if (flight.client.name === client) this.#reset(flight, 'The connection broke on one side.');
    }
    this.#sockets?.break(client, true);
  }

  /** A client's process ended; its machine closes the connections. */
  clientDied(client: SimProcess): void {
    for (const flight of [...this.#flights]) {
      if (flight.client !== client) continue;
      this.#flights.delete(flight);
      if (!flight.isOver) flight.calls?.unanswered('unknown', 'The client died.');
      flight.isOver = true;
      this.#closeAtServer(flight);
    }
    this.#sockets?.clientDied(client);
  }

  /** Null where clients have no live connections. */
  socketsFor(client: SimProcess): Sockets | null {
    this.link(client.name);
    return this.#sockets?.for(client) ?? null;
  }

  httpFor(client: SimProcess): Http {
    this.link(client.name);
    return {
      send: (request) => this.#send(client, request),
      stream: (request) => this.#stream(client, request),
      close: async () => undefined,
    };
  }

  #send(client: SimProcess, request: HttpRequest): Promise<HttpReply> {
    if (client.isDead) return never();
    const { signal } = request;
    if (signal.aborted) return Promise.reject(signal.reason);
    const calls = new WireCalls(this.#recorder, client.name, request);
    return new Promise((resolve, reject) => {
      const abandon = (): void => {
        flight.fail(signal.reason, 'The client gave up.', 'unknown');
        this.#closeAtServer(flight);
      };
      const finish = (): boolean => {
        if (flight.isOver) return false;
        flight.isOver = true;
        this.#flights.delete(flight);
        signal.removeEventListener('abort', abandon);
        return true;
      };
      const answer = { status: 0, headers: {} as Readonly<Record<string, string>>, text: '' };
      const settle = (): void => {
        if (!finish()) return;
        const { status, headers, text } = answer;
        const reply = { status, header: (name: string) => headers[name] ?? null, body: Buffer.from(text) };
        calls.answered(reply);
        resolve(reply);
      };
      const flight: Flight = {
        client,
        calls,
        isOver: false,
        response: null,
        sink: {
          head: (status, headers) => void Object.assign(answer, { status, headers }),
          chunk: (text) => {
            answer.text += text;
          },
          end: () => this.#answer(flight, settle),
          cut: () => this.#reset(flight, 'The server cut the connection.'),
        },
        fail(fault, why, effect) {
          if (!finish()) return;
          calls.unanswered(effect, why);
          reject(fault);
        },
      };
      this.#flights.add(flight);
      signal.addEventListener('abort', abandon, { once: true });
      this.#carry(flight, request, false);
      if (this.#random.chance(this.link(client.name).duplicateChance)) this.#carry(flight, request, true);
    });
  }

  /** A stream: pieces come in order, and once one has been lost nothing comes any more. */
  #stream(client: SimProcess, request: HttpRequest): Promise<HttpStream> {
    if (client.isDead) return never();
    const { signal } = request;
    if (signal.aborted) return Promise.reject(signal.reason);
    const stream = new SimStream();
    let lastMs = 0;
    let isStalled = false;
    const close = (fault: unknown): void => {
      if (flight.isOver) return;
      flight.isOver = true;
      this.#flights.delete(flight);
      signal.removeEventListener('abort', abandon);
      stream.fail(fault);
    };
    const abandon = (): void => {
      close(signal.reason);
      this.#closeAtServer(flight);
    };
    const deliver = (call: () => void): void => {
      lastMs = Math.max(lastMs, this.#kernel.nowMs + this.#delayMs(this.link(client.name)));
      this.#kernel.at(lastMs, null, () => {
        isStalled ||= this.link(client.name).cutToClientMs > this.#kernel.nowMs;
        if (!isStalled && !flight.isOver) this.#kernel.after(0, client, call);
      });
    };
    const flight: Flight = {
      client,
      calls: null,
      isOver: false,
      response: null,
      sink: {
        head: (status, headers) => deliver(() => stream.head(status, headers)),
        chunk: (text) => {
          for (const piece of this.#piecesOf(text)) deliver(() => stream.chunk(piece));
        },
        end: () => deliver(() => close(null)),
        cut: () => this.#reset(flight, 'The server cut the connection.'),
      },
      fail: close,
    };
    stream.whenLeft = abandon;
    this.#flights.add(flight);
    signal.addEventListener('abort', abandon, { once: true });
    this.#carry(flight, request, false);
    return stream.opened;
  }

  #piecesOf(text: string): readonly string[] {
    if (this.#cuts === null || this.#cuts.chance(0.5)) return [text];
    const cut = this.#cuts.below(text.length);
    return [text.slice(0, cut), text.slice(cut)];
  }

  #carry(flight: Flight, request: HttpRequest, isEcho: boolean): void {
    const link = this.link(flight.client.name);
    let delayMs = this.#delayMs(link);
    if (this.#random.chance(link.lossChance)) {
      // What is lost is sent again by the machine, later and later, or the connection breaks.
      if (this.#random.chance(0.5)) delayMs += this.#random.span(200, 3_000);
      else {
        if (!isEcho) this.#resetLater(flight, this.#random.span(500, 5_000), 'unknown');
        return;
      }
    }
    this.#kernel.after(delayMs, null, () => {
      if (link.cutToServerMs > this.#kernel.nowMs) return;
      this.#arrive(flight, request, isEcho);
    });
  }

  #arrive(flight: Flight, request: HttpRequest, isEcho: boolean): void {
    // The client may have gone while the request was under way; it may arrive all the same, and then the end behind it.
    const isAbandoned = flight.isOver && !isEcho;
    if (this.isDark || (isAbandoned && this.#random.chance(0.5))) return;
    const listener = this.#listener;
    if (listener === null) {
      if (!isEcho) this.#resetLater(flight, this.#delayMs(this.link(flight.client.name)), 'none');
      return;
    }
    const { process, server } = listener;
    this.#requests += 1;
    const wireRequest = {
      method: request.method,
      url: request.path,
      headers: request.headers,
      requestId: request.headers['x-request-id'] ?? `r${this.#requests}`,
      body: request.body,
    };
    const response = new SimResponse(isEcho ? DISCARD : heardWhileAlive(process, flight.sink));
    if (isEcho) flight.calls?.echo();
    else flight.response = response;
    const handle = (): void => {
      if (!isEcho) flight.calls?.arrived();
      server.handle(wireRequest, response);
    };
    if (process.stoppedUntilMs > this.#kernel.nowMs) this.#kernel.at(process.stoppedUntilMs, process, handle);
    else handle();
    if (isAbandoned) this.#closeAtServer(flight);
  }

  #answer(flight: Flight, settle: () => void): void {
    if (flight.isOver) return;
    const link = this.link(flight.client.name);
    if (this.#random.chance(link.resetChance)) {
      this.#reset(flight, 'The connection broke before the answer.');
      return;
    }
    let delayMs = this.#delayMs(link);
    if (this.#random.chance(link.lossChance)) {
      if (this.#random.chance(0.5)) delayMs += this.#random.span(200, 3_000);
      else return this.#resetLater(flight, this.#random.span(500, 5_000), 'unknown');
    }
    this.#toClient(flight, delayMs, settle);
  }

  #toClient(flight: Flight, delayMs: number, call: () => void): void {
    const { client } = flight;
    this.#kernel.after(delayMs, null, () => {
      if (this.link(client.name).cutToClientMs > this.#kernel.nowMs) return;
      this.#kernel.after(0, client, call);
    });
  }

  #reset(flight: Flight, why: string): void {
    this.#toClient(flight, this.#delayMs(this.link(flight.client.name)), () => {
      flight.fail(httpFault(`${ORIGIN}: ${why}`, 'unknown'), why, 'unknown');
    });
  }

  #resetLater(flight: Flight, delayMs: number, effect: 'none' | 'unknown'): void {
    const why = effect === 'none' ? 'No server listens.' : 'The connection broke.';
    this.#toClient(flight, delayMs, () => {
      flight.fail(httpFault(`${ORIGIN}: ${why}`, effect), why, effect);
    });
  }

  #closeAtServer({ client, response }: Flight): void {
    const link = this.link(client.name);
    const listener = this.#listener;
    if (response === null || listener === null) return;
    this.#kernel.after(this.#delayMs(link), null, () => {
      if (link.cutToServerMs > this.#kernel.nowMs) return;
      this.#kernel.after(0, listener.process, () => response.close());
    });
  }

  #delayMs({ delayMs, jitterMs }: Link): number {
    return this.#random.span(0.1, 1.5) + delayMs + (jitterMs === 0 ? 0 : this.#random.span(0, jitterMs));
  }
}

/** What a process says when it is dead is not said. */
function heardWhileAlive(process: SimProcess, sink: ResponseSink): ResponseSink {
  const say = (call: () => void): void => {
    if (!process.isDead) call();
  };
  return {
    head: (status, headers) => say(() => sink.head(status, headers)),
    chunk: (text) => say(() => sink.chunk(text)),
    end: () => say(() => sink.end()),
    cut: () => say(() => sink.cut()),
  };
}

const DISCARD: ResponseSink = { head() {}, chunk() {}, end() {}, cut() {} };

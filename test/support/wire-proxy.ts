// A proxy in front of the server, on its own port, that does to requests what networks and failing servers do: fails
// them, cuts their connection, or holds them or their replies until released. Held requests reach the server later,
// even if their sender died.
import {
  type ClientRequest,
  createServer,
  request as forward,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from './cli-processes.ts';

/** What came, as `POST /v1/leases/x/renew` with names as people write them. */
export interface Passing {
  readonly line: string;
  readonly body: string;
}

interface Arrived {
  readonly request: IncomingMessage;
  readonly bytes: Buffer;
}

export type PassingFate =
  | 'passes'
  | 'fails'
  | 'finds no server'
  | 'is cut'
  | 'is held'
  | 'has its reply held'
  | 'loses its reply';

export class WireProxy {
  url = '';
  /** Asked for every request when it arrives. */
  fate: (passing: Passing) => PassingFate = () => 'passes';
  readonly seen: Passing[] = [];
  /** What the server said, in the order in which it did. */
  readonly answers: { readonly line: string; readonly status: number; readonly text: string }[] = [];
  private readonly target: () => string;
  private readonly server = createServer((request, response) => void this.take(request, response));
  private held: { readonly passing: Passing; go(): void }[] = [];

  private constructor(target: () => string) {
    this.target = target;
    // Operations are seen one by one only over HTTP.
    this.server.on('upgrade', (_, socket) =>
      socket.end('HTTP/1.1 501 Not Implemented\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'),
    );
  }

  static async open(target: () => string): Promise<WireProxy> {
    const proxy = new WireProxy(target);
    await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
    proxy.url = `http://127.0.0.1:${(proxy.server.address() as AddressInfo).port}`;
    return proxy;
  }

  /** From now on, requests that fit have this fate and all others pass. */
  let(pattern: RegExp, fate: PassingFate): void {
    this.fate = ({ line, body }) => (pattern.test(`${line} ${body}`) ? fate : 'passes');
  }

  /** Waits until so many requests or replies that fit are held back. */
  async holds(pattern: RegExp, count = 1): Promise<void> {
    await until(`${count} times ${pattern} on the wire`, () => this.countHeld(pattern) >= count);
  }

  countHeld(pattern: RegExp): number {
    return this.held.filter(({ passing: { line, body } }) => pattern.test(`${line} ${body}`)).length;
  }

  /** Lets go of everything that is held; what comes from now on passes. */
  letGo(): void {
    this.fate = () => 'passes';
    for (const { go } of this.held.splice(0)) go();
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const arrived = { request, bytes: Buffer.concat(chunks) };
    const line = `${request.method} ${decodeURIComponent(request.url!)}`;
    const passing = { line, body: arrived.bytes.toString('utf8') };
    this.seen.push(passing);
    const hold = (): Promise<void> => new Promise((go) => this.held.push({ passing, go }));
    switch (this.fate(passing)) {
      case 'fails':
        response.writeHead(500, { 'content-type': 'text/plain' }).end('The proxy was told to fail.\n');
        return;
      case 'finds no server':
        response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>502 Bad Gateway</h1>\n');
        return;
      case 'is cut':
        response.destroy();
        return;
      case 'is held':
        await hold();
        (await this.carry(arrived, line, response))();
        return;
      default:
        if (line.includes('follow=')) return this.connect(arrived, response);
    }
    const answer = await this.carry(arrived, line, response);
    // A call may have waited for long, so what becomes of its reply is asked for only now.
    const fate = this.fate(passing);
    if (fate === 'loses its reply') return void response.destroy();
    if (fate === 'has its reply held') await hold();
    answer();
  }

  /** Followers of the log leave by hanging up. */
  private connect(arrived: Arrived, response: ServerResponse): void {
    const upstream = this.send(arrived, response, (reply) => {
      response.writeHead(reply.statusCode!, reply.headers);
      reply.pipe(response);
    });
    response.on('close', () => upstream.destroy());
  }

  private send(
    { request: { method, url, headers }, bytes }: Arrived,
    response: ServerResponse,
    answered: (reply: IncomingMessage) => void,
  ): ClientRequest {
    const { host: _, ...rest } = headers;
    const upstream = forward(this.target() + url, { method: method!, headers: rest, agent: false }, answered);
    upstream.on('error', () => response.destroy());
    upstream.end(bytes);
    return upstream;
  }

  /** Brings a request to the server whether or not its sender still lives; gives what answers the sender. */
  private async carry(arrived: Arrived, line: string, response: ServerResponse): Promise<() => void> {
    const reply = await new Promise<IncomingMessage>((resolve) => {
      const upstream = this.send(arrived, response, resolve);
      // The server must not grant anything to a waiter who has gone.
      if (!response.destroyed) response.on('close', () => upstream.destroy());
    });
    const chunks: Buffer[] = [];
    for await (const chunk of reply) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const status = reply.statusCode!;
    this.answers.push({ line, status, text: body.toString('utf8') });
    return () => response.writeHead(status, reply.headers).end(body);
  }
}

/** WebSockets for clients on Node. `ws` is loaded with the first one, because programs that open a data directory need none. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { LiveSocket, SocketEvents, SocketRequest, Sockets } from '../seams/sockets.ts';

const HANDSHAKE_MS = 5_000;
const BROKEN = 1006;

export function wsSockets({ ca }: { readonly ca?: string } = {}): Sockets {
  const loading = import('ws');
  loading.catch(() => undefined);

  return {
    showsToken: true,
    open(request, events) {
      const socket = new NodeSocket(request, events);
      loading.then(
        ({ WebSocket }) => {
          const { url, protocol, token } = request;
          if (socket.isDropped) return;
          const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
          socket.begin(
            new WebSocket(url, protocol, {
              headers: { 'user-agent': 'leasehold', ...authorization },
              perMessageDeflate: false,
              handshakeTimeout: HANDSHAKE_MS,
              followRedirects: false,
              // No limit: an answer is as long as the request makes it.
              maxPayload: 0,
              ...(ca === undefined ? {} : { ca }),
            }),
          );
        },
        (fault: Error) =>
          events.ended({ why: 'refused', says: `No WebSocket: ${fault.message}.`, code: BROKEN }),
      );
      return socket;
    },
  };
}

class NodeSocket implements LiveSocket {
  isDropped = false;
  private readonly request: SocketRequest;
  private readonly events: SocketEvents;
  private ws: WebSocket | null = null;
  private socket: Socket | null = null;
  private isOpen = false;
  private isNeeded = true;
  private status = 0;
  private fault: Error | null = null;

  constructor(request: SocketRequest, events: SocketEvents) {
    this.request = request;
    this.events = events;
  }

  begin(ws: WebSocket): void {
    this.ws = ws;
    ws.on('upgrade', ({ socket }: IncomingMessage) => {
      this.socket = socket;
      this.hold(this.isNeeded);
    });
    ws.on('unexpected-response', (_, { statusCode = 0 }) => {
      this.status = statusCode;
      ws.terminate();
    });
    ws.on('error', (fault) => {
      this.fault ??= fault;
    });
    ws.on('open', () => {
      this.isOpen = true;
      this.events.opened();
    });
    ws.on('message', (data) => this.events.message(String(data)));
    ws.on('close', (code, reason) => {
      if (!this.isDropped) this.events.ended({ ...this.end(String(reason)), code });
    });
  }

  private end(reason: string): { why: 'refused' | 'unreachable' | 'closed'; says: string } {
    const { server } = this.request;
    if (this.isOpen) {
      const why = reason || this.fault?.message || 'the server closed it';
      return { why: 'closed', says: `The connection to ${server} broke before the answer came: ${why}.` };
    }
    if (this.status !== 0)
      return { why: 'refused', says: `${server} does not upgrade (status ${this.status}).` };
    const why = this.fault?.message ?? 'it was closed';
    return { why: 'unreachable', says: `No connection to ${server} could be made: ${why}.` };
  }

  send(text: string): void {
    this.ws?.send(text);
  }

  drop(): void {
    this.isDropped = true;
    this.ws?.terminate();
  }

  hold(isNeeded: boolean): void {
    this.isNeeded = isNeeded;
    if (isNeeded) this.socket?.ref();
    else this.socket?.unref();
  }
}

/**
 * The live connections of a server. They pass the same access control as requests: network, Host and Origin, then the
 * token, in the `Authorization` header or in the first message. A reload that drops a token closes its connections. One
 * timer pings all peers.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { invalid } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { CLOSES, LIVE_LIMITS, LIVE_PATH, LIVE_PROTOCOL } from '../protocol/live-frames.ts';
import { problem } from '../protocol/problem.ts';
import type { Timer, Timers } from '../seams/clock.ts';
import type { AccessControl } from './access-control.ts';
import { answerSocket } from './listener.ts';
import { LiveConnection, type LiveContext } from './live-connection.ts';
import { StoppingError } from './long-polls.ts';
import type { Caller } from './scopes.ts';

/** How often peers are pinged. A peer that has not answered by the next ping is cut. */
const PING_MS = 20_000;
/** The header of a short frame from a client: RFC 6455, section 5.2. */
const FRAME_HEAD_BYTES = 8;
const NO_PROTOCOL = `A live connection uses the subprotocol ${LIVE_PROTOCOL}: offer it in Sec-WebSocket-Protocol.`;
const NO_TOKEN = 'The first message must be [["token", "…"]] with a valid token.';

export interface LiveServer extends LiveContext {
  readonly access: Pick<AccessControl, 'admitLive' | 'callerOf'>;
  readonly timers: Timers;
  /** Called for every attempt to connect. */
  readonly onAttempt: (request: IncomingMessage, requestId: string, status: number) => void;
}

export class LiveConnections {
  private readonly server: LiveServer;
  private readonly open = new Set<LiveConnection>();
  private readonly sockets: WebSocketServer;
  private pinging: Timer | null = null;

  constructor(server: LiveServer) {
    this.server = server;
    this.sockets = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      clientTracking: false,
      maxPayload: LIVE_LIMITS.frameBytes,
      handleProtocols: () => LIVE_PROTOCOL,
    });
    // An upgrade that `handleUpgrade` below refuses.
    this.sockets.on('wsClientError', (fault, socket, request) => {
      this.refuse(request, socket as Socket, requestIds.get(request) ?? '', invalid(`${fault.message}.`));
    });
  }

  get size(): number {
    return this.open.size;
  }

  readonly upgrade = (request: IncomingMessage, socket: Socket, head: Buffer, requestId: string): void => {
    const admission = this.server.access.admitLive(request);
    const refusal = admission === 'token first' ? null : admission.refusal;
    if (refusal !== null) return this.refuse(request, socket, requestId, refusal);
    if (this.server.isStopping) {
      const detail = new StoppingError().message;
      return this.refuse(request, socket, requestId, { refused: 'UNAVAILABLE', detail });
    }
    const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
    if (!offered.includes(LIVE_PROTOCOL))
      return this.refuse(request, socket, requestId, invalid(NO_PROTOCOL));
    requestIds.set(request, requestId);
    this.sockets.handleUpgrade(request, socket, head, (ws) => {
      this.server.onAttempt(request, requestId, 101);
      // An invalid frame or a reset. `ws` closes the connection after either.
      ws.on('error', () => undefined);
      if (admission === 'token first') this.awaitToken(ws, socket, requestId);
      else this.begin(ws, socket, admission.caller, requestId);
    });
  };

  private refuse(request: IncomingMessage, socket: Socket, requestId: string, refusal: Refusal): void {
    this.server.counts.refused(refusal.refused);
    this.server.onAttempt(request, requestId, problem(refusal).status);
    answerSocket(socket, refusal, LIVE_PATH, requestId);
  }

  /** Waits for one short message with the token. A peer that is refused may not send more than that either. */
  private awaitToken(ws: WebSocket, socket: Socket, requestId: string): void {
    const { timers, access } = this.server;
    const fromBytes = socket.bytesRead;
    const count = (): void => {
      if (socket.bytesRead - fromBytes > LIVE_LIMITS.firstBytes + FRAME_HEAD_BYTES) ws.terminate();
    };
    const end = (): void => {
      late.cancel();
      socket.off('data', count);
      ws.off('message', first).off('close', end);
    };
    const turnAway = (): void => {
      late.cancel();
      ws.off('message', first).close(CLOSES.unauthenticated, NO_TOKEN);
    };
    const first = (data: Buffer, isBinary: boolean): void => {
      const token = data.length > LIVE_LIMITS.firstBytes || isBinary ? null : tokenIn(data.toString());
      const caller = token === null ? null : access.callerOf(token);
      if (caller === null) return turnAway();
      end();
      this.begin(ws, socket, caller, requestId);
    };
    const late = timers.after(LIVE_LIMITS.firstMs, turnAway);
    // Added after the listener of `ws`, so `ws` has already read the bytes that are counted.
    socket.on('data', count);
    ws.on('message', first).on('close', end);
  }

  private begin(ws: WebSocket, socket: Socket, caller: Caller, requestId: string): void {
    const connection = new LiveConnection(this.server, ws, socket, caller, requestId);
    this.open.add(connection);
    const forget = caller.revocation.onRevoked(() =>
      connection.close(CLOSES.unauthenticated, 'The token was removed from the list, or lost a scope.'),
    );
    ws.on('close', () => {
      this.open.delete(connection);
      forget();
      connection.closed();
      if (this.open.size === 0) this.stopPinging();
    });
    if (this.pinging === null) this.ping();
    if (this.server.isStopping) connection.close(CLOSES.goingAway, new StoppingError().message);
  }

  private ping(): void {
    this.pinging = this.server.timers.after(PING_MS, () => {
      for (const connection of this.open) if (!connection.ping()) connection.terminate();
      this.ping();
    });
  }

  private stopPinging(): void {
    this.pinging?.cancel();
    this.pinging = null;
  }

  /** Called before another service takes over: ready answers are sent with the time of the service they came from. */
  flush(): void {
    for (const connection of this.open) connection.flush();
  }

  /** Ends waits, answers what is in flight, and closes. */
  async stop(): Promise<void> {
    const stopped = [...this.open].map(async (connection) => {
      await connection.stop();
      connection.close(CLOSES.goingAway, new StoppingError().message);
    });
    await Promise.all(stopped);
  }
}

/** Request ids for the refusals of `ws`, which passes only the request. */
const requestIds = new WeakMap<IncomingMessage, string>();

function tokenIn(text: string): string | null {
  try {
    const frame: unknown = JSON.parse(text);
    const [item] = Array.isArray(frame) && frame.length === 1 ? (frame as unknown[]) : [];
    const [kind, token] = Array.isArray(item) && item.length === 2 ? (item as unknown[]) : [];
    return kind === 'token' && typeof token === 'string' ? token : null;
  } catch {
    return null;
  }
}

/**
 * The seam between the client and a WebSocket. The implementation opens a socket and passes messages on. Their meaning
 * and reconnecting belong to the client.
 */

/** Why the socket ended: the server or a proxy refused the upgrade, no server was reached, or it was closed. */
export interface SocketEnd {
  readonly why: 'refused' | 'unreachable' | 'closed';
  /** A sentence that names the server. */
  readonly says: string;
  /** How it was closed, by RFC 6455; 1006 when it broke. */
  readonly code: number;
}

export interface SocketEvents {
  opened(): void;
  message(text: string): void;
  /** Called once, as the last event. */
  ended(end: SocketEnd): void;
}

export interface LiveSocket {
  send(text: string): void;
  /** Closes it at once; `ended` is not called. */
  drop(): void;
  /** While this is false, the socket does not keep the process alive. */
  hold(isNeeded: boolean): void;
}

export interface SocketRequest {
  /** Scheme ws or wss, host, port and path. */
  readonly url: string;
  /** The server's name in error messages. */
  readonly server: string;
  readonly protocol: string;
  readonly token: string | null;
}

export interface Sockets {
  /** Whether `open` sends the token in a header. In browsers it cannot, so the token is the first message. */
  readonly showsToken: boolean;
  open(request: SocketRequest, events: SocketEvents): LiveSocket;
}

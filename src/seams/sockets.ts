/**
 * The seam between the client and a WebSocket. The implementation opens one and passes texts on; what they mean, and when one
 * is opened again, belongs to the client.
 */

/** Why there is no socket any more: the server or a proxy would not upgrade, nothing was reached, or it was closed. */
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
  /** Once, and last. */
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
  /** As callers know it, for messages. */
  readonly server: string;
  readonly protocol: string;
  readonly token: string | null;
}

export interface Sockets {
  /** Whether `open` shows the token; where it cannot, as in browsers, it is the first message. */
  readonly showsToken: boolean;
  open(request: SocketRequest, events: SocketEvents): LiveSocket;
}

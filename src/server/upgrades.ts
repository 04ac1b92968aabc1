/**
 * Requests with an Upgrade header. With an upgrade listener, Node hands over all of them. Those that are not for the live
 * connection go back to the server as ordinary requests, without the upgrade headers, so that a client that merely offers
 * HTTP/2 is served over HTTP/1.1.
 */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { LIVE_PATH } from '../protocol/live-frames.ts';
import { pathOf } from './request-bytes.ts';

/** Takes over the connection of a request. `head`: the bytes received after the request. */
export type Upgrade = (request: IncomingMessage, socket: Socket, head: Buffer) => void;

/** `lastOwed`: the reply still owed to an earlier request of the connection; it must be sent first. */
export function onUpgrade(
  server: HttpServer,
  lastOwed: (socket: Socket) => ServerResponse | undefined,
  live: Upgrade,
): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const fail = (): void => void socket.destroy();
    // Node has detached the socket, including its own error listener.
    socket.on('error', fail);
    const go = (): void => {
      if (isLive(request)) live(request, socket, head);
      else {
        socket.off('error', fail);
        giveBack(server, request, socket, head);
      }
    };
    const owed = lastOwed(socket);
    if (owed === undefined) go();
    else owed.once('close', go);
  });
}

function isLive({ url, headers: { upgrade } }: IncomingMessage): boolean {
  return upgrade?.toLowerCase() === 'websocket' && pathOf(url) === LIVE_PATH;
}

/** Feeds the request to the server again, on the same connection. */
function giveBack(server: HttpServer, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request;
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    const value = rawHeaders[index + 1]!;
    if (/^connection$/i.test(name))
      text += `${name}: ${value.replaceAll(/upgrade|http2-settings/gi, '')}\r\n`;
    else if (!/^(upgrade|http2-settings)$/i.test(name)) text += `${name}: ${value}\r\n`;
  }
  socket.unshift(Buffer.concat([Buffer.from(`${text}\r\n`, 'latin1'), head]));
  server.emit(socket instanceof TLSSocket ? 'secureConnection' : 'connection', socket);
}

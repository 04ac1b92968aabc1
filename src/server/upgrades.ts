/**
 * Requests that ask for another protocol. Node hands all of them over once any is wanted, whatever they ask for; those that do
 * not ask for the live connection go back to the server as ordinary requests, without the words that asked. So a client that
 * offers HTTP/2 in passing is served as if it had not.
 */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { LIVE_PATH } from '../protocol/live-frames.ts';
import { pathOf } from './request-bytes.ts';

/** Takes over the connection of a request, and what came behind it. */
export type Upgrade = (request: IncomingMessage, socket: Socket, head: Buffer) => void;

/** `lastOwed`: the reply that is owed to an earlier request of the same connection, which has to be sent first. */
export function onUpgrade(
  server: HttpServer,
  lastOwed: (socket: Socket) => ServerResponse | undefined,
  live: Upgrade,
): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const fail = (): void => void socket.destroy();
    // Node has let go of it, its own listener included.
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

/** The same request once more, on the same connection. */
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

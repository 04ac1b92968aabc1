/**
 * WebSockets for clients in browsers. A page cannot send headers with a WebSocket, so the token is the first message.
 * The browser does not report why one could not be opened.
 */
import type { Sockets } from '../seams/sockets.ts';

const HANDSHAKE_MS = 5_000;
const BROKEN = 1006;

/** Null where WebSockets are missing, as in some workers. */
export const webSockets: Sockets | null =
  typeof WebSocket === 'undefined'
    ? null
    : {
        showsToken: false,
        open({ url, server, protocol }, events) {
          const socket = new WebSocket(url, protocol);
          let isOpen = false;
          let isDropped = false;
          const late = setTimeout(() => socket.close(), HANDSHAKE_MS);
          socket.onopen = () => {
            clearTimeout(late);
            isOpen = true;
            events.opened();
          };
          socket.onmessage = ({ data }) => events.message(String(data));
          socket.onclose = ({ code, reason }) => {
            clearTimeout(late);
            if (isDropped) return;
            if (!isOpen) events.ended({ why: 'refused', says: `${server} does not upgrade.`, code: BROKEN });
            else {
              const why = reason || 'it was closed';
              const says = `The connection to ${server} broke before the answer came: ${why}.`;
              events.ended({ why: 'closed', says, code });
            }
          };
          return {
            send: (text) => socket.send(text),
            drop() {
              isDropped = true;
              socket.close();
            },
            hold: () => undefined,
          };
        },
      };

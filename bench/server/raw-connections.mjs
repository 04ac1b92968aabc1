// Keep-alive connections on plain sockets, one request at a time each: the cheapest client, so that the server is
// measured. It parses just enough of a reply to find its end.
import { connect } from 'node:net';

/**
 * Opens `count` connections to a URL. Returns `run(next, ms)`: each connection keeps sending what `next()` returns.
 */
export async function rawConnections(url, count) {
  const { hostname, port, host } = new URL(url);
  const sockets = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise((resolve, reject) => {
          const socket = connect({ host: hostname, port: Number(port), noDelay: true });
          socket.once('connect', () => resolve(socket));
          socket.once('error', reject);
        }),
    ),
  );
  return {
    run: (next, ms) => runAll(sockets, host, next, ms),
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** The bytes of one request. */
export function requestText(host, method, path, body) {
  return `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

async function runAll(sockets, host, next, ms) {
  const untilMs = performance.now() + ms;
  const latencies = [];
  let failed = 0;
  await Promise.all(
    sockets.map(
      (socket, index) =>
        new Promise((resolve, reject) => {
          let pending = '';
          let sentMs = 0;
          let context = null;
          const send = () => {
            if (performance.now() >= untilMs) {
              socket.off('data', hear);
              resolve();
              return;
            }
            const { method, path, body, heard } = next(index, context);
            context = heard;
            sentMs = performance.now();
            socket.write(requestText(host, method, path, body));
          };
          const hear = (chunk) => {
            pending += chunk.toString('latin1');
            const end = pending.indexOf('\r\n\r\n');
            if (end < 0) return;
            const length = Number(/content-length: (\d+)/i.exec(pending)?.[1] ?? 0);
            if (pending.length < end + 4 + length) return;
            latencies.push(performance.now() - sentMs);
            if (!/^HTTP\/1.1 20/.test(pending)) failed += 1;
            if (typeof context === 'function') context = context(pending.slice(end + 4, end + 4 + length));
            pending = pending.slice(end + 4 + length);
            send();
          };
          socket.on('data', hear);
          socket.once('error', reject);
          send();
        }),
    ),
  );
  return { count: latencies.length, failed, latencies, perSecond: (latencies.length * 1000) / ms };
}

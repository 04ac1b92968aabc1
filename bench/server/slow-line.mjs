/**
 * A line of so many bits a second between a client and a server on this machine: bytes each way leave at that rate, in order,
 * and the sender is read only a few packets ahead, as on a real one. Tests use it as well.
 */
import { connect, createServer } from 'node:net';

/** What leaves at a time. */
const PACKET_BYTES = 8 * 1024;

/** Opens one to a port; `url` is its near end. */
export async function openSlowLine(port, bitsPerSecond) {
  const bytesPerMs = bitsPerSecond / 8_000;
  const sockets = new Set();

  const server = createServer((near) => {
    const far = connect({ host: '127.0.0.1', port });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    // A stream that is destroyed ends its reader with an error, and both are done with.
    carry(near, far).catch(() => undefined);
    carry(far, near).catch(() => undefined);
  });

  async function carry(from, to) {
    let freeAtMs = performance.now();
    for await (const chunk of from) {
      for (let at = 0; at < chunk.length; at += PACKET_BYTES) {
        const packet = chunk.subarray(at, at + PACKET_BYTES);
        freeAtMs = Math.max(freeAtMs, performance.now()) + packet.length / bytesPerMs;
        const leftMs = freeAtMs - performance.now();
        // A timer is a millisecond late; the line catches up with the next packet.
        if (leftMs >= 1) await new Promise((resolve) => setTimeout(resolve, leftMs));
        to.write(packet);
      }
    }
  }

  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

// Many connections in their own process that request much and read nothing or everything.
//
//   node readers-child.mjs PORT CONNECTIONS REQUESTS reads|unread PATH…   (connection n asks for path n modulo)
//   child → 'sent'   once every request was written
//   child → bytes    how much it has read, when it is sent anything
import { connect } from 'node:net';

const [port, connections, requests, how, ...paths] = process.argv.slice(2);
const AT_A_TIME = 200;
let bytes = 0;

function open(n) {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: Number(port) }, () => {
      const path = paths[n % paths.length].replace('$n', String(n % 150));
      socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`.repeat(Number(requests)));
      resolve();
    });
    if (how === 'unread') socket.pause();
    else
      socket.on('data', (chunk) => {
        bytes += chunk.length;
      });
    // The server may cut it, which is one way to bound unsent data.
    socket.on('error', () => resolve());
  });
}

for (let done = 0; done < Number(connections); done += AT_A_TIME) {
  const count = Math.min(AT_A_TIME, Number(connections) - done);
  await Promise.all(Array.from({ length: count }, (_, n) => open(done + n)));
}
process.on('message', () => process.send(bytes));
process.on('disconnect', () => process.exit(0));
process.send('sent');

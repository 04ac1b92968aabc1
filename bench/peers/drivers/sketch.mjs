/**
 * A bare lock service over one WebSocket: what the wire and the disk allow, the ceiling for leasehold's own connection.
 * Calls of one turn of the event loop leave together. The server is sketch-server.mjs.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { freePort, serverProcess } from '../server-process.mjs';

const program = join(dirname(fileURLToPath(import.meta.url)), '..', 'sketch-server.mjs');

export const peer = {
  name: 'sketch',
  kinds: ['lock'],
  needs: { packages: ['ws'] },
  variants: [{ name: 'WebSocket', durable: 'yes' }],
  async start({ dir }) {
    const { WebSocket } = await import('ws');
    const port = await freePort();
    let socket;
    const ready = async () => {
      socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
      await once(socket, 'open');
    };
    const args = ['--max-semi-space-size=64', program, String(port), join(dir, 'log')];
    const server = await serverProcess(process.execPath, args, { dir, ready });
    const waiting = new Map();
    let unsent = [];
    let lastId = 0;
    const flush = () => {
      socket.send(JSON.stringify(unsent));
      unsent = [];
    };
    const call = (verb, held) =>
      new Promise((resolve) => {
        const id = ++lastId;
        waiting.set(id, resolve);
        if (unsent.length === 0) setImmediate(flush);
        unsent.push({ id, verb, ...held });
      });
    socket.on('message', (data) => {
      for (const reply of JSON.parse(data)) {
        waiting.get(reply.id)(reply);
        waiting.delete(reply.id);
      }
    });
    const acquire = async (name) => {
      const held = { name, token: randomUUID() };
      await call('acquire', { ...held, holder: 'holder', ttl_ms: 30_000 });
      return held;
    };
    return {
      pids: [server.pid],
      async stop() {
        socket.terminate();
        await server.stop();
      },
      acquire,
      release: (held) => call('release', held),
      async renewable(name) {
        const held = await acquire(name);
        return () => call('renew', held);
      },
    };
  },
};

/**
 * beanstalkd over bare sockets. Callers share at most 64 connections: with more calls in flight, commands are pipelined.
 * Replies come in the order of the commands, so each connection has a queue of callbacks.
 */
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort, serverProcess } from '../server-process.mjs';

const CONNECTIONS_MAX = 64;
const LINE_FEED = 10;

export const peer = {
  name: 'beanstalkd',
  kinds: ['queue'],
  needs: { commands: ['beanstalkd'] },
  variants: [
    { name: 'no log', durable: 'no', flags: [] },
    { name: '-f50', durable: 'within 50 ms', flags: ['-f50'] },
    {
      name: '-f0',
      durable: 'yes',
      flags: ['-f0'],
      skips: {
        waiting:
          'Its log and memory are those of -f50, and a sync for each of a million tasks takes minutes.',
      },
    },
  ],
  async start({ variant, width, dir }) {
    const port = await freePort();
    const log = join(dir, 'log');
    mkdirSync(log);
    const args = ['-l', '127.0.0.1', '-p', String(port), ...variant.flags];
    if (variant.flags.length > 0) args.push('-b', log);
    const ready = async () => (await openConnection(port)).close();
    const start = () => serverProcess('beanstalkd', args, { dir, ready });
    let server = await start();
    const connections = Math.min(width, CONNECTIONS_MAX);
    const openAll = () => Promise.all(Array.from({ length: connections }, () => openConnection(port)));
    const producers = await openAll();
    return {
      pids: [server.pid],
      dataDir: log,
      async stop() {
        for (const connection of producers) connection.close();
        await server.stop();
      },
      async enqueue(data, lane) {
        const body = JSON.stringify(data);
        const reply = await producers[lane % connections].call(`put 0 0 60 ${body.length}\r\n${body}\r\n`);
        if (!reply.line.startsWith('INSERTED')) throw new Error(reply.line);
      },
      async work({ isDraining, handle, completed, failed }) {
        const consumers = await openAll();
        // A blocking reserve holds up everything behind it on its connection, so pipelined ones do not block.
        const depth = isDraining ? Math.ceil(width / connections) : 1;
        const reserve = `reserve-with-timeout ${depth > 1 ? 0 : 1}\r\n`;
        let isStopped = false;
        const loop = async (connection) => {
          while (!isStopped) {
            const { line, body } = await connection.call(reserve);
            if (line === 'TIMED_OUT') {
              await new Promise((resolve) => setTimeout(resolve, 1));
              continue;
            }
            if (!line.startsWith('RESERVED')) throw new Error(line);
            handle(JSON.parse(body));
            const verdict = await connection.call(`delete ${line.split(' ')[1]}\r\n`);
            if (verdict.line !== 'DELETED') throw new Error(verdict.line);
            completed();
          }
        };
        const loops = Promise.all(
          consumers.flatMap((connection) => Array.from({ length: depth }, () => loop(connection))),
        ).catch((fault) => {
          if (!isStopped) failed(fault);
        });
        return {
          async stop() {
            isStopped = true;
            for (const connection of consumers) connection.close();
            await loops;
          },
        };
      },
      async kill() {
        for (const connection of producers) connection.close();
        await server.kill();
      },
      async revive() {
        server = await start();
      },
      async waitingCount() {
        const connection = await openConnection(port);
        const { body } = await connection.call('stats-tube default\r\n');
        connection.close();
        return Number(/^current-jobs-ready: (\d+)$/m.exec(body)[1]);
      },
    };
  },
};

async function openConnection(port) {
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  await new Promise((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  let waiting = [];
  let next = 0;
  let rest = Buffer.alloc(0);
  let unsent = '';
  const flush = () => {
    socket.write(unsent, 'latin1');
    unsent = '';
  };
  socket.on('data', (chunk) => {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    let at = 0;
    for (;;) {
      const end = bytes.indexOf(LINE_FEED, at);
      if (end < 0) break;
      const line = bytes.latin1Slice(at, end - 1);
      const size = bodySize(line);
      if (bytes.length < end + 1 + size) break;
      const body = bytes.latin1Slice(end + 1, Math.max(end + 1, end - 1 + size));
      at = end + 1 + size;
      waiting[next++].resolve({ line, body });
    }
    rest = bytes.subarray(at);
    if (2 * next > waiting.length) {
      waiting = waiting.slice(next);
      next = 0;
    }
  });
  const end = () => {
    for (const { reject } of waiting.splice(next)) reject(new Error('The connection is closed.'));
  };
  socket.on('error', end);
  socket.on('close', end);
  return {
    call(command) {
      if (unsent === '') queueMicrotask(flush);
      unsent += command;
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    close: () => socket.destroy(),
  };
}

/** Bytes that follow a reply line: those of the body and its line end. */
function bodySize(line) {
  return /^(RESERVED|OK) /.test(line) ? Number(line.slice(line.lastIndexOf(' ') + 1)) + 2 : 0;
}

/**
 * The server of the sketch: arrays of operations as JSON over one WebSocket, a Map of locks with waiters in order, and
 * one write to a preallocated O_DSYNC file per turn before its replies leave. It checks nothing and expires nothing.
 */
import { closeSync, constants, fsyncSync, openSync, write, writeSync } from 'node:fs';
import process from 'node:process';
import { WebSocketServer } from 'ws';

const BYTES = 64 * 1_024 * 1_024;
const [port, path] = process.argv.slice(2);

// Written once before, so that a sync changes no metadata.
const blank = openSync(path, 'w');
writeSync(blank, Buffer.alloc(BYTES));
fsyncSync(blank);
closeSync(blank);
const file = openSync(path, constants.O_RDWR | constants.O_DSYNC);

const locks = new Map();
let queue = [];
let isBusy = false;
let offset = 0;
let seq = 0;

const server = new WebSocketServer({ port: Number(port), host: '127.0.0.1', perMessageDeflate: false });
server.on('connection', (socket) => {
  socket.replies = [];
  socket.on('message', (data) => {
    for (const op of JSON.parse(data)) queue.push({ socket, op });
    if (!isBusy) setImmediate(turn);
    isBusy = true;
  });
});

function turn() {
  const batch = queue;
  queue = [];
  const entries = [];
  const sockets = new Set();
  const reply = (socket, body) => {
    socket.replies.push(body);
    sockets.add(socket);
  };
  const grant = (socket, { id, name, token }) => {
    seq += 1;
    entries.push(`granted ${name} ${token} ${seq}`);
    reply(socket, { id, lease_seq: seq, remaining_ms: 30_000 });
  };
  for (const { socket, op } of batch) {
    const held = locks.get(op.name);
    if (op.verb === 'acquire') {
      if (held !== undefined) {
        held.waiters.push({ socket, op });
        continue;
      }
      locks.set(op.name, { token: op.token, waiters: [] });
      grant(socket, op);
    } else if (held?.token !== op.token) {
      reply(socket, { id: op.id, ok: false });
    } else if (op.verb === 'renew') {
      seq += 1;
      entries.push(`renewed ${op.name} ${seq}`);
      reply(socket, { id: op.id, ok: true, remaining_ms: 30_000 });
    } else {
      seq += 1;
      entries.push(`released ${op.name} ${seq}`);
      reply(socket, { id: op.id, ok: true });
      const waiter = held.waiters.shift();
      if (waiter === undefined) locks.delete(op.name);
      else {
        held.token = waiter.op.token;
        grant(waiter.socket, waiter.op);
      }
    }
  }
  const bytes = Buffer.from(entries.join('\n').padEnd(64));
  write(file, bytes, 0, bytes.length, offset, (fault) => {
    if (fault) throw fault;
    offset = (offset + bytes.length) % (BYTES / 2);
    for (const socket of sockets) {
      socket.send(JSON.stringify(socket.replies));
      socket.replies = [];
    }
    if (queue.length > 0) setImmediate(turn);
    else isBusy = false;
  });
}

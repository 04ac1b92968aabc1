// Thousands of live connections in a process of their own. Each holds a name, renews it when asked to, and may wait for one that is
// held. It reports to its parent what was answered.
//
//   node live-crowd-child.mjs PORT
//   parent → { open: COUNT }     opens so many, each of which acquires a name of its own
//   parent → { renew: TIMES }    each renews its name so many times, one after the other
//   parent → { wait: NAME }      each waits for this name; the message comes back once all have asked
//   parent → { close: true }     drops them all, without a goodbye
//   child  → { open, acquired, renewed, others, twice }   after each
import { WebSocket } from 'ws';

const port = process.argv[2];
/** More at once would overflow the queue of connections that the server has not accepted yet. */
const AT_A_TIME = 100;
const TTL_MS = 600_000;

const found = { open: 0, acquired: 0, renewed: 0, others: [], twice: 0 };
const peers = [];

class Peer {
  constructor(index) {
    this.lease = { name: `crowd:${index}`, holder: `h${index}`, token: `token-of-${index}-`.padEnd(32, 'x') };
    this.lastId = 0;
    this.waiting = new Map();
  }

  open() {
    return new Promise((resolve, reject) => {
      this.ws = new WebSocket(`ws://127.0.0.1:${port}/v1/live`, 'leasehold.1', { perMessageDeflate: false });
      this.ws.once('error', reject);
      this.ws.on('message', (data) => {
        const [, , ...items] = JSON.parse(data);
        if (items.length === 0) resolve();
        for (const [id, status, body] of items) this.take(id, status, body);
      });
    });
  }

  take(id, status, body) {
    const answered = this.waiting.get(id);
    if (answered === undefined) found.twice += 1;
    this.waiting.delete(id);
    answered?.({ status, body });
  }

  send(operation, request) {
    const id = ++this.lastId;
    const answer = new Promise((resolve) => this.waiting.set(id, resolve));
    this.ws.send(JSON.stringify([[id, operation, request]]));
    return answer;
  }

  async ask(operation, request, counter) {
    const { status, body } = await this.send(operation, request);
    if (status === 200) found[counter] += 1;
    else found.others.push(body.code);
  }
}

async function open(count) {
  for (let done = 0; done < count; done += AT_A_TIME) {
    const wave = Array.from({ length: Math.min(AT_A_TIME, count - done) }, (_, n) => new Peer(done + n));
    await Promise.all(wave.map((peer) => peer.open()));
    peers.push(...wave);
  }
  found.open = peers.length;
  await Promise.all(
    peers.map((peer) => peer.ask('lease.acquire', { ...peer.lease, ttl_ms: TTL_MS }, 'acquired')),
  );
}

async function renew(times) {
  await Promise.all(
    peers.map(async (peer) => {
      for (let time = 0; time < times; time++) {
        await peer.ask('lease.renew', { ...peer.lease, ttl_ms: TTL_MS + time + 1 }, 'renewed');
      }
    }),
  );
}

process.on('message', async (message) => {
  if (message.open) await open(message.open);
  if (message.renew) await renew(message.renew);
  if (message.wait) {
    const wait = { name: message.wait, ttl_ms: TTL_MS, wait_ms: 600_000 };
    for (const peer of peers) void peer.send('lease.acquire', { ...wait, holder: peer.lease.holder });
  }
  if (message.close) for (const peer of peers.splice(0)) peer.ws.terminate();
  process.send({ ...found, open: peers.length });
});
process.on('disconnect', () => process.exit(0));
process.send({ ready: true });

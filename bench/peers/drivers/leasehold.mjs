/**
 * leasehold itself. A mode says how to reach the authority: in this process, or a server of its own over a transport.
 * A further transport is one more line in SERVED.
 */
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { connect, defineTask, open } from '../../../dist/index.js';
import { postmasterPid } from '../postgres-processes.mjs';
import { freePort, serverProcess } from '../server-process.mjs';

const command = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', 'dist', 'cli', 'main.js');
/** As docs/operating.md recommends for many calls in flight; not where memory is measured. */
const NODE_FLAGS = ['--max-semi-space-size=64'];

/** How a client of each served mode is made. */
const SERVED = {
  live: (url) => connect(url),
  HTTP: (url) => connect(url, { transport: 'http' }),
};
const inProcess = {
  waiting: 'It is in the client’s process; the server has the same log and the same tables.',
};

export const peer = {
  name: 'leasehold',
  kinds: ['queue', 'lock'],
  needs: {},
  variants: [
    { name: 'embedded', durable: 'yes', skips: inProcess },
    ...Object.keys(SERVED).map((name) => ({ name, durable: 'yes' })),
    { name: 'embedded, log in Postgres', durable: 'yes', needs: { postgres: true }, skips: inProcess },
  ],
  async start({ variant, work, dir, database, cluster }) {
    const make = SERVED[variant.name];
    const server =
      make === undefined ? null : await serve(join(dir, 'data'), work === 'waiting' ? [] : NODE_FLAGS);
    let lh = await (server !== null ? make(server.url) : openIn(dir, database));
    const task = defineTask('task');
    const served = server === null ? [] : [server.process.pid];
    return {
      pids: cluster === undefined ? served : [postmasterPid(cluster)],
      dataDir: join(dir, 'data'),
      async stop() {
        await lh.close();
        await server?.process.stop();
      },
      enqueue: (data) => lh.enqueue(task, data),
      async work({ width, handle, completed }) {
        const onVerdict = () => completed();
        const worker = lh.work(task, { concurrency: width, onVerdict }, async ({ input }) => {
          handle(input);
          return null;
        });
        return { stop: () => worker.drain() };
      },
      // A call that waits travels by itself, so only callers that expect to wait ask for it.
      acquire: (name, { isContended }) =>
        lh.acquire(name, isContended ? { ttl: '30s', wait: '60s' } : { ttl: '30s' }),
      release: (lease) => lease.release(),
      async renewable(name, lane) {
        const request = { name, holder: `holder-${lane}`, ttl_ms: 600_000 };
        const { token } = await lh.lease.acquire(request);
        return async () => {
          const { ok } = await lh.lease.renew({ ...request, token }, { isRenewal: true });
          if (!ok) throw new Error('A renewal was refused.');
        };
      },
      async kill() {
        await lh.close();
        await server.process.kill();
      },
      async revive() {
        await server.start();
        lh = make(server.url);
      },
      waitingCount: async () => (await lh.status()).counts.tasks.WAITING,
    };
  },
};

async function openIn(dir, database) {
  if (database === undefined) return open(join(dir, 'data'));
  const { openOn } = await import('../../postgres/bench-postgres.mjs');
  return openOn(database, 'leasehold');
}

async function serve(data, nodeFlags) {
  const url = `http://127.0.0.1:${await freePort()}`;
  const args = ['serve', '--data', data, '--listen', url.slice('http://'.length), '--log-level', 'error'];
  const ready = async () => {
    if (!(await fetch(`${url}/readyz`)).ok) throw new Error('It is not ready.');
  };
  const server = {
    url,
    async start() {
      server.process = await serverProcess(process.execPath, [...nodeFlags, command, ...args], {
        dir: dirname(data),
        ready,
      });
    },
  };
  await server.start();
  return server;
}

// Two thousand live connections on one real server, their clients in a process of their own: every one is served, memory is bounded
// by connection, a stranger is served among them, and when they are gone nothing of them is left but their leases.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { type Body, CliBench, until } from '../support/cli-processes.ts';

const CHILD = fileURLToPath(new URL('./live-crowd-child.mjs', import.meta.url));
const CONNECTIONS = 2_000;
const RENEWALS = 3;
/** Of a connection with a lease, a wait and its share of the answers on their way. A bound, not a measurement. */
const CONNECTION_BYTES_MAX = 96 * 1024;

const bench = new CliBench();
afterEach(() => bench.close());

describe('two thousand live connections', () => {
  it('are served, each in bounded memory, and leave nothing behind', async () => {
    await bench.serve();
    const child = spawn(process.execPath, [CHILD, new URL(bench.url).port], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const ask = async (message: object): Promise<Body> => {
      const answer = once(child, 'message');
      child.send(message);
      return (await answer)[0];
    };
    try {
      await once(child, 'message');
      const bareBytes = peakBytes();
      expect(await ask({ open: CONNECTIONS })).toMatchObject({ open: CONNECTIONS, acquired: CONNECTIONS });
      const stranger = { holder: 's', ttl_ms: 600_000 };
      const { token } = await bench.post('/v1/leases/hot/acquire', stranger);
      await ask({ wait: 'hot' });
      await until('all of them to wait', async () => (await counts()).waiters === CONNECTIONS);

      const renewed = ask({ renew: RENEWALS });
      for (let time = 0; time < 20; time++) {
        const { name } = await bench.post('/v1/leases/hot/renew', { ...stranger, token });
        expect(name).toBe('hot');
      }
      expect(await renewed).toMatchObject({ renewed: RENEWALS * CONNECTIONS, others: [], twice: 0 });
      expect(peakBytes() - bareBytes).toBeLessThan(CONNECTIONS * CONNECTION_BYTES_MAX);
      expect(await gauge('leasehold_http_connections')).toBeGreaterThanOrEqual(CONNECTIONS);

      await ask({ close: true });
      await until('their waits to end', async () => (await counts()).waiters === 0);
      await until('them to be gone', async () => (await gauge('leasehold_http_connections')) < 20);
      // Only time ends a lease, and the next in line for the name that was waited for is the next caller.
      expect((await counts()).names).toBe(CONNECTIONS + 1);
      await bench.post('/v1/leases/hot/release', { holder: 's', token });
      expect((await bench.post('/v1/leases/hot/acquire', stranger)).name).toBe('hot');
      expect(await bench.stopServer('SIGTERM')).toMatchObject({ status: 0, stderr: '' });
    } finally {
      child.kill('SIGKILL');
    }
  });
});

async function counts(): Promise<Body> {
  return (await bench.get('/v1/status')).counts;
}

async function gauge(name: string): Promise<number> {
  const text = await (await fetch(`${bench.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

function peakBytes(): number {
  const status = readFileSync(`/proc/${bench.serverPid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)![1]) * 1024;
}

/**
 * One operation per request on 64 keep-alive connections, compared with a bare Fastify that checks the same schema
 * and group-commits the same bytes: the cost of HTTP itself.
 */
import { quick, row } from '../core/bench-world.mjs';
import { bareServer } from './bare-server.mjs';
import { rawConnections } from './raw-connections.mjs';
import { percentile, served } from './served.mjs';

const CONNECTIONS = 64;
const MS = quick ? 500 : 5_000;
const payload = 'x'.repeat(254);

const tokens = Array.from({ length: CONNECTIONS }, (_, index) =>
  `token-of-connection-${index}`.padEnd(24, '.'),
);

const KINDS = {
  'task.create': () => ({ method: 'POST', path: '/v1/tasks', body: `{"payload":"${payload}"}` }),
  'lease.acquire, lease.release': (index, isHeld) => {
    const verb = isHeld ? 'release' : 'acquire';
    const holder = `"holder":"h${index}","token":"${tokens[index]}-${counts[index]}"`;
    if (isHeld) counts[index] += 1;
    const body = isHeld ? `{${holder}}` : `{${holder},"ttl_ms":30000}`;
    return { method: 'POST', path: `/v1/leases/name-${index}/${verb}`, body, heard: () => !isHeld };
  },
};
const counts = new Array(CONNECTIONS).fill(0);

row('one operation a request, 64 connections', 'per second', 'p50 ms', 'p99 ms');
const bare = await bareServer();
await measure('a bare Fastify with schema and group sync', bare.url, KINDS['task.create']);
await bare.stop();
const server = await served();
for (const [name, next] of Object.entries(KINDS)) await measure(name, server.url, next);
await server.stop();

async function measure(name, url, next) {
  const connections = await rawConnections(url, CONNECTIONS);
  await connections.run(next, MS / 5);
  const { count, failed, latencies } = await connections.run(next, MS);
  connections.close();
  if (failed > 0) throw new Error(`${failed} requests were refused.`);
  row(
    name,
    Math.round((count * 1000) / MS).toLocaleString('en'),
    percentile(latencies, 0.5).toFixed(2),
    percentile(latencies, 0.99).toFixed(2),
  );
}

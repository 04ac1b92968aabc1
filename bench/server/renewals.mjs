/** Renewals of distinct names, as a client with very many leases sends them. */
import { connect } from '../../dist/index.js';
import { inFlight, perSecond, row, scaled } from '../core/bench-world.mjs';
import { served } from './served.mjs';

const WIDTH = 8_192;
const server = await served();
const lh = connect(server.url);
const leases = [];
await inFlight(WIDTH, WIDTH, async (worker, more) => {
  while (more()) {
    const name = `name-${worker}`;
    const holder = `holder-${worker}`;
    const { token } = await lh.call('lease.acquire', { name, holder, ttl_ms: 600_000 });
    leases[worker] = { name, holder, token, ttl_ms: 600_000 };
  }
});

async function renewals(worker, more) {
  while (more()) {
    const { ok } = await lh.call('lease.renew', leases[worker]);
    if (!ok) throw new Error('A renewal was refused.');
  }
}

await inFlight(scaled(200_000), WIDTH, renewals);
row('lease.renew of distinct names, in flight', 'per second');
for (const width of [1_024, 4_096, WIDTH]) {
  const ms = await inFlight(scaled(600_000), width, renewals);
  row(width.toLocaleString('en'), perSecond(scaled(600_000), ms));
}
await lh.close();
await server.stop();

/**
 * One million leases that expire at once: how late the expiries are written, and how long a renewal waits meanwhile.
 */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { benchDir, inFlight, nowMs, openBench, row, scaled } from './bench-world.mjs';

const lh = await openBench(join(benchDir(), 'data'));
const count = scaled(1_000_000);
const ttl = 30_000;
const dueAt = nowMs() + ttl;
const kept = await lh.call('lease.acquire', { name: 'kept', holder: 'renewer', ttl_ms: 600_000 });
let next = 0;
await inFlight(count, 4_096, async (_, more) => {
  while (more()) {
    const ttl_ms = Math.max(10, Math.round(dueAt - nowMs()));
    await lh.call('lease.acquire', { name: `name-${next++}`, holder: 'holder', ttl_ms });
  }
});
if (nowMs() > dueAt) throw new Error('Granting took longer than the leases last.');

const waits = [];
let lastMs = 0;
while (lastMs === 0 && nowMs() < dueAt + 60_000) {
  const from = nowMs();
  const renewed = await lh.call('lease.renew', {
    name: 'kept',
    holder: 'renewer',
    token: kept.token,
    ttl_ms: 600_000,
  });
  if (!renewed.ok) throw new Error(renewed.detail);
  if (nowMs() > dueAt - 100) waits.push(nowMs() - from);
  const { counts } = await lh.status();
  if (counts.leases === 1) lastMs = nowMs() - dueAt;
  await pause(5);
}
waits.sort((a, b) => a - b);
row('leases that fell due at once', count.toLocaleString('en'));
row('until the last end was written', `${(lastMs / 1000).toFixed(2)} s`);
row('renewals meanwhile', waits.length);
row('longest wait of a renewal', `${waits.at(-1).toFixed(1)} ms`);
await lh.close();

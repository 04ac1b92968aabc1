/** One million leases that expire one after the other: how late each expiry is written. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { benchDir, inFlight, nowMs, openBenchCore, perSecond, row, scaled } from './bench-world.mjs';

const { authority, calls } = await openBenchCore(join(benchDir(), 'data'));
const acquire = calls['lease.acquire'];
const count = scaled(1_000_000);
const spreadMs = 40_000;
const firstEnd = nowMs() + 40_000;
let next = 0;
await inFlight(count, 4_096, async (_, more) => {
  while (more()) {
    const number = next++;
    const ttl_ms = Math.round(firstEnd + (spreadMs * number) / count - nowMs());
    const reply = await acquire({ name: `name-${number}`, holder: 'holder', ttl_ms });
    if (!reply.ok) throw new Error(reply.detail);
  }
});
if (nowMs() > firstEnd) throw new Error('Granting took longer than the leases last.');

const { stats } = authority;
while (stats.nameExpiries < count && nowMs() < firstEnd + spreadMs + 60_000) await pause(100);
const { lateMs } = stats;
row('leases that ended one after the other', count.toLocaleString('en'));
row('ends a second', perSecond(count, spreadMs));
for (const share of [0.5, 0.99, 0.999]) {
  row(`${share * 100} % of the ends were written within`, bound(share));
}
row('on the average after', `${(lateMs.sum / lateMs.count).toFixed(1)} ms`);
await authority.close();

/** The histogram has buckets only, so this is the bucket bound for that share. */
function bound(share) {
  let seen = 0;
  for (const [index, each] of lateMs.counts.entries()) {
    seen += each;
    if (seen >= share * lateMs.count)
      return index < lateMs.bounds.length ? `${lateMs.bounds[index]} ms` : 'more';
  }
  return 'more';
}

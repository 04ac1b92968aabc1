/**
 * Acquire and release of distinct names with 4 096 in flight, and the memory left after ten million distinct names.
 */
import { join } from 'node:path';
import { benchDir, inFlight, openBench, perSecond, row, scaled } from './bench-world.mjs';

const lh = await openBench(join(benchDir(), 'data'));
const holders = Array.from({ length: 4096 }, (_, index) => `holder-${index}`);
let next = 0;

async function cycles(worker, more) {
  const holder = holders[worker];
  while (more()) {
    const name = `name-${next++}`;
    const { token } = await lh.call('lease.acquire', { name, holder, ttl_ms: 30_000 });
    const { released } = await lh.call('lease.release', { name, holder, token });
    if (!released) throw new Error('The lease was not released.');
  }
}

await inFlight(scaled(200_000), 4_096, cycles);
row('distinct names so far', 'cycles/s', 'RSS MiB');
for (let round = 0; round < 10; round++) {
  const ms = await inFlight(scaled(1_000_000), 4_096, cycles);
  globalThis.gc?.();
  row(
    next.toLocaleString('en'),
    perSecond(scaled(1_000_000), ms),
    Math.round(process.memoryUsage.rss() / 2 ** 20),
  );
}
await lh.close();

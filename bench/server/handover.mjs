/**
 * One name with 64 waiters: how often it changes hands, how evenly, and how long each waits. The first seconds are a
 * warm-up and not counted.
 */
import { connect } from '../../dist/index.js';
import { quick, row } from '../core/bench-world.mjs';
import { percentile, served } from './served.mjs';

const WAITERS = 64;
const WARM_MS = quick ? 500 : 5_000;
const MS = quick ? 1_000 : 8_000;
const server = await served();
const lh = connect(server.url);
const turns = new Array(WAITERS).fill(0);
const waits = [];
const fromMs = performance.now() + WARM_MS;
const untilMs = fromMs + MS;

await Promise.all(
  turns.map(async (_, index) => {
    const holder = `waiter-${index}`;
    while (performance.now() < untilMs) {
      const from = performance.now();
      const lease = await lh.call('lease.acquire', {
        name: 'the-one',
        holder,
        ttl_ms: 30_000,
        wait_ms: 60_000,
      });
      if (!lease.ok) throw new Error(lease.detail);
      if (from >= fromMs) {
        waits.push(performance.now() - from);
        turns[index] += 1;
      }
      await lh.call('lease.release', { name: 'the-one', holder, token: lease.token });
    }
  }),
);
row('one name, 64 waiters', 'hand-overs/s', 'p99 wait ms', 'fewest turns', 'most turns');
row(
  '',
  Math.round((waits.length * 1000) / MS).toLocaleString('en'),
  percentile(waits, 0.99).toFixed(1),
  Math.min(...turns),
  Math.max(...turns),
);
await lh.close();
await server.stop();

/** Replay from Postgres: a start on three million entries that were written with 4 096 in flight. */
import { inFlight, lifecycles, nowMs, perSecond, row, scaled } from '../core/bench-world.mjs';
import { openOn, withPostgres } from './bench-postgres.mjs';

const keep = { compactionBytesMin: Number.POSITIVE_INFINITY };

await withPostgres(async (url) => {
  const count = scaled(1_000_000);
  const lh = await openOn(url, 'bench_replay', keep);
  await inFlight(count, 4_096, (worker, more) => lifecycles(lh, `worker-${worker}`, more));
  await lh.close();
  row('', 'seconds', 'entries/s');
  for (let round = 1; round <= 3; round++) {
    const from = nowMs();
    const again = await openOn(url, 'bench_replay', keep);
    const ms = nowMs() - from;
    const { counts } = await again.status();
    if (counts.tasks.COMPLETED !== count) throw new Error(`There are ${counts.tasks.COMPLETED} tasks.`);
    row(
      `replay of ${(3 * count).toLocaleString('en')} entries`,
      (ms / 1000).toFixed(2),
      perSecond(3 * count, ms),
    );
    await again.close();
  }
});

/**
 * The cost of a compaction for concurrent work: lifecycles with 1 024 in flight while a checkpoint is written and old
 * rows are removed, against the same without; and the longest stall of the event loop.
 */
import {
  creates,
  inFlight,
  lifecycles,
  nowMs,
  perSecond,
  row,
  scaled,
  watchLoop,
} from '../core/bench-world.mjs';
import { openOn, withPostgres } from './bench-postgres.mjs';

const MIB = 2 ** 20;
const EVERY = scaled(64) * MIB;

await withPostgres(async (url) => {
  const waiting = scaled(300_000);
  row('', 'lifecycles/s', 'longest stall', 'log at the end');
  for (const [what, compactionBytesMin] of [
    ['without compaction', Number.POSITIVE_INFINITY],
    [`with a compaction every ${EVERY / MIB} MiB`, EVERY],
  ]) {
    const schema = `bench_compaction_${compactionBytesMin === EVERY ? 'on' : 'off'}`;
    const lh = await openOn(url, schema, { compactionBytesMin, segmentBytes: EVERY / 4 });
    await inFlight(waiting, 1_024, (_, more) => creates(lh, more));
    const loop = watchLoop();
    const count = scaled(300_000);
    const from = nowMs();
    await inFlight(count, 1_024, (worker, more) => lifecycles(lh, `worker-${worker}`, more));
    const ms = nowMs() - from;
    loop.stop();
    const { logBytes } = await lh.status();
    row(what, perSecond(count, ms), `${Math.round(loop.worst())} ms`, `${Math.round(logBytes / MIB)} MiB`);
    await lh.close();
  }
});

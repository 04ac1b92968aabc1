/**
 * Full task lifecycles (create, lease, complete), each acknowledgement after its sync, with 1 to 4 096 in
 * flight; beside them three bare durable writes of the same size into a preallocated file, on the same disk.
 */
import { constants, openSync, writeFileSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { benchDir, inFlight, lifecycle, nowMs, openBench, perSecond, row, scaled } from './bench-world.mjs';

const dir = benchDir();
const bare = await bareWrites(join(dir, 'bare'), scaled(3_000));
const lh = await openBench(join(dir, 'data'));
const workers = Array.from({ length: 4096 }, (_, index) => `worker-${index}`);
await inFlight(scaled(50_000), 256, (worker) => lifecycle(lh, workers[worker]));

row('in flight', 'lifecycles/s', 'µs each', 'CPU µs each');
for (const [width, count] of [
  [1, 1_500],
  [64, 60_000],
  [1_024, 400_000],
  [4_096, 600_000],
]) {
  const before = process.cpuUsage();
  const ms = await inFlight(scaled(count), width, (worker) => lifecycle(lh, workers[worker]));
  const { user, system } = process.cpuUsage(before);
  const each = (ms * 1000) / scaled(count);
  row(width, perSecond(scaled(count), ms), each.toFixed(1), ((user + system) / scaled(count)).toFixed(1));
  if (width === 1) {
    row('  three bare durable writes', '', (3 * bare).toFixed(1));
    row('  ratio to them', '', (each / (3 * bare)).toFixed(2));
  }
}
await lh.close();

/** Microseconds for one durable write of 512 bytes into a file that was written before. */
async function bareWrites(file, count) {
  writeFileSync(file, Buffer.alloc(16 * 2 ** 20));
  const handle = await open(file, 'r+');
  await handle.sync();
  await handle.close();
  const fd = openSync(file, constants.O_RDWR | constants.O_DSYNC);
  const bytes = Buffer.alloc(512, 7);
  const from = nowMs();
  for (let index = 0; index < count; index++)
    writeSync(fd, bytes, 0, bytes.length, (index * 512) % (16 * 2 ** 20));
  return ((nowMs() - from) * 1000) / count;
}

/**
 * Full task lifecycles (create, lease, complete), each acknowledged after its sync, with 1 to 4 096 in flight;
 * compared with three bare durable writes of the same size into a preallocated file on the same disk.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, writeFileSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { benchDir, inFlight, lifecycles, nowMs, openBench, perSecond, row, scaled } from './bench-world.mjs';

const dir = benchDir();
const lh = await openBench(join(dir, 'data'));
const workers = Array.from({ length: 4096 }, (_, index) => `worker-${index}`);
await inFlight(scaled(50_000), 256, (worker, more) => lifecycles(lh, workers[worker], more));
await run(1, 100);

row('in flight', 'lifecycles/s', 'µs each', 'CPU µs each');
// Flush what the warm-up left in the page cache, so that it is not charged to the next measurement.
spawnSync('sync');
const before = await bareWrites(join(dir, 'bare'), scaled(2_000));
const lone = await run(1, scaled(2_000));
const after = await bareWrites(join(dir, 'bare'), scaled(2_000));
const bare = 3 * ((before + after) / 2);
show(1, lone);
row('  three bare durable writes, before and after', '', bare.toFixed(1));
row('  ratio to them', '', (lone.us / bare).toFixed(2));
show(64, await run(64, scaled(100_000)));
show(1_024, await run(1_024, scaled(400_000)));
show(4_096, await run(4_096, scaled(600_000)));
await lh.close();

async function run(width, count) {
  const from = process.cpuUsage();
  const ms = await inFlight(count, width, (worker, more) => lifecycles(lh, workers[worker], more));
  const { user, system } = process.cpuUsage(from);
  return { us: (ms * 1000) / count, cpuUs: (user + system) / count };
}

function show(width, { us, cpuUs }) {
  row(width, perSecond(1_000, us), us.toFixed(1), cpuUs.toFixed(1));
}

/** Microseconds for one durable write of 512 bytes into an allocated file. */
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
  const us = ((nowMs() - from) * 1000) / count;
  closeSync(fd);
  return us;
}

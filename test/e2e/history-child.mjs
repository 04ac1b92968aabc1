// A real server with segments so small that its log is compacted every few hundred kilobytes. HISTORY_BYTES: how much history
// it keeps; without it none. KILL_AT_REMOVAL=n: it is killed with SIGKILL instead of removing the n-th file of the log.
import process from 'node:process';
import { fileEngine } from '../../dist/engines/file/file-engine.js';
import { makeLogger } from '../../dist/server/make-logger.js';
import { serve } from '../../dist/server/serve.js';
import { nodeFiles } from '../../dist/world/node-files.js';
import { loopLag } from '../../dist/world/node-loop-lag.js';
import { nodeThreads } from '../../dist/world/node-threads.js';
import { systemClock, systemTimers } from '../../dist/world/system-clock.js';
import { systemIds } from '../../dist/world/system-ids.js';

const [dir] = process.argv.slice(2);
const { HISTORY_BYTES, KILL_AT_REMOVAL = '0' } = process.env;
const KIB = 1024;
let removals = Number(KILL_AT_REMOVAL);

const files = {
  ...nodeFiles,
  async remove(path) {
    if (/\.(seg|ckpt)$/.test(path) && --removals === 0) process.kill(process.pid, 'SIGKILL');
    await nodeFiles.remove(path);
  },
};
const engine = fileEngine({
  dir,
  files,
  threads: nodeThreads,
  segmentBytes: 256 * KIB,
  compactionBytesMin: 512 * KIB,
  ...(HISTORY_BYTES === undefined
    ? {}
    : { history: { forMs: Number.POSITIVE_INFINITY, bytesMax: Number(HISTORY_BYTES) } }),
});
const world = {
  clock: systemClock,
  timers: systemTimers,
  newToken: systemIds.token,
  hashSeed: systemIds.seed(),
  servingThreads: nodeThreads,
  logger: makeLogger('error'),
  loopLag,
  freeBytes: async () => Number.POSITIVE_INFINITY,
};
const served = await serve(engine, world, { host: '127.0.0.1', port: 0, version: 'test' });
process.stdout.write(`${served.url}\n`);
process.once('SIGTERM', () => served.stop().then(() => process.exit(0)));

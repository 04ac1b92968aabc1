// Makes the golden log of the present format, once: `npm run build && node test/golden/make.mjs NAME`. Golden logs replay for
// ever, so an existing one is never made again; when the format changes, a new one is put beside the old ones.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { openWith } from '../../dist/embedded/open.js';
import { fileEngine } from '../../dist/engines/file/file-engine.js';
import { jsonText } from '../../dist/protocol/json.js';
import { nodeFiles } from '../../dist/world/node-files.js';

const name = process.argv[2];
const target = join(dirname(fileURLToPath(import.meta.url)), `${name}.json`);
if (name === undefined || existsSync(target)) {
  console.error(name === undefined ? 'It needs a name.' : `${target} is there already, and stays as it is.`);
  process.exit(2);
}

let nowMs = Date.UTC(2026, 0, 1);
let tokens = 0;
const world = {
  clock: { wallMs: () => nowMs, monotonicMs: () => nowMs },
  timers: {
    after: () => ({ cancel: () => undefined }),
    soon: (call) => setImmediate(call),
    hold: () => ({ cancel: () => undefined }),
  },
  newToken: () => `golden-token-${String(++tokens).padStart(8, '0')}`,
  hashSeed: 1,
};
const retention = { endedTasksMs: 10_000, idleNamesMs: 10_000 };

const dir = mkdtempSync(join(tmpdir(), 'leasehold-golden-'));
const engine = () => fileEngine({ dir, files: nodeFiles, segmentBytes: 64 * 1024 });
let lh = await openWith(engine(), world, { retention });

const lease = async (queue, ttl = 30_000) => {
  const reply = await lh.task.lease({
    worker_id: 'worker',
    queues: [queue],
    ttl_ms: ttl,
    request_id: `r-${queue}`,
  });
  const { task_id, lease_id } = reply.leases[0];
  return { task_id, lease_id };
};
const object = await lh.lease.acquire({
  name: 'object',
  holder: 'anna',
  ttl_ms: 600_000,
  metadata: { pid: 1 },
});
const fence = { lease_seq: object.lease_seq };
for (const queue of ['done', 'failed', 'released', 'expired', 'killed', 'late', 'waiting']) {
  await lh.task.create({
    payload: { queue, text: 'größer als 1.0' },
    queue,
    priority: queue.length,
    dedup_key: queue,
  });
}
await lh.task.create({
  payload: [1.0, 2],
  task_id: 'chosen/not'.replace('/', '-'),
  queue: 'chosen',
  delay_ms: 5_000,
});
await lh.task.complete({
  ...(await lease('done')),
  result: { ok: 1 },
  writes: [{ object_id: 'object', value: 1, lease: fence }],
});
await lh.task.fail({ ...(await lease('failed')), reason: 'it broke', retry: false });
await lh.task.release({ ...(await lease('released')), delay_ms: 1_000 });
const expired = await lease('expired', 100);
const late = await lease('late', 100);
const killed = await lease('killed');
await lh.task.extend({ ...killed, ttl_ms: 60_000 });
await lh.task.kill({ task_id: killed.task_id, reason: 'no longer wanted' });
nowMs += 1_000;
await lh.task.get({ task_id: expired.task_id });
await lh.task.complete({ ...late, result: 'too late' });
await lh.object.write({ object_id: 'object', value: { second: true }, lease: fence });
await lh.lease.renew({ name: 'object', holder: 'anna', token: object.token, ttl_ms: 900_000 });
const brief = await lh.lease.acquire({ name: 'brief', holder: 'boris', ttl_ms: 1_000 });
await lh.lease.release({ name: 'brief', holder: 'boris', token: brief.token });
await lh.lease.acquire({ name: 'expiring', holder: 'boris', ttl_ms: 500 });
await lh.lease.acquire({ name: 'broken', holder: 'boris', ttl_ms: 60_000 });
await lh.lease.break({ name: 'broken', reason: 'by hand' });
await lh.lease.acquireAll({ names: ['a', 'b', 'lease:c'], holder: 'clara', ttl_ms: 600_000 });
const guard = await lh.lease.acquire({
  name: 'system:orchestrator:guard_lock',
  holder: 'o',
  ttl_ms: 600_000,
});
const proof = { name: guard.name, holder: 'o', token: guard.token };
await lh.lease.wipe({ prefix: 'lease:', guard: proof });
const doomed = await lh.lease.acquire({ name: 'doomed', holder: 'd', ttl_ms: 600_000 });
await lh.object.write({ object_id: 'doomed', value: null, lease: { lease_seq: doomed.lease_seq } });
await lh.object.delete({ object_id: 'doomed', lease: { lease_seq: doomed.lease_seq } });
await lh.pause({ queue: 'waiting' });
await lh.pause({ queue: 'other' });
await lh.resume({ queue: 'other' });
nowMs += 1_000;
await lh.lease.get({ name: 'expiring' });
await lh.close();
nowMs += 20_000;
lh = await openWith(engine(), world, { retention });
await lh.status();
await lh.task.create({ payload: 'after the restart', queue: 'waiting' });

const entries = await lh.log({ limit: 1_000 });
const records = {
  status: await lh.status(),
  tasks: await lh.task.list({ limit: 1_000 }),
  leases: await lh.lease.list({ limit: 1_000 }),
  object: await lh.object.get({ object_id: 'object' }),
  queues: await lh.queues(),
};
await lh.close();
const files = Object.fromEntries(
  readdirSync(dir)
    .filter((file) => file.endsWith('.seg'))
    .map((file) => [file, gzipSync(readFileSync(join(dir, file))).toString('base64')]),
);
rmSync(dir, { recursive: true });
writeFileSync(target, `${jsonText({ nowMs, files, entries: entries.entries, records })}\n`);
console.log(
  `${target}: ${entries.entries.length} entries of ${new Set(entries.entries.map(({ type }) => type)).size} types.`,
);

// Makes the golden log of the present format, once: `npm run build && node test/golden/make.mjs NAME`. Golden logs replay for
// ever, so an existing one is never made again; when the format changes, new ones are put beside the old ones. With
// `--compacted` its beginning is in a checkpoint.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { transportOf } from '../../dist/client/client.js';
import { fileEngine } from '../../dist/engines/file/file-engine.js';
import { openWith } from '../../dist/open.js';
import { jsonText } from '../../dist/protocol/json.js';
import { nodeFiles } from '../../dist/world/node-files.js';
import { nodeThreads } from '../../dist/world/node-threads.js';

const name = process.argv[2];
const isCompacted = process.argv[3] === '--compacted';
const target = join(dirname(fileURLToPath(import.meta.url)), `${name}.json`);
if (name === undefined || existsSync(target)) {
  console.error(name === undefined ? 'It needs a name.' : `${target} is there already, and stays as it is.`);
  process.exit(2);
}

let nowMs = Date.UTC(2026, 0, 1);
let tokens = 0;
const world = {
  clock: { wallMs: () => nowMs, monotonicMs: () => nowMs, uptimeMs: () => nowMs },
  timers: {
    after: () => ({ cancel: () => undefined }),
    soon: (call) => setImmediate(call),
    hold: () => ({ cancel: () => undefined }),
  },
  newToken: () => `golden-token-${String(++tokens).padStart(8, '0')}`,
  hashSeed: 1,
};
const options = {
  retention: {
    completedTasks: { for: '10s' },
    failedTasks: { for: '1m' },
    idleNames: { for: '10s' },
    endedSessions: { for: '10s' },
  },
  intents: { secret: 'golden' },
};

const dir = mkdtempSync(join(tmpdir(), 'leasehold-golden-'));
const compaction = isCompacted ? { threads: nodeThreads, compactionBytesMin: 1 } : {};
const engine = () => fileEngine({ dir, files: nodeFiles, segmentBytes: 64 * 1024, ...compaction });
let lh = await openWith(engine(), world, options);

const lease = async (queue, ttl = 30_000) => {
  const reply = await lh.call('task.lease', {
    worker_id: 'worker',
    queues: [queue],
    ttl_ms: ttl,
    request_id: `r-${queue}`,
  });
  const { task_id, lease_id } = reply.leases[0];
  return { task_id, lease_id };
};
const object = await lh.call('lease.acquire', {
  name: 'object',
  holder: 'anna',
  ttl_ms: 600_000,
  metadata: { pid: 1 },
});
const fence = { lease_seq: object.lease_seq };
for (const queue of ['done', 'failed', 'released', 'expired', 'killed', 'late', 'waiting']) {
  await lh.call('task.create', {
    payload: { queue, text: 'größer als 1.0' },
    queue,
    priority: queue.length,
    dedup_key: queue,
  });
}
await lh.call('task.create', {
  payload: [1.0, 2],
  task_id: 'chosen/not'.replace('/', '-'),
  queue: 'chosen',
  delay_ms: 5_000,
});
await lh.call('task.complete', {
  ...(await lease('done')),
  result: { ok: 1 },
  writes: [{ object_id: 'object', value: 1, lease: fence }],
});
await lh.call('task.fail', { ...(await lease('failed')), reason: 'it broke', retry: false });
await lh.call('task.release', { ...(await lease('released')), delay_ms: 1_000 });
const expired = await lease('expired', 100);
const late = await lease('late', 100);
const killed = await lease('killed');
await lh.call('task.extend', { ...killed, ttl_ms: 60_000 });
await lh.call('task.kill', { task_id: killed.task_id, reason: 'no longer wanted' });
nowMs += 1_000;
await lh.call('task.get', { task_id: expired.task_id });
await lh.call('task.complete', { ...late, result: 'too late' });
await lh.call('object.write', { object_id: 'object', value: { second: true }, lease: fence });
await lh.call('lease.renew', { name: 'object', holder: 'anna', token: object.token, ttl_ms: 900_000 });
const brief = await lh.call('lease.acquire', { name: 'brief', holder: 'boris', ttl_ms: 1_000 });
await lh.call('lease.release', { name: 'brief', holder: 'boris', token: brief.token });
await lh.call('lease.acquire', { name: 'expiring', holder: 'boris', ttl_ms: 500 });
await lh.call('lease.acquire', { name: 'broken', holder: 'boris', ttl_ms: 60_000 });
await lh.call('lease.break', { name: 'broken', reason: 'by hand' });
await lh.call('lease.acquire_all', { names: ['a', 'b', 'lease:c'], holder: 'clara', ttl_ms: 600_000 });
const guard = await lh.call('lease.acquire', {
  name: 'system:orchestrator:guard_lock',
  holder: 'o',
  ttl_ms: 600_000,
});
const proof = { name: guard.name, holder: 'o', token: guard.token };
await lh.call('lease.wipe', { prefix: 'lease:', guard: proof });

// Sessions: one that runs and stays, and one for every way to end that needs no waiting.
const request = (serviceRef) => lh.call('intent.accept', { type: 'live', serviceRef, profileID: 'low' });
const start = async (slots) => {
  const starts = { worker_id: 'o', queues: ['system:session-starts'], guard: proof };
  const { task_id, lease_id } = (await lh.call('task.lease', starts)).leases[0];
  const ttl = { ttl_ms: 600_000 };
  return lh.call('session.start', { session_id: task_id, guard: proof, lease_id, slots, ...ttl });
};
const change = (session_id, event, told = {}) =>
  lh.call('session.change', { session_id, guard: proof, event, ...told });
const { session_id: running } = await request('ard');
await start(['0', '1']);
await change(running, 'ready');
await lh.call('session.renew', { guard: proof, session_ids: [running], ttl_ms: 900_000 });
const { session_id: stopped } = await request('zdf');
await start(['0', '1']);
await lh.call('session.stop', { session_id: stopped });
await change(stopped, 'stopped');
await lh.call('intent.accept', { type: 'vod', recordingID: 'größer', profileID: 'high', start_ms: 61_500 });
await start(['0']);
const { session_id: failed } = await request('arte');
await start(['0', '1']);
await change(failed, 'process_ended', { detail: 'exit code 3' });
await request('orf');
await start(['1']);
await lh.call('lease.break', { name: 'lease:tuner:1', reason: 'by hand' });
const { session_id: cancelled } = await request('3sat');
await lh.call('session.stop', { session_id: cancelled });
// And one of a recording that runs and stays.
const film = { type: 'vod', recordingID: 'film', profileID: 'high', start_ms: 61_500 };
const { session_id: playing } = await lh.call('intent.accept', film);
await start(['2']);

// A failure that uses up the attempts.
await lh.call('task.create', { payload: null, queue: 'exhausted', max_attempts: 1 });
await lh.call('task.fail', { ...(await lease('exhausted')), reason: 'the only attempt' });

// Tasks with a key and a trace, and ended ones that are run again.
const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
await lh.call('task.create', { payload: 1, queue: 'keyed', key: 'größer', trace: { traceparent } });
await lh.call('task.create', {
  payload: 2,
  task_id: 'traced',
  queue: 'keyed',
  key: 'größer',
  trace: { traceparent, tracestate: 'vendor=1' },
});
await lh.call('task.kill', { task_id: 'traced', reason: 'no longer wanted' });
await lh.call('task.requeue', { task_id: 'traced', reason: 'wanted after all', delay_ms: 60_000 });
await lh.call('task.requeue', { task_id: killed.task_id, task_id_new: 'again', queue: 'keyed', priority: 3 });

// Cancelled before and while it was leased, saved progress, and changed.
await lh.call('task.create', { payload: 3, task_id: 'unwanted', queue: 'operated' });
await lh.call('task.cancel', { task_id: 'unwanted', reason: 'not needed' });
await lh.call('task.create', { payload: 4, task_id: 'running', queue: 'operated' });
const [operated] = (await lh.call('task.lease', { worker_id: 'w', queues: ['operated'], ttl_ms: 600_000 }))
  .leases;
await lh.call('task.checkpoint', {
  task_id: 'running',
  lease_id: operated.lease_id,
  value: { done: 1, total: 2 },
});
await lh.call('task.cancel', { task_id: 'running', reason: 'stop' });
await lh.call('task.create', { payload: 5, task_id: 'moved', queue: 'operated' });
await lh.call('task.change', { task_id: 'moved', queue: 'waiting', priority: 7, delay_ms: 60_000 });

// Schedules: one that fires and is caught up later, one by cron, one paused, one removed, one fired by hand.
const scheduled = { queue: 'scheduled', payload: { text: 'größer' } };
await lh.call('schedule.put', { name: 'every', every_ms: 1_000, overlap: 'allow', ...scheduled });
await lh.call('schedule.put', {
  name: 'nightly',
  cron: '30 2 * * MON-FRI',
  timezone: 'Europe/Berlin',
  key: 'k',
  priority: 5,
  retry: { max_failures: 2 },
  catch_up: 'all',
  jitter_ms: 500,
  starts_at: '2026-02-01T00:00:00Z',
  ends_at: '2027-02-01T00:00:00Z',
  ...scheduled,
});
await lh.call('schedule.put', { name: 'paused', every_ms: 5_000, applied: true, ...scheduled });
await lh.call('schedule.pause', { name: 'paused' });
await lh.call('schedule.put', { name: 'removed', every_ms: 5_000, ...scheduled });
await lh.call('schedule.delete', { name: 'removed' });
await lh.call('schedule.fire', { name: 'nightly', request_id: 'by hand' });

// A queue with limits: keys that wait, and grants that a rate counts.
await lh.call('queue.limit', {
  queue: 'limited',
  max_leased: 4,
  max_leased_per_key: 1,
  rate: { count: 3, per_ms: 3_600_000, per_key: true },
});
await lh.call('queue.limit', { queue: 'slow', rate: { count: 2, per_ms: 3_600_000 }, applied: true });
for (const key of ['a', 'a', 'b', undefined])
  await lh.call('task.create', { payload: 6, queue: 'limited', ...(key && { key }) });
await lh.call('task.lease', { worker_id: 'w', queues: ['limited'], max: 9, ttl_ms: 600_000 });
for (let number = 0; number < 3; number++) await lh.call('task.create', { payload: 7, queue: 'slow' });
await lh.call('task.lease', { worker_id: 'w', queues: ['slow'], max: 9, ttl_ms: 1_000 });

const doomed = await lh.call('lease.acquire', { name: 'doomed', holder: 'd', ttl_ms: 600_000 });
await lh.call('object.write', { object_id: 'doomed', value: null, lease: { lease_seq: doomed.lease_seq } });
await lh.call('object.delete', { object_id: 'doomed', lease: { lease_seq: doomed.lease_seq } });
await lh.call('queue.pause', { queue: 'waiting' });
await lh.call('queue.pause', { queue: 'other' });
await lh.call('queue.resume', { queue: 'other' });
nowMs += 1_000;
await lh.call('lease.get', { name: 'expiring' });
await lh.close();
nowMs += 20_000;
// From here on intents take the lease of their service themselves.
lh = await openWith(engine(), world, { ...options, intents: { ...options.intents, takeLeases: true } });
await lh.status();
await lh.call('task.create', { payload: 'after the restart', queue: 'waiting' });
await request('after the restart');
await change(playing, 'ready');
await lh.call('intent.accept', { type: 'vod', recordingID: 'series', profileID: 'low', start_ms: 5_000 });
await lh.call('session.stop', { session_id: running });
const { session_id: again } = await request('3sat');
await lh.call('session.stop', { session_id: again });
// Something that leaves nothing behind, until the segment is full and its checkpoint has replaced it.
for (let round = 0; isCompacted && (await lh.status()).firstSeq === 1; round++) {
  if (round === 5_000) throw new Error('It is not compacted.');
  await lh.call('queue.pause', { queue: 'filling' });
  await lh.call('queue.resume', { queue: 'filling' });
  await new Promise((resolve) => setTimeout(resolve, 5));
}
// An empty queue that is not paused is in no checkpoint; what is asked below is asked of what the files give.
await lh.close();
lh = await openWith(engine(), world, options);

const entries = await transportOf(lh).log({ limit: 1_000 });
const records = {
  status: await lh.call('status.get', {}),
  tasks: await lh.call('task.list', { limit: 1_000 }),
  leases: await lh.call('lease.list', { limit: 1_000 }),
  object: await lh.call('object.get', { object_id: 'object' }),
  queues: await lh.call('queue.list', {}),
  sessions: await lh.call('session.list', { limit: 1_000 }),
  schedules: await lh.call('schedule.list', { limit: 1_000 }),
};
await lh.close();
const files = Object.fromEntries(
  readdirSync(dir)
    .filter((file) => /\.(seg|ckpt)$/.test(file))
    .map((file) => [file, gzipSync(readFileSync(join(dir, file))).toString('base64')]),
);
rmSync(dir, { recursive: true });
writeFileSync(target, `${jsonText({ nowMs, files, entries: entries.entries, records })}\n`);
console.log(
  `${target}: ${entries.entries.length} entries of ${new Set(entries.entries.map(({ type }) => type)).size} types.`,
);

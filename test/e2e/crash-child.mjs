// A process that works on a data directory until it is killed. What has been acknowledged to it, it prints, a line each.
// It first checks everything that earlier ones printed (LEDGER), and says `verified N` or `missing …` and exits 9.
// KILL=point:n makes it kill itself at the n-th durable write: before it, in the middle of it, or after it.
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { fileEngine } from '../../dist/engines/file/file-engine.js';
import { openWith } from '../../dist/open.js';
import { nodeFiles } from '../../dist/world/node-files.js';
import { nodeThreads } from '../../dist/world/node-threads.js';
import { systemClock, systemTimers } from '../../dist/world/system-clock.js';
import { systemIds } from '../../dist/world/system-ids.js';

const [dir, round] = process.argv.slice(2);
const [point, count] = (process.env.KILL ?? 'never:0').split(':');
const WIDTH = 32;
const AT_A_TIME = 1_000;
const ACKNOWLEDGED_MAX = Number(process.env.ACKNOWLEDGED_MAX ?? Number.POSITIVE_INFINITY);

let acknowledged = 0;
let left = Number(count);
// It waits to be killed, even with nothing left to do.
setInterval(() => undefined, 1_000);

const isTime = () => point !== 'never' && --left === 0;
const die = () => process.kill(process.pid, 'SIGKILL');

/** The real disk, with a process that ends at the given point. */
const files = {
  ...nodeFiles,
  async open(path, mode) {
    const file = await nodeFiles.open(path, mode);
    const read = file.read.bind(file);
    if (point === 'replay') {
      file.read = async (...args) => {
        if (isTime()) die();
        return await read(...args);
      };
    }
    if (!mode.durable || point === 'replay') return file;
    const write = file.write.bind(file);
    file.write = async (bytes, position) => {
      const now = isTime();
      if (now && point === 'before-append') die();
      if (now && point === 'torn-write') {
        await write(bytes.subarray(0, Math.floor(bytes.length / 2)), position);
        die();
      }
      const written = await write(bytes, position);
      if (now && point === 'after-sync') die();
      return written;
    };
    return file;
  },
};

const world = { clock: systemClock, timers: systemTimers, newToken: systemIds.token, hashSeed: 1 };
const MIB = 1024 * 1024;
const engine = fileEngine({
  dir,
  files,
  threads: nodeThreads,
  segmentBytes: MIB,
  compactionBytesMin: 2 * MIB,
});
const lh = await openWith(engine, world, {
  onDeath: (fault) => {
    say(`fault ${fault.cause?.message ?? fault.message}`);
    process.exit(8);
  },
});
await verify();
await Promise.all(Array.from({ length: WIDTH }, (_, worker) => work(worker)));

function say(line) {
  process.stdout.write(`${line}\n`);
}

/** A process that is not killed in time stops working, so that the ledger stays short. */
function acknowledge(line) {
  say(line);
  acknowledged += 1;
  return acknowledged < ACKNOWLEDGED_MAX ? undefined : new Promise(() => undefined);
}

async function verify() {
  const ledger = readFileSync(process.env.LEDGER, 'utf8').split('\n').filter(Boolean);
  const created = new Set();
  const completed = new Set();
  const versions = new Map();
  for (const line of ledger) {
    const [what, id, number] = line.split(' ');
    if (what === 'created') created.add(id);
    if (what === 'completed') completed.add(id);
    if (what === 'wrote') versions.set(id, Math.max(Number(number), versions.get(id) ?? 0));
  }
  // The longer the others lived, the more there is to ask; all of it at once would be refused as too much.
  await inTurns([...created], (id) => verifyTask(id, completed.has(id)));
  await inTurns([...versions], ([id, version]) => verifyObject(id, version));
  say(`verified ${ledger.length}`);
}

async function inTurns(all, verifyOne) {
  for (let at = 0; at < all.length; at += AT_A_TIME)
    await Promise.all(all.slice(at, at + AT_A_TIME).map(verifyOne));
}

async function verifyTask(id, isCompleted) {
  const task = await lh.call('task.get', { task_id: id });
  if (!task.ok) missing(`task ${id}: ${task.code}`);
  if (isCompleted && task.state !== 'COMPLETED') missing(`completion of ${id}: ${task.state}`);
  if (task.payload === null || task.payload.parse().id !== id) missing(`payload of ${id}`);
}

async function verifyObject(id, version) {
  const object = await lh.call('object.get', { object_id: id });
  if (!object.ok || object.version < version) missing(`version ${version} of ${id}`);
}

function missing(what) {
  say(`missing ${what}`);
  process.exit(9);
}

async function work(worker) {
  const queue = `r${round}-w${worker}`;
  const [name, holder] = [`object-${worker}`, queue];
  // The life before this one may have held it when it was killed.
  await lh.call('lease.break', { name, reason: 'its holder is dead' });
  for (let number = 0; ; number++) {
    const id = `${queue}-n${number}`;
    await lh.call('task.create', { task_id: id, payload: { id, pad: 'x'.repeat(200) }, queue });
    await acknowledge(`created ${id}`);
    const { leases } = await lh.call('task.lease', { worker_id: queue, queues: [queue] });
    const lease = await lh.call('lease.acquire', { name, holder, ttl_ms: 60_000 });
    if (!lease.ok) missing(`lease of ${name}: ${lease.code}`);
    await acknowledge(`leased ${name} ${lease.lease_seq}`);
    const write = { object_id: name, value: { id }, lease: { lease_seq: lease.lease_seq } };
    const { task_id, lease_id } = leases[0];
    const verdict = await lh.call('task.complete', { task_id, lease_id, writes: [write] });
    if (verdict.outcome !== 'COMMITTED') missing(`lease of ${id}: ${JSON.stringify(verdict)}`);
    // On a machine that is slow enough it is an older one, which came back to the queue.
    await acknowledge(`completed ${task_id}`);
    const { version } = await lh.call('object.get', { object_id: name });
    await acknowledge(`wrote ${name} ${version}`);
    await lh.call('lease.release', { name, holder, token: lease.token });
  }
}

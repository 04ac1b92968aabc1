// A farm of four tuners: whoever asks first is served, the same wish is shared, and what cannot be had is said at once. With
// ffmpeg its pipelines are test patterns that can be played, see README.md beside this file; without it the profile `demo`.
//
//   node examples/tuner-farm/farm.mjs [DIR]
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect } from 'leasehold';

const isKept = process.argv[2] !== undefined;
const dir = resolve(isKept ? process.argv[2] : mkdtempSync(join(tmpdir(), 'leasehold-tuner-farm-')));
const hasFfmpeg = spawnSync('ffmpeg', ['-version'], { stdio: 'ignore' }).status === 0;
const profileID = hasFfmpeg ? 'pattern' : 'demo';

const farm = await startFarm();
const lh = connect(farm.url);
say('the farm runs', hasFfmpeg ? 'ffmpeg, test patterns' : 'there is no ffmpeg, so the profile demo');

// A wish is durable when it is accepted. Who gets a tuner is decided by the orchestrator, in the order of the wishes.
// Another position of a recording is a wish of its own.
const wishes = [live('ard'), live('zdf'), recording('film-7', 0), recording('film-7', 60_000)];
const ids = await Promise.all(wishes.map(request));
for (const [index, session] of (await Promise.all(ids.map(settled))).entries()) show(wishes[index], session);

// Whoever wants the same is given the session that is there.
const again = await lh.call('intent.accept', live('ard'));
say('ard once more', again.session_id === ids[0] ? `${again.status}, the same session` : 'another session');

// For a fifth there is no tuner.
show(live('orf'), await settled(await request(live('orf'))));
say('tuners in use', await metric('xg2g_tuners_in_use'));

// A tuner that is given back is there for the next.
await lh.call('session.stop', { session_id: ids[1] });
const stopped = await ended(ids[1]);
say('zdf is stopped', `${stopped.state}, ${stopped.reason}`);
const orf = await request(live('orf'));
show(live('orf'), await settled(orf));

const running = [ids[0], ids[2], ids[3], orf];
if (hasFfmpeg && isKept)
  for (const id of running) say('to be played', join(dir, 'streams', id, 'index.m3u8'));

// The entry that ends a session also ends its leases, so that nothing is left behind.
await Promise.all(running.map((session_id) => lh.call('session.stop', { session_id })));
await Promise.all(running.map(ended));
const { leases } = await lh.call('lease.list', { prefix: 'lease:' });
say(
  'all are stopped',
  `${leases.length} leases are held, tuners in use: ${await metric('xg2g_tuners_in_use')}`,
);

await lh.close();
say('the farm is closed', `exit code ${await farm.stop()}`);
// A directory of our own making goes again; one that was named stays.
if (!isKept) rmSync(dir, { recursive: true });

function live(serviceRef) {
  return { type: 'live', serviceRef, profileID };
}

function recording(recordingID, start_ms) {
  return { type: 'vod', recordingID, start_ms, profileID };
}

async function request(wish) {
  const { session_id } = await lh.call('intent.accept', wish);
  return session_id;
}

/** The session once it is READY; one that has ended is refused with SESSION_TERMINAL, and that says how it did. */
async function settled(session_id) {
  for (;;) {
    const session = await lh.call('session.get', { session_id });
    if (!session.ok || session.state === 'READY') return session;
    await sleep(50);
  }
}

async function ended(session_id) {
  for (;;) {
    const session = await lh.call('session.get', { session_id });
    if (!session.ok) return session;
    await sleep(50);
  }
}

function show({ serviceRef, recordingID, start_ms }, { state, reason, reason_detail, slot, lease_seq }) {
  const what = serviceRef ?? `${recordingID} from ${start_ms / 1_000} s`;
  const where = state === 'READY' ? `on tuner ${slot}, number ${lease_seq}` : `${reason}, ${reason_detail}`;
  say(what, `${state} ${where}`);
}

async function metric(name) {
  const text = await (await fetch(`${farm.url}/metrics`)).text();
  return new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1];
}

/** `leasehold up`: a server and an orchestrator, on a port that is free. */
async function startFarm() {
  mkdirSync(dir, { recursive: true });
  const manifest = createRequire(import.meta.url).resolve('leasehold/package.json');
  const program = join(dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.leasehold);
  const config = ['--config', fileURLToPath(new URL('tuners.json', import.meta.url))];
  const args = ['up', '--json', '--data', 'data', '--listen', '127.0.0.1:0', ...(hasFfmpeg ? config : [])];
  const log = join(dir, 'up.log');
  const child = spawn(process.execPath, [program, ...args], {
    cwd: dir,
    stdio: ['ignore', 'pipe', openSync(log, 'a')],
    // Without a secret of your own the same wish would not be known again after a restart.
    env: { XG2G_IDEM_SECRET: 'for this example only', ...process.env },
  });
  const end = once(child, 'exit');
  // Whatever goes wrong here, the farm does not go on without us.
  process.on('exit', () => child.kill('SIGTERM'));
  const line = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), end]);
  if (typeof line[0] !== 'string') {
    console.error(`leasehold up has ended with ${line[0] ?? line[1]}:\n${readFileSync(log, 'utf8')}`);
    process.exit(1);
  }
  return {
    url: JSON.parse(line[0]).url,
    async stop() {
      child.kill('SIGTERM');
      const [code] = await end;
      return code;
    },
  };
}

function say(what, more) {
  console.log(what.padEnd(18), more);
}

// A farm of four tuners: the first request is served, equal requests share a session, and what is not available is refused at once. With
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
import { connect, LeaseholdError } from 'leasehold';

const isKept = process.argv[2] !== undefined;
const dir = resolve(isKept ? process.argv[2] : mkdtempSync(join(tmpdir(), 'leasehold-tuner-farm-')));
const hasFfmpeg = spawnSync('ffmpeg', ['-version'], { stdio: 'ignore' }).status === 0;
const profileId = hasFfmpeg ? 'pattern' : 'demo';

const farm = await startFarm();
const lh = connect(farm.url);
say('the farm runs', hasFfmpeg ? 'ffmpeg, test patterns' : 'there is no ffmpeg, so the profile demo');

// An intent is durable when it is accepted. The orchestrator gives out tuners in the order of the intents.
// Another position of a recording is another intent.
const intents = [live('ard'), live('zdf'), recording('film-7', 0), recording('film-7', 60_000)];
const sessions = await Promise.all(intents.map(lh.sessions.request));
for (const [index, info] of (await Promise.all(sessions.map(settled))).entries()) show(intents[index], info);

// Repeating the request returns the existing session.
const again = await lh.sessions.request(live('ard'));
say('ard once more', again.sessionId === sessions[0].sessionId ? 'the same session' : 'another session');

// For a fifth there is no tuner.
show(live('orf'), await settled(await lh.sessions.request(live('orf'))));
say('tuners in use', await metric('leasehold_slots_in_use'));

// A tuner that is given back is there for the next.
await sessions[1].stop();
const stopped = await ended(sessions[1]);
say('zdf is stopped', `${stopped.state}, ${stopped.reason}`);
const orf = await lh.sessions.request(live('orf'));
show(live('orf'), await settled(orf));

const running = [sessions[0], sessions[2], sessions[3], orf];
if (hasFfmpeg && isKept)
  for (const { sessionId } of running) say('to be played', join(dir, 'streams', sessionId, 'index.m3u8'));

// The entry that ends a session also ends its leases, so that nothing is left behind.
await Promise.all(running.map(({ stop }) => stop()));
await Promise.all(running.map(ended));
const { items: leases } = await lh.leases.list({ prefix: 'lease:' });
say(
  'all are stopped',
  `${leases.length} leases are held, tuners in use: ${await metric('leasehold_slots_in_use')}`,
);

await lh.close();
say('the farm is closed', `exit code ${await farm.stop()}`);
// A directory of our own making goes again; one that was named stays.
if (!isKept) rmSync(dir, { recursive: true });

function live(serviceRef) {
  return { type: 'live', serviceRef, profileId };
}

function recording(recordingId, startMs) {
  return { type: 'vod', recordingId, startMs, profileId };
}

/** The session once it is READY, or has ended. */
async function settled(session) {
  await session.ready().catch((error) => {
    if (!LeaseholdError.is(error, 'SESSION_TERMINAL')) throw error;
  });
  return session.get();
}

async function ended(session) {
  for (;;) {
    const info = await session.get();
    if (['STOPPED', 'FAILED', 'CANCELLED'].includes(info.state)) return info;
    await sleep(50);
  }
}

function show({ serviceRef, recordingId, startMs }, { state, reason, reasonDetail, slot, leaseSeq }) {
  const what = serviceRef ?? `${recordingId} from ${startMs / 1_000} s`;
  const where = state === 'READY' ? `on tuner ${slot}, number ${leaseSeq}` : `${reason}, ${reasonDetail}`;
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
    // Without a secret of your own the same intent would not be recognised after a restart.
    env: { LEASEHOLD_IDEM_SECRET: 'for this example only', ...process.env },
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

// Two GPUs and three training runs: sessions on scarce slots. The orchestrator leases a slot, runs a program on it, and ends the
// program with its lease. Here the program is a small script; docs/guides/sessions.md has the rest.
//
//   node examples/gpu-slots.mjs [DIR]
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { connect, LeaseholdError } from 'leasehold';
import { startServer } from './start-server.mjs';

const isKept = process.argv[2] !== undefined;
const dir = isKept ? resolve(process.argv[2]) : mkdtempSync(join(tmpdir(), 'leasehold-gpus-'));
mkdirSync(dir, { recursive: true });

// A program that gets the model and the slot as arguments, and says when it is ready.
const train =
  "console.log('epoch 1 of ' + process.argv[1] + ' on ' + process.argv[2]); setInterval(() => {}, 1000)";
const config = {
  slots: ['gpu-0', 'gpu-1'],
  profiles: {
    train: {
      command: [process.execPath, '--eval', train, '{serviceRef}', '{slot}'],
      ready: { stdout: '^epoch 1' },
    },
  },
};
const file = join(dir, 'gpus.json');
writeFileSync(file, JSON.stringify(config, null, 2));
const server = await startServer(dir, 'up', '--config', file);
const lh = connect(server.url);
console.log('A server and an orchestrator share the slots gpu-0 and gpu-1.');

const a = await lh.sessions.request(run('model-a'));
console.log(`model-a trains on ${(await a.ready()).slot}.`);
const b = await lh.sessions.request(run('model-b'));
console.log(`model-b trains on ${(await b.ready()).slot}.`);
const again = await lh.sessions.request(run('model-a'));
console.log(
  `model-a is asked for once more: ${again.sessionId === a.sessionId ? 'it is the same session' : 'a second one'}.`,
);
console.log(
  `model-c is asked for: ${await outcome(await lh.sessions.request(run('model-c')))}. That is the code for no free slot, here a GPU.`,
);
console.log(`Slots in use, by /metrics: ${await metric('leasehold_slots_in_use')}.`);

await a.stop();
console.log(`model-a is stopped: ${await outcome(a)}. Its program has ended before the slot is free.`);
const c = await lh.sessions.request(run('model-c'));
console.log(`model-c is asked for again and trains on ${(await c.ready()).slot}.`);

await lh.close();
console.log(`All is shut down: the programs are ended, the exit code is ${await server.stop()}.`);
if (!isKept) rmSync(dir, { recursive: true });

function run(serviceRef) {
  return { type: 'live', serviceRef, profileId: 'train' };
}

/** Follows a session to its end, and says how it ended. */
async function outcome(session) {
  try {
    for await (const _ of session.follow())
      if (['STOPPED', 'FAILED'].includes((await session.get()).state)) break;
  } catch (error) {
    if (!LeaseholdError.is(error, 'SESSION_TERMINAL')) throw error;
  }
  const { state, reason } = await session.get();
  return `${state}, ${reason}`;
}

async function metric(name) {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1];
}

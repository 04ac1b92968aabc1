// Why a lock is not enough: a holder is paused for longer than its lease lasts, another one takes over, and the first wakes up and
// writes. Its write carries the fencing number of its lease and is refused.
//
//   node examples/paused-process.mjs [DIR]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { connect, LeaseholdError } from 'leasehold';
import { startServer } from './start-server.mjs';

if (process.send === undefined) await main();
else await hold();

async function main() {
  const isKept = process.argv[2] !== undefined;
  const dir = isKept ? resolve(process.argv[2]) : mkdtempSync(join(tmpdir(), 'leasehold-paused-'));
  const server = await startServer(dir);
  const lh = connect(server.url);

  const anna = fork(fileURLToPath(import.meta.url), [], {
    env: { ...process.env, LEASEHOLD_URL: server.url },
  });
  const [annas] = await once(anna, 'message');
  console.log(`Anna, a process, holds the lease on balance with number ${annas} and writes 100.`);

  anna.kill('SIGSTOP');
  console.log('Anna is paused (SIGSTOP), as by a long garbage collection or a suspended machine.');

  // Boris waits in line until her lease has run out.
  await lh.withLease('balance', { ttl: '10s', wait: '30s' }, async (lease) => {
    await lease.write(250);
    console.log(`Her lease runs out. Boris holds it with number ${lease.leaseSeq} and writes 250.`);

    const said = once(anna, 'message');
    anna.kill('SIGCONT');
    const [[asserted, written]] = await said;
    console.log(`Anna wakes up and asks whether she holds it: ${asserted}.`);
    console.log(`She writes all the same, with her old number: ${written}.`);
  });
  const { value } = await lh.objects.get('balance');
  console.log(`The balance is ${value.text()}.`);
  await lh.close();
  await server.stop();
  if (!isKept) rmSync(dir, { recursive: true });
}

async function hold() {
  const lh = connect();
  const lease = await lh.acquire('balance', { ttl: '1s' });
  await lease.write(100);
  process.send(lease.leaseSeq);
  // Her work, which keeps the process alive. The signal aborts when the lease is lost, here as soon as the process runs again.
  const work = setInterval(() => undefined, 50);
  await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
  clearInterval(work);
  const codeOf = (error) => {
    if (LeaseholdError.is(error)) return error.code;
    throw error;
  };
  let asserted = 'yes';
  try {
    lease.assertHeld();
  } catch (error) {
    asserted = codeOf(error);
  }
  // The authority decides, whatever a client believes: `call` sends the write without looking at the lease first.
  const written = await lh.call('object.write', {
    object_id: 'balance',
    value: 90,
    lease: { lease_seq: lease.leaseSeq },
  });
  process.send([asserted, written.ok ? 'written' : written.code]);
  await lh.close();
  process.disconnect();
}

// A pool of worker processes, one of which is killed in the middle of its work: its task is leased again and nothing is lost.
//
//   node examples/worker-pool.mjs [DIR]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect, defineTask } from 'leasehold';
import { startServer } from './start-server.mjs';

const thumbnail = defineTask('thumbnail', { ttl: '1s' });

if (process.send === undefined) await main();
else work();

async function main() {
  const isKept = process.argv[2] !== undefined;
  const dir = isKept ? resolve(process.argv[2]) : mkdtempSync(join(tmpdir(), 'leasehold-pool-'));
  const server = await startServer(dir);
  const lh = connect(server.url);
  const receipts = await lh.enqueueMany(
    thumbnail,
    Array.from({ length: 12 }, (_, image) => ({ input: { image } })),
  );
  // The first one says which image it has begun, and never finishes it.
  const workers = [startWorker(1, server.url)];
  const [image] = await once(workers[0], 'message');
  workers.push(startWorker(2, server.url), startWorker(3, server.url));
  console.log('12 images wait, and three worker processes start.');

  workers[0].kill('SIGKILL');
  console.log(
    `Worker 1 is killed while it works on image ${image}. Its lease lasts for another second at most.`,
  );

  const results = await Promise.all(receipts.map((receipt) => receipt.output({ wait: '30s' })));
  const [again] = results.filter((result) => result.image === image);
  console.log(`Worker ${again.by} got image ${image} after that, as attempt ${again.attempt}.`);
  console.log(
    `All ${results.length} images are done; ${results.filter(({ attempt }) => attempt > 1).length} needed a second attempt.`,
  );

  for (const worker of workers.slice(1)) worker.kill('SIGTERM');
  const codes = await Promise.all(workers.slice(1).map((worker) => once(worker, 'exit')));
  console.log(
    `The other two are asked to end. They drain and leave with ${codes.map(([code]) => code).join(' and ')}.`,
  );
  await lh.close();
  await server.stop();
  if (!isKept) rmSync(dir, { recursive: true });
}

function startWorker(number, url) {
  return fork(fileURLToPath(import.meta.url), [], {
    env: { ...process.env, LEASEHOLD_URL: url, NUMBER: `${number}` },
  });
}

function work() {
  const { NUMBER } = process.env;
  const lh = connect();
  const worker = lh.work(thumbnail, async ({ input, attempt, signal }) => {
    if (NUMBER === '1') {
      process.send(input.image);
      await sleep(60_000, undefined, { signal });
    }
    await sleep(20);
    return { image: input.image, by: NUMBER, attempt };
  });
  // SIGTERM drains the worker; then nothing keeps this process.
  worker.done.then(async () => {
    await lh.close();
    process.disconnect();
  });
}

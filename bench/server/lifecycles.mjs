/**
 * Task lifecycles through the client. First as one program does it: create, lease, complete, several concurrently,
 * one call each, in turn with a bare queue. Then as a queue is used: enqueue on one side, a worker on the other.
 */
import { connect, defineTask } from '../../dist/index.js';
import { inFlight, lifecycles, payload, perSecond, row, scaled } from '../core/bench-world.mjs';
import { bareQueue } from './bare-queue.mjs';
import { served } from './served.mjs';

const ROUNDS = 5;
const input = payload.parse();

const server = await served();
const lh = connect(server.url);
const bare = await bareQueue();

row('in flight', 'calls/lifecycle', 'lifecycles/s', 'a bare queue', 'ratio');
for (const [width, count] of [
  [1, 2_000],
  [64, 60_000],
  [1_024, 200_000],
  [4_096, 400_000],
]) {
  // A warm-up: both sides are compiled while they run.
  await turns(lh, payload, count / 2);
  await turns(bare, input, count / 2);
  const ms = [0, 0];
  for (let round = 0; round < ROUNDS; round++) {
    ms[0] += await turns(lh, payload, count / ROUNDS);
    ms[1] += await turns(bare, input, count / ROUNDS);
  }
  const [ours, theirs] = ms.map((each) => perSecond(scaled(count), each));
  row(width.toLocaleString('en'), 3, ours, theirs, (ms[1] / ms[0]).toFixed(2));

  function turns(queue, value, total) {
    return inFlight(scaled(total), width, (worker, more) =>
      lifecycles(queue, `worker-${worker}`, more, value),
    );
  }
}
await bare.close();

const echo = defineTask('echo');
for (const [width, count] of [
  [64, 60_000],
  [1_024, 200_000],
  [4_096, 400_000],
]) {
  const worker = lh.work(echo, { concurrency: width, onVerdict: () => finished() }, async () => 1);
  let done = 0;
  let finished = () => undefined;
  await inFlightUntil(scaled(count / 2), width);
  const ms = await inFlightUntil(scaled(count), width);
  await worker.drain();
  row(`${width.toLocaleString('en')}, enqueue and a worker`, 2, perSecond(scaled(count), ms));

  /** Keeps at most `width` tasks between creation and completion. */
  async function inFlightUntil(total, most) {
    const from = performance.now();
    let made = 0;
    done = 0;
    await new Promise((resolve, reject) => {
      const more = () => {
        while (made < total && made - done < most) {
          made += 1;
          lh.enqueue(echo, input).catch(reject);
        }
      };
      finished = () => {
        done += 1;
        if (done === total) resolve();
        else more();
      };
      more();
    });
    return performance.now() - from;
  }
}
await lh.close();
await server.stop();

/**
 * Task lifecycles through the client. First as one program would write it: create, lease, complete, so many at a
 * time, each a call of its own. Then as a queue is used: enqueue on one side, a worker on the other.
 */
import { connect, defineTask } from '../../dist/index.js';
import { inFlight, lifecycles, payload, perSecond, row, scaled } from '../core/bench-world.mjs';
import { served } from './served.mjs';

const server = await served();
const lh = connect(server.url);

row('in flight', 'calls/lifecycle', 'lifecycles/s');
for (const [width, count] of [
  [1, 2_000],
  [64, 60_000],
  [1_024, 200_000],
  [4_096, 400_000],
]) {
  // Both sides compile what they run often while they run it; what is measured is what comes after.
  await inFlight(scaled(count / 2), width, (worker, more) => lifecycles(lh, `worker-${worker}`, more));
  const ms = await inFlight(scaled(count), width, (worker, more) => lifecycles(lh, `worker-${worker}`, more));
  row(width.toLocaleString('en'), 3, perSecond(scaled(count), ms));
}

const echo = defineTask('echo');
const input = payload.parse();
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

  /** At most `width` tasks are between their creation and their completion. */
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

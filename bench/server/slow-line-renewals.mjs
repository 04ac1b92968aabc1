/** How long a renewal takes on a line of 10 Mbit/s on which the same client sends large creates. */
import { connect } from '../../dist/index.js';
import { row, scaled } from '../core/bench-world.mjs';
import { percentile, served } from './served.mjs';
import { openSlowLine } from './slow-line.mjs';

const BITS_PER_SECOND = 10_000_000;
const CREATES = scaled(1_000);
const PAYLOAD = 'x'.repeat(250 * 1024 - 2);
const EVERY_MS = 100;

const server = await served();
const line = await openSlowLine(Number(new URL(server.url).port), BITS_PER_SECOND);
row(`${CREATES.toLocaleString('en')} creates of 250 KiB at 10 Mbit/s`, 'renewals', 'p50', 'p99', 'longest');
const lh = connect(line.url, { retry: { within: '10m' } });
const lease = { name: 'n', holder: 'h', token: 'x'.repeat(32), ttl_ms: 600_000 };
await lh.call('lease.acquire', lease);

let isDone = false;
const creates = Promise.all(
  Array.from({ length: CREATES }, async () => {
    const { ok } = await lh.call('task.create', { payload: PAYLOAD });
    if (!ok) throw new Error('A create was refused.');
  }),
).finally(() => {
  isDone = true;
});
const samples = [];
while (!isDone) {
  const from = performance.now();
  const reply = await lh.call('lease.renew', lease);
  if (!reply.ok) throw new Error(`A renewal was refused: ${reply.detail}`);
  samples.push(performance.now() - from);
  await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
}
await creates;
const ms = (value) => `${Math.round(value)} ms`;
row(
  `over ${lh.connection.state === 'live' ? 'a live connection' : 'HTTP'}`,
  samples.length,
  ms(percentile(samples, 0.5)),
  ms(percentile(samples, 0.99)),
  ms(Math.max(...samples)),
);
await lh.close();
line.close();
await server.stop();

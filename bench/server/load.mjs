/** What several sections do to a server: fill it in batches, and renew one lease while something else happens. */
import { percentile } from './served.mjs';

const BATCH = 5_000;
const BATCHES_IN_FLIGHT = 4;
const RENEWAL_EVERY_MS = 5;

/** Sends `count` operations; throws on any refusal. */
export async function inBatches(url, count, opOf) {
  let next = 0;
  const send = async () => {
    while (next < count) {
      const first = next;
      next += BATCH;
      const ops = Array.from({ length: Math.min(BATCH, count - first) }, (_, n) => opOf(first + n));
      const reply = await fetch(`${url}/v1/batch`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ops }),
      });
      const { results } = await reply.json();
      const refused = results.find(({ status }) => status >= 300);
      if (refused !== undefined) throw new Error(JSON.stringify(refused));
    }
  };
  await Promise.all(Array.from({ length: BATCHES_IN_FLIGHT }, send));
}

/** The latency of one renewal every five milliseconds: median, 99th percentile and the longest, in milliseconds. */
export async function renewals(lh, { name, holder, token }, forMs) {
  const times = [];
  const untilMs = performance.now() + forMs;
  while (performance.now() < untilMs) {
    const sentMs = performance.now();
    await lh.call('lease.renew', { name, holder, token, ttl_ms: 600_000 });
    times.push(performance.now() - sentMs);
    await new Promise((resolve) => setTimeout(resolve, RENEWAL_EVERY_MS));
  }
  return [0.5, 0.99, 1].map((part) => percentile(times, part).toFixed(2));
}

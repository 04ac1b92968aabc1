// A live connection whose peer asks for much and reads none of it: the server stops working for it, and still lets it go.
import { afterEach, describe, expect, it } from 'vitest';
import { timersWithout } from '../../test/support/held-timers.ts';
import type { LiveWire } from '../../test/support/live-wire.ts';
import { type Served, startServed, stopAllServed } from '../../test/support/served.ts';

afterEach(stopAllServed);

const ALL = { token: 'all-0123456789abcdef', scopes: ['*'] };
const DROPPED = { token: 'dropped-0123456789ab', scopes: ['*'] };
/** As the server has it: how long it waits for what is in flight once bodies are refused. */
const ANSWER_MS = 9_000;
/** Their answers are more than any socket takes. */
const READS = 200;

/** Asks until the server begins no further read for this connection. */
async function unread(served: Served, wire: LiveWire): Promise<void> {
  const { stats } = served.authority;
  await wire.call('task.create', { task_id: 't', payload: 'x'.repeat(200_000) });
  wire.ws.pause();
  const before = stats.reads;
  wire.send(...Array.from({ length: READS }, (_, id) => [1_000 + id, 'task.get', { task_id: 't' }]));
  await served.until(() => stats.reads > before);
  for (let seen = before; seen < stats.reads; ) {
    seen = stats.reads;
    await served.send('GET', '/healthz');
  }
  expect(stats.reads).toBeLessThan(before + READS);
}

describe('a peer that does not read', () => {
  it('has no further read begun for it, and gets every answer when it reads again', async () => {
    const served = await startServed();
    const wire = await served.live();
    await unread(served, wire);
    wire.ws.resume();
    await wire.until(() => wire.frames.flatMap((frame) => frame.slice(2)).length === 1 + READS);
  });

  it('is cut when it goes on like that', async () => {
    const served = await startServed({ timeouts: { stallMs: 200 } });
    const wire = await served.live();
    await unread(served, wire);
    await served.until(async () => (await served.connections()) === 1);
    wire.ws.resume();
    expect(await wire.closed).toMatchObject({ code: 1006 });
  });

  // A connection whose peer's goodbye is not read is cut half a minute after the server's own.
  it('is let go as soon as it says goodbye after the server has', { timeout: 20_000 }, async () => {
    const served = await startServed({ tokens: [ALL, DROPPED] });
    const wire = await served.live({ token: DROPPED.token });
    await unread(served, wire);
    served.access.replaceTokens([ALL]);
    wire.ws.resume();
    expect(await wire.closed).toMatchObject({ code: 4401 });
  });

  it('is not waited for by a stop once it is gone', async () => {
    const { timers, held } = timersWithout(ANSWER_MS);
    const served = await startServed({ timers });
    const wire = await served.live();
    await unread(served, wire);
    const stopped = served.stop();
    // It waits, and without this timer only the end of the connection ends that.
    await served.until(() => held.length > 0);
    wire.close();
    await stopped;
  });
});

// A live connection that the server has closed, whose peer sends on as if it had not.
import { afterEach, describe, expect, it } from 'vitest';
import { LiveWire } from '../../test/support/live-wire.ts';
import { type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { LIVE_LIMITS } from '../protocol/live-frames.ts';
import type { Timers } from '../seams/clock.ts';
import { systemTimers } from '../world/system-clock.ts';

afterEach(stopAllServed);

const ALL = { token: 'all-0123456789abcdef', scopes: ['*'] };
const DROPPED = { token: 'dropped-0123456789ab', scopes: ['*'] };
const CREATE = [1, 'task.create', { task_id: 'late', payload: '1' }] as const;
/** As the server has it: how long it waits for what is in flight once bodies are refused. */
const ANSWER_MS = 9_000;

async function expectNoTask(served: Served): Promise<void> {
  expect((await served.call('task.get', { task_id: 'late' }, { token: ALL.token })).status).toBe(404);
}

/** Timers that leave it to the test when, if ever, a call of that many milliseconds is made. */
function timersWithout(heldMs: number): { readonly timers: Timers; readonly held: (() => void)[] } {
  const held: (() => void)[] = [];
  const after: Timers['after'] = (ms, call) => {
    if (ms !== heldMs) return systemTimers.after(ms, call);
    held.push(call);
    return { cancel: () => undefined };
  };
  return { timers: { ...systemTimers, after }, held };
}

describe('what a peer sends after the goodbye', () => {
  it('is not carried out when its token was dropped', async () => {
    const served = await startServed({ tokens: [ALL, DROPPED] });
    const wire = await served.live({ token: DROPPED.token });
    // It has not read the goodbye when it sends.
    wire.ws.pause();
    served.access.replaceTokens([ALL]);
    wire.send(CREATE);
    wire.ws.resume();
    expect(await wire.closed).toMatchObject({ code: 4401 });
    await expectNoTask(served);
  });

  it('is not carried out when a frame was malformed', async () => {
    const served = await startServed({ tokens: [ALL] });
    const wire = await served.live({ token: ALL.token });
    wire.ws.send('{}');
    wire.send(CREATE);
    expect(await wire.closed).toMatchObject({ code: 4400 });
    await expectNoTask(served);
  });

  it('is not carried out when its token came too late', async () => {
    const { timers, held } = timersWithout(LIVE_LIMITS.firstMs);
    const served = await startServed({ tokens: [ALL], timers });
    const wire = LiveWire.begin(served.port);
    await new Promise((resolve) => wire.ws.once('open', resolve));
    wire.ws.pause();
    held.shift()!();
    wire.send(['token', ALL.token]);
    wire.send(CREATE);
    wire.ws.resume();
    expect(await wire.closed).toMatchObject({ code: 4401 });
    expect(wire.frames).toEqual([]);
    await expectNoTask(served);
  });
});

describe('a stop', () => {
  it('does not wait for reads of a peer that was gone before there was room for them', async () => {
    const { timers, held } = timersWithout(ANSWER_MS);
    const served = await startServed({ timers });
    const wire = await served.live();
    await wire.call('task.create', { task_id: 't', payload: 'x'.repeat(200_000) });
    wire.ws.pause();
    const { stats } = served.authority;
    const before = stats.reads;
    // More than any socket takes.
    wire.send(...Array.from({ length: 200 }, (_, id) => [1_000 + id, 'task.get', { task_id: 't' }]));
    await served.until(() => stats.reads > before);
    const stopped = served.stop();
    // It waits, and without this timer only the end of the connection ends that.
    await served.until(() => held.length > 0);
    wire.close();
    await stopped;
  });
});

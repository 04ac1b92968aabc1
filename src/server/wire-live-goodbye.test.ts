// A live connection that the server has closed, whose peer sends on as if it had not.
import { afterEach, describe, expect, it } from 'vitest';
import { timersWithout } from '../../test/support/held-timers.ts';
import { LiveWire } from '../../test/support/live-wire.ts';
import { type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { LIVE_LIMITS } from '../protocol/live-frames.ts';

afterEach(stopAllServed);

const ALL = { token: 'all-0123456789abcdef', scopes: ['*'] };
const DROPPED = { token: 'dropped-0123456789ab', scopes: ['*'] };
const CREATE = [1, 'task.create', { task_id: 'late', payload: '1' }] as const;
async function expectNoTask(served: Served): Promise<void> {
  expect((await served.call('task.get', { task_id: 'late' }, { token: ALL.token })).status).toBe(404);
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

// What the server says about time that is off the wall clock: once when it is, once when it no longer is.
import { describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { watchClock } from './clock-watch.ts';

const OFF =
  'the time of this server is more than a minute off the wall clock, and corrects itself by at most 1 %';
const AGREES = 'the time of this server agrees with the wall clock again';

describe('time that is more than a minute off', () => {
  it.each([1, -1])('is told of once, and once when it agrees again (%i)', async (sign) => {
    const said: [says: string, fields: object][] = [];
    const say = (fields: object, says: string) => void said.push([says, fields]);
    const world = new ManualWorld();
    let offMs = 0;
    let end = (): void => undefined;
    const authority = {
      clock: { aheadMs: () => offMs },
      whenEnded: (call: () => void) => {
        end = call;
        return () => undefined;
      },
    };
    watchClock(authority, { timers: world.timers, logger: { info: say, warn: say } });
    for (const off of [60_000, 60_001, 90_000, 60_000, 70_000]) {
      offMs = sign * off;
      await world.advance(10_000);
    }
    const expected = [
      [OFF, { off_ms: sign * 60_001 }],
      [AGREES, { off_ms: sign * 60_000 }],
      [OFF, { off_ms: sign * 70_000 }],
    ];
    expect(said).toEqual(expected);
    end();
    offMs = 0;
    await world.advance(60_000);
    expect(said).toEqual(expected);
  });
});

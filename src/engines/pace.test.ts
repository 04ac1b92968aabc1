/** Long work in small steps. */
import { describe, expect, it } from 'vitest';
import { Pace } from './pace.ts';

describe('the pace of long work', () => {
  it('pauses after every 256 steps, whatever they are', () => {
    let pauses = 0;
    const pace = new Pace(() => {
      pauses += 1;
    });
    for (let step = 0; step < 255; step++) pace.step();
    expect(pauses).toBe(0);
    expect([...pace.each([1, 2, 3])]).toEqual([1, 2, 3]);
    expect(pauses).toBe(1);
    for (let step = 0; step < 254 + 256; step++) pace.step();
    expect(pauses).toBe(3);
  });
});

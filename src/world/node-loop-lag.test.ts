// The lag of the real event loop, which the test blocks itself.
import { describe, expect, it } from 'vitest';
import { loopLag } from './node-loop-lag.ts';

/** Lets the sampling timer run a few times; how long that takes does not matter. */
async function samples(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setTimeout(resolve, 25));
}

function block(ms: number): void {
  for (const from = performance.now(); performance.now() - from < ms; );
}

describe('the lag of the event loop', () => {
  it('is at least as long as the loop was blocked, and forgotten once it was taken', async () => {
    expect(loopLag.take()).toEqual({ meanMs: 0, p99Ms: 0, maxMs: 0 });
    loopLag.watch();
    loopLag.watch();
    await samples();
    block(150);
    await samples();
    const { meanMs, p99Ms, maxMs } = loopLag.take();
    expect(maxMs).toBeGreaterThan(100);
    expect(p99Ms).toBeGreaterThan(100);
    expect(meanMs).toBeGreaterThan(0);
    expect(meanMs).toBeLessThan(maxMs);
    expect(loopLag.take()).toEqual({ meanMs: 0, p99Ms: 0, maxMs: 0 });
  });
});

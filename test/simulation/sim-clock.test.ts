// The clocks of a simulated machine, and the timers that hang on them.
import { describe, expect, it } from 'vitest';
import { Kernel } from './world/kernel.ts';
import { Random } from './world/random.ts';
import { SimClock } from './world/sim-clock.ts';
import { SimProcess } from './world/sim-process.ts';

const kernelAt = async (kernel: Kernel, ms: number): Promise<void> => {
  kernel.at(ms, null, () => undefined);
  await kernel.run(() => kernel.nowMs >= ms);
};

describe('a simulated clock', () => {
  it('begins as far from the others as it was told', () => {
    const kernel = new Kernel();
    const here = new SimClock(kernel, 0, 0);
    const there = new SimClock(kernel, -7_000, 0);
    expect(here.wallMs() - there.wallMs()).toBe(7_000);
  });

  it('jumps with its wall clock, both ways, and the monotonic one does not notice', async () => {
    const kernel = new Kernel();
    const clock = new SimClock(kernel, 0, 100);
    const from = clock.wallMs();
    clock.jump(5_000);
    expect([clock.wallMs() - from, clock.monotonicMs()]).toEqual([5_000, 100]);
    clock.jump(-9_000);
    await kernelAt(kernel, 50);
    expect([clock.wallMs() - from, clock.monotonicMs()]).toEqual([-3_950, 150]);
  });

  it('runs fast or slow by parts in a million', async () => {
    const kernel = new Kernel();
    const clock = new SimClock(kernel, 0, 0);
    clock.drift(10_000);
    await kernelAt(kernel, 1_000);
    clock.drift(-10_000);
    await kernelAt(kernel, 2_000);
    expect(clock.monotonicMs()).toBeCloseTo(1_010 + 990, 6);
  });

  it('stands still while suspended, except for the wall clock', async () => {
    const kernel = new Kernel();
    const clock = new SimClock(kernel, 0, 0);
    const from = clock.wallMs();
    clock.suspend(300);
    await kernelAt(kernel, 1_000);
    expect([clock.monotonicMs(), clock.wallMs() - from]).toEqual([700, 1_000]);
  });

  it('makes timers wait by its own time, never early', async () => {
    const kernel = new Kernel();
    const clock = new SimClock(kernel, 0, 0);
    const process = new SimProcess(kernel, 'p', clock, new Random(1, 'p'));
    const rang: number[] = [];
    process.timers.after(100, () => rang.push(kernel.nowMs));
    clock.suspend(40);
    process.pause(40);
    await kernelAt(kernel, 500);
    expect(rang).toHaveLength(1);
    expect(rang[0]).toBeGreaterThanOrEqual(140);
    expect(rang[0]).toBeLessThan(142);
  });
});

describe('a simulated process', () => {
  const start = () => {
    const kernel = new Kernel();
    return { kernel, process: new SimProcess(kernel, 'p', new SimClock(kernel, 0, 0), new Random(1, 'p')) };
  };

  it('does everything afterwards, in order, when it was stopped', async () => {
    const { kernel, process } = start();
    const done: string[] = [];
    process.pause(1_000);
    kernel.at(10, process, () => done.push(`one ${kernel.nowMs}`));
    kernel.at(20, process, () => done.push(`two ${kernel.nowMs}`));
    await kernelAt(kernel, 2_000);
    expect(done).toEqual(['one 1000', 'two 1000']);
  });

  it('never does anything again once it is dead', async () => {
    const { kernel, process } = start();
    const done: string[] = [];
    process.timers.after(10, () => done.push('timer'));
    process.timers.soon(() => done.push('soon'));
    process.die();
    await kernelAt(kernel, 2_000);
    expect(done).toEqual([]);
  });

  it('can be killed between any two things that happen to it', async () => {
    const { kernel, process } = start();
    const done: string[] = [];
    const step = (name: string) => async () => {
      done.push(name);
      await Promise.resolve();
      done.push(`${name}, further`);
      await process.sleep(1);
      done.push(`${name}, later`);
    };
    for (const name of ['one', 'two', 'three']) kernel.after(0, process, () => void step(name)());
    kernel.trip(
      (owner) => owner === process,
      2,
      () => process.die(),
    );
    await kernelAt(kernel, 100);
    // The second was running when it was killed; what waited for nothing but itself could not be stopped.
    expect(done).toEqual(['one', 'one, further', 'two', 'two, further']);
  });

  it('keeps its other threads going while only its loop is blocked', async () => {
    const { kernel, process } = start();
    const done: string[] = [];
    process.block(1_000);
    kernel.at(10, process.threads, () => done.push(`thread ${kernel.nowMs}`));
    kernel.at(10, process, () => done.push(`loop ${kernel.nowMs}`));
    await kernelAt(kernel, 2_000);
    expect(done).toEqual(['thread 10', 'loop 1000']);
  });
});

// What the server says about a full disk: once when it becomes full, once when there is room again, with figures.
import { describe, expect, it } from 'vitest';
import type { Timer } from '../seams/clock.ts';
import { watchDisk } from './disk-watch.ts';

function stage(freeBytes?: () => Promise<number>) {
  const said: [says: string, fields: object][] = [];
  const say = (fields: object, says: string) => void said.push([says, fields]);
  let nowMs = 0;
  let due: (() => void) | null = null;
  const log = {
    full: false,
    size: { bytes: 4_096, files: 2 },
    batchBytesMax: 512,
    missingBytes: 60_000,
    seeks: 0,
    seekSpace: () => void log.seeks++,
  };
  const timer: Timer = watchDisk(log, {
    clock: { wallMs: () => nowMs, monotonicMs: () => nowMs },
    timers: {
      after: (_, call) => {
        due = call;
        return {
          cancel: () => {
            due = null;
          },
        };
      },
      soon: () => undefined,
      hold: () => ({ cancel: () => undefined }),
    },
    logger: { info: say, error: say },
    ...(freeBytes === undefined ? {} : { freeBytes }),
  });
  const second = async (full: boolean) => {
    log.full = full;
    nowMs += 1_000;
    due?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { said, log, timer, second };
}

const FULL = 'the disk is full: nothing new is taken until there is room';
const FREE = 'the disk has room again';

describe('a disk that is full for a while', () => {
  it('is told of once, and once when there is room again', async () => {
    const { said, second } = stage(() => Promise.resolve(0));
    for (const full of [false, true, true, true, false, false, true]) await second(full);
    const figures = { log_bytes: 4_096, free_bytes: 0 };
    expect(said).toEqual([
      [FULL, { ...figures, needs_bytes: 60_000, batch_bytes_max: 512 }],
      [FREE, { ...figures, full_ms: 3_000 }],
      [FULL, { ...figures, needs_bytes: 60_000, batch_bytes_max: 512 }],
    ]);
  });

  it('is asked for space even if no request comes', async () => {
    const { log, second } = stage();
    await second(true);
    await second(true);
    await second(false);
    expect(log.seeks).toBe(2);
  });

  it('is told of without the figure that cannot be had', async () => {
    const { said, second } = stage(() => Promise.reject(new Error('no statfs')));
    await second(true);
    expect(said).toEqual([[FULL, { log_bytes: 4_096, needs_bytes: 60_000, batch_bytes_max: 512 }]]);
  });

  it('is not looked at any more once the server has stopped', async () => {
    const { said, timer, second } = stage();
    timer.cancel();
    await second(true);
    expect(said).toEqual([]);
  });
});

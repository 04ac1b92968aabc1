/** What the console calls a problem of a queue. */
import { describe, expect, it } from 'vitest';
import { queueTrouble } from './queue-trouble.ts';
import type { QueueOverview } from './watch.ts';

const NOW_MS = Date.parse('2026-01-05T08:00:00.000Z');
const MINUTE_MS = 60_000;

/** `polledMs`: how long ago a worker asked; null: none has. */
function trouble(figures: Partial<QueueOverview>, polledMs: number | null) {
  const none = { paused: false, ready: 0, limited: 0, leased: 0, oldest_ready_ms: 0 };
  const polled =
    polledMs === null
      ? { workers: 0 }
      : { workers: 1, last_polled_at: new Date(NOW_MS - polledMs).toISOString() };
  return queueTrouble({ ...none, ...polled, ...figures } as QueueOverview, NOW_MS);
}

describe('a queue with ready tasks', () => {
  const young = { ready: 12, oldest_ready_ms: MINUTE_MS };
  const old = { ready: 12, oldest_ready_ms: 6 * MINUTE_MS };

  it('has no problem while tasks are new', () => {
    expect(trouble({ ready: 1, oldest_ready_ms: 10_000 }, null)).toBe(null);
  });

  it('has one without a worker', () => {
    expect(trouble(young, null)).toBe('unserved');
    expect(trouble(young, MINUTE_MS)).toBe('unserved');
    // What the last worker had is not over yet, but that worker was not heard of for ten minutes.
    expect(trouble({ ...young, leased: 4 }, null)).toBe('unserved');
  });

  it('has none while its workers are full for a short time, because they are there', () => {
    expect(trouble({ ...young, leased: 4 }, MINUTE_MS)).toBe(null);
  });

  it('has one when its workers have been full for long', () => {
    expect(trouble({ ...old, leased: 4 }, 6 * MINUTE_MS)).toBe('full');
  });

  it('has one when its workers are merely too slow', () => {
    expect(trouble({ ...old, leased: 4 }, 1_000)).toBe('old');
    expect(trouble(old, 1_000)).toBe('old');
  });

  it('has one when it is paused, whatever its workers do', () => {
    expect(trouble({ ...old, paused: true }, 1_000)).toBe('paused');
    expect(trouble({ paused: true, limited: 1 }, 1_000)).toBe('paused');
    expect(trouble({ paused: true }, null)).toBe(null);
  });
});

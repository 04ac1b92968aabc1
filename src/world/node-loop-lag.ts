/**
 * Event loop lag: how late a timer of the process fires. Sampling starts with the first `watch` and never keeps the
 * process alive.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 20;
const NANOSECONDS = 1e6;

let histogram: IntervalHistogram | null = null;

export const loopLag = {
  watch(): void {
    if (histogram !== null) return;
    histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    histogram.enable();
  },

  /** The lag since the last call. */
  take(): { meanMs: number; p99Ms: number; maxMs: number } {
    if (histogram === null || histogram.count === 0) return { meanMs: 0, p99Ms: 0, maxMs: 0 };
    const figures = {
      meanMs: lateness(histogram.mean),
      p99Ms: lateness(histogram.percentile(99)),
      maxMs: lateness(histogram.max),
    };
    histogram.reset();
    return figures;
  },
};

/** Samples are the times between two ticks, so the tick itself is subtracted. */
function lateness(nanoseconds: number): number {
  return Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS);
}

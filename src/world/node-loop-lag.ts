/**
 * How late the event loop is: by how much a timer of the process misses its time. The sampling starts with the
 * first `watch`, runs beside the program and never keeps it alive.
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

  /** What it was since the last time somebody took it. */
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

/** The samples are the times between two ticks, so the tick itself has to be taken off. */
function lateness(nanoseconds: number): number {
  return Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS);
}

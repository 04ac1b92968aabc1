/** What is wrong with a queue, from its figures alone; the sentences are in `views/problems.tsx`. */
import type { QueueOverview } from './watch.ts';

/** A worker that waits for tasks gets one at once; who has not asked for this long is not there, or has no room. */
const SILENT_MS = 15_000;
const OLD_MS = 5 * 60_000;

/** `unserved`: no worker is there. `full`: its workers have tasks and have not asked for more for long. */
export type QueueTrouble = 'paused' | 'unserved' | 'full' | 'old';

export function queueTrouble(figures: QueueOverview, nowMs: number): QueueTrouble | null {
  const { ready, limited, leased, paused, workers, last_polled_at: polled, oldest_ready_ms: oldMs } = figures;
  if (paused && ready + limited > 0) return 'paused';
  if (ready === 0) return null;
  const silentMs = polled === undefined ? Number.POSITIVE_INFINITY : nowMs - Date.parse(polled);
  // Workers that are full do not ask, and for a while that is how it should be.
  const isBusy = leased > 0 && workers > 0;
  if (!isBusy && oldMs > SILENT_MS && silentMs > SILENT_MS) return 'unserved';
  if (oldMs <= OLD_MS) return null;
  return isBusy && silentMs > OLD_MS ? 'full' : 'old';
}

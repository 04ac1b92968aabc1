/** What is wrong with a queue, from its figures alone; the sentences are in `views/problems.tsx`. */
import type { QueueOverview } from './watch.ts';

/** A waiting worker gets tasks at once, so one that has not polled for this long is gone or full. */
const SILENT_MS = 15_000;
const OLD_MS = 5 * 60_000;

/** `unserved`: there is no worker. `full`: its workers hold tasks and have not polled for more for a long time. */
export type QueueTrouble = 'paused' | 'unserved' | 'full' | 'old';

export function queueTrouble(figures: QueueOverview, nowMs: number): QueueTrouble | null {
  const { ready, limited, leased, paused, workers, last_polled_at: polled, oldest_ready_ms: oldMs } = figures;
  if (paused && ready + limited > 0) return 'paused';
  if (ready === 0) return null;
  const silentMs = polled === undefined ? Number.POSITIVE_INFINITY : nowMs - Date.parse(polled);
  // Full workers do not poll, which is normal for a while.
  const isBusy = leased > 0 && workers > 0;
  if (!isBusy && oldMs > SILENT_MS && silentMs > SILENT_MS) return 'unserved';
  if (oldMs <= OLD_MS) return null;
  return isBusy && silentMs > OLD_MS ? 'full' : 'old';
}

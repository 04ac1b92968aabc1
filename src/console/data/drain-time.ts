/** When the waiting tasks of a queue are done at its present pace, from its figures alone. */
import type { QueueOverview } from './watch.ts';

/** The window of the present pace, in samples of two seconds. */
const RECENT_SAMPLES = 15;

/** The mean of the last half minute; null before the first sample. */
export function recentRate(completed: readonly number[]): number | null {
  const last = completed.slice(-RECENT_SAMPLES);
  return last.length === 0 ? null : last.reduce((sum, value) => sum + value, 0) / last.length;
}

/** `unmeasured`: nothing is known yet. `slow`: workers have tasks, or a limit holds them back. `never`: neither. */
export type DrainTime = number | 'empty' | 'unmeasured' | 'slow' | 'never';

/** Tasks that a limit holds back wait for the same workers, so they count; delayed ones do not. */
export function drainTimeMs(
  { ready, limited, leased }: Pick<QueueOverview, 'ready' | 'limited' | 'leased'>,
  completed: readonly number[],
): DrainTime {
  if (ready + limited === 0) return 'empty';
  const perS = recentRate(completed);
  if (perS === null) return 'unmeasured';
  if (perS === 0) return leased + limited > 0 ? 'slow' : 'never';
  return ((ready + limited) / perS) * 1_000;
}

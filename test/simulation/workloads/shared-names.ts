/** Names, queues and lengths of time that several workloads use, so that they get in each other's way. */
import type { Random } from '../world/random.ts';

export const NAMES = ['shared:a', 'shared:b', 'shared:c'] as const;
export const QUEUE = 'jobs';
export const GUARD = 'system:orchestrator:guard_lock';

/** Short enough to run out under a pause, long enough to be renewed now and then. */
export function ttlMs(random: Random): number {
  return random.magnitude(200, 8_000);
}

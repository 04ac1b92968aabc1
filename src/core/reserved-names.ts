/**
 * Names that have a meaning of their own, and on which the rules, the wire and the orchestrator must agree to the
 * letter: two spellings of one lock are no lock.
 */

/** Names that begin so are guards: they outlive a wipe. */
export const GUARD_PREFIX = 'system:';

/** Guards that only an admin may acquire. */
export const ORCHESTRATOR_NAMES = 'system:orchestrator:';

/** Queues that begin so belong to leasehold itself. */
export const SYSTEM_QUEUES = 'system:';

export function isSystemQueue(queue: string): boolean {
  return queue.startsWith(SYSTEM_QUEUES);
}

/** The one guard whose holder may wipe, and may change sessions. */
export const ORCHESTRATOR_GUARD = 'system:orchestrator:guard_lock';

/** Where start tasks wait; only the holder of that guard is given any. */
export const START_QUEUE = 'system:session-starts';

/** Whatever a session holds begins so. */
export const SESSION_LEASES = 'lease:';

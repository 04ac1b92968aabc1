/**
 * Reserved names. The rules, the wire and the orchestrator must agree on them exactly: two spellings of one lock are no
 * lock.
 */

/** Prefix of guards, which a wipe spares. */
export const GUARD_PREFIX = 'system:';

/** Prefix of guards that only an admin may acquire. */
export const ORCHESTRATOR_NAMES = 'system:orchestrator:';

/** Prefix of queues that belong to leasehold itself. */
export const SYSTEM_QUEUES = 'system:';

export function isSystemQueue(queue: string): boolean {
  return queue.startsWith(SYSTEM_QUEUES);
}

/** The one guard whose holder may wipe, and may change sessions. */
export const ORCHESTRATOR_GUARD = 'system:orchestrator:guard_lock';

/** The queue of start tasks; only the holder of that guard may lease them. */
export const START_QUEUE = 'system:session-starts';

/** Prefix of all names that sessions hold. */
export const SESSION_LEASES = 'lease:';

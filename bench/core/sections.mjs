/** What the core suite measures, in this order. */
export const SECTIONS = ['lifecycles', 'locks', 'replay', 'memory', 'depth', 'expiry', 'lateness'];

/** Memory is measured as Node comes: a larger young generation would be charged to the tasks. */
export const PLAIN_SECTIONS = ['memory'];

/** The sections of the core suite, in order. */
export const SECTIONS = ['lifecycles', 'locks', 'replay', 'memory', 'depth', 'expiry', 'lateness', 'limits'];

/** Memory is measured with Node's default flags: a larger young generation would be charged to the tasks. */
export const PLAIN_SECTIONS = ['memory'];

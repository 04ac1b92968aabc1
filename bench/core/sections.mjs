/** What the core suite measures, in this order. */
export const SECTIONS = ['lifecycles', 'locks', 'replay', 'memory', 'depth', 'expiry'];

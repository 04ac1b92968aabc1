/** What the postgres suite measures, in this order. */
export const SECTIONS = ['lifecycles', 'peers', 'replay', 'compaction'];

export const PLAIN_SECTIONS = [];

/** What the postgres suite measures, in this order. */
export const SECTIONS = ['lifecycles', 'replay', 'compaction'];

export const PLAIN_SECTIONS = [];
